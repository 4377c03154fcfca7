/** The one file that describes a cluster: reading it, and what follows from it. */
export {
  type AcceptorConfig,
  type AccountConfig,
  type ClusterConfig,
  type ContainerConfig,
  type LimitsConfig,
  type LogLevel,
  type NodeConfig,
  type RegionConfig,
  timingsOf,
  type TlsFiles,
  trimPolicyOf,
} from './cluster-config.ts';
export { formatClusterFile, type FormatOptions } from './format.ts';
export {
  acceptorOf,
  columnOf,
  failoverConfigurationOf,
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
export { type Change, diffForReload, type ReloadDiff } from './reload.ts';
export { type Field, FIELDS, type TokenName } from './schema.ts';
export { resolveSecrets, Secret, type SecretPlaces, type Tokens, type TokenSources } from './secrets.ts';
export { formatAddress, isLoopback } from './values.ts';
