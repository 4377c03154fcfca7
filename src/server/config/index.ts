/** The one file that describes a cluster: reading it, and what follows from it. */
export { acceptorUrls } from './acceptor-urls.ts';
export {
  type AcceptorConfig,
  type AccountConfig,
  type ClusterConfig,
  type ContainerConfig,
  type GatewayConfig,
  type LimitsConfig,
  type LogLevel,
  type NodeConfig,
  type RegionConfig,
  type StoreConfig,
  timingsOf,
  type TlsFiles,
  trimPolicyOf,
} from './cluster-config.ts';
export { formatClusterFile, type FormatOptions } from './format.ts';
export {
  acceptorOf,
  columnOf,
  endpointOf,
  failoverConfigurationOf,
  gatewayOf,
  nodeOf,
  nodesOf,
  type PartitionSetPlace,
  partitionSetsOf,
  partitionSetsOn,
  peersOf,
  type PlacedNode,
  tlsFilesOf,
} from './layout.ts';
export { CONFIG_ERRORS, ConfigError, type ConfigErrorCode, formatProblem, type Problem } from './problems.ts';
export { parseClusterFile, type ParseOptions, readClusterFile } from './read.ts';
export { type Change, diffForReload, type ReloadDiff, startingAgainFor } from './reload.ts';
export { type Field, FIELDS, KEY_NAMES, type KeyName, type TokenName } from './schema.ts';
export {
  type Keys,
  type KeySources,
  resolveKeys,
  resolveSecrets,
  Secret,
  type SecretPlaces,
  type Tokens,
  type TokenSources,
} from './secrets.ts';
export { formatAddress, isLoopback } from './values.ts';
