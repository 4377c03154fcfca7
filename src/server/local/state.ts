/** What `cluster.json` says of a cluster. */
import type { ClusterConfig } from '../config/cluster-config.ts';
import { nodesOf } from '../config/layout.ts';
import { formatAddress } from '../config/values.ts';
import type { ClusterState, ProcessRecord } from './directory.ts';
import type { RoleProcess } from './role-process.ts';

type Rest = Pick<ClusterState, 'portBase' | 'namespaces' | 'supervisor' | 'control'>;

export function describeState(
  config: ClusterConfig,
  processes: readonly RoleProcess[],
  rest: Rest,
): ClusterState {
  const { cluster, path } = config;
  const records = processes.map((one) => recordOf(config, one));
  return { version: 1, cluster, config: path, ...rest, processes: records };
}

function recordOf(
  config: ClusterConfig,
  { name, role, region, state, identity, log }: RoleProcess,
): ProcessRecord {
  const node = nodesOf(config).find((one) => one.name === name);
  const acceptor = config.acceptors.find((one) => one.name === name);
  const listen = role === 'node' ? node?.address : config.dns?.listen;
  return {
    name,
    role,
    ...(region !== undefined && { region }),
    state,
    ...identity,
    address: role === 'acceptor' ? acceptor!.url : formatAddress(listen!),
    ...(node?.http && { http: `${config.tls ? 'https' : 'http'}://${formatAddress(node.http)}` }),
    log,
  };
}
