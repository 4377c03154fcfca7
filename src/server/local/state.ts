/** What is said of a cluster that runs: in `cluster.json`, and to the page. */
import type { ClusterConfig } from '../config/cluster-config.ts';
import { acceptorOf, endpointOf, gatewayOf, nodeOf } from '../config/layout.ts';
import { formatAddress } from '../config/values.ts';
import type { LocalState } from './control.ts';
import type { ClusterState, ProcessRecord } from './directory.ts';
import { DEFAULT_PER_SECOND, type Load } from './load.ts';
import type { LoadState } from './load-figures.ts';
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

const NO_LOAD: LoadState = {
  on: false,
  perSecond: DEFAULT_PER_SECOND,
  acknowledged: 0,
  failed: 0,
  worstGapMs: 0,
};

export function describeLocal(
  processes: readonly RoleProcess[],
  load: Load | undefined,
  canCut: boolean,
): LocalState {
  return {
    processes: processes.map(({ name, role, region, state }) => ({
      name,
      role,
      ...(region !== undefined && { region }),
      state,
    })),
    load: load?.state ?? NO_LOAD,
    canCut,
  };
}
