/** What `cluster.json` says of a cluster. */
import type { ClusterConfig } from '../config/cluster-config.ts';
import { acceptorOf, endpointOf, gatewayOf, nodeOf } from '../config/layout.ts';
import { formatAddress } from '../config/values.ts';
import type { ClusterState, ProcessRecord } from './directory.ts';
import type { Role, RoleProcess } from './role-process.ts';

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
  const scheme = config.tls ? 'https' : 'http';
  const http = (role === 'gateway' ? gatewayOf(config, name) : nodeOf(config, name))?.http;
  return {
    name,
    role,
    ...(region !== undefined && { region }),
    state,
    ...identity,
    address: addressOf(config, role, name),
    ...(http && { http: `${scheme}://${formatAddress(http)}` }),
    log,
  };
}

function addressOf(config: ClusterConfig, role: Role, name: string): string {
  switch (role) {
    case 'acceptor':
      return acceptorOf(config, name)!.url;
    case 'gateway':
      return endpointOf(config, gatewayOf(config, name)!);
    case 'node':
      return formatAddress(nodeOf(config, name)!.address);
    case 'dns':
      return formatAddress(config.dns!.listen);
  }
}
