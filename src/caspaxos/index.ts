/** CASPaxos: a register that changes by compare-and-swap and lives on several independent acceptors. */
export type { Acceptor, AcceptorDescription } from './acceptors.ts';
export { checkServes } from './claims.ts';
export { Cluster, type ClusterEvents, type ClusterOptions, openCluster } from './cluster.ts';
export * from './core/index.ts';
export type { ClusterCounters, ClusterLatencies } from './counters.ts';
export { type Codec, type Editor, reject, Rejection } from './editing.ts';
export { missingInDatabase } from './directory/database-file.ts';
export { type DirectoryLock, lockDirectory } from './directory/lock.ts';
export { growthOf, hasRoomFor, hasRoomToOpen, isNoRoom } from './directory/room.ts';
export {
  CasPaxosError,
  ERROR_CODES,
  type ErrorCode,
  type FailedOutcome,
  isLastingCode,
  type LastingCode,
} from './errors.ts';
export type { AcceptorStatus } from './membership.ts';
export { NODE_HOST } from './node-host.ts';
export { isService, openAcceptor, openStore, printableUrl } from './open-acceptor.ts';
export * from './outcomes.ts';
export {
  inspectRecovery,
  recoverAcceptors,
  type RecoveryOptions,
  type RecoveryOutcome,
  type RecoveryOutlook,
} from './recovery/recover.ts';
export { isRunning, type ProcessName, thisProcess } from './process-name.ts';
export { retirementAsOldCopy, retirementError } from './retired.ts';
export { DiskAcceptor, type DiskAcceptorOptions } from './service/disk-acceptor.ts';
export { Journal, type JournalOptions, type JournalRecord } from './service/journal.ts';
export type { ServiceTls } from './service/client.ts';
export { AcceptorServer, type AcceptorServerOptions, refuseToListenOpenly } from './service/server.ts';
export type { Standing } from './service/wire.ts';
export * as storeFaults from './stores/faults.ts';
export { AzureBlobStore } from './stores/azure-blob.ts';
export { CosmosStore } from './stores/cosmos.ts';
export {
  decodeIdentity,
  decodeRecord,
  encodeIdentity,
  encodeRecord,
  type IdentityDocument,
} from './stores/documents.ts';
export { DynamoDbStore } from './stores/dynamodb.ts';
export { EtcdStore } from './stores/etcd.ts';
export { readStoreUrl, STORE_SCHEMES, withLocalFiles, withPassword } from './stores/forms.ts';
export { LmdbStore } from './stores/lmdb.ts';
export { MemoryStore } from './stores/memory.ts';
export { PostgresStore } from './stores/postgres.ts';
export { RedisStore } from './stores/redis.ts';
export { Lineage } from './stores/lineage.ts';
export { StoreAcceptor } from './stores/store-acceptor.ts';
export { LOOK_AGAIN_MS } from './stores/store-identity.ts';
export type {
  AcceptorStore,
  ConditionalWrite,
  StoredDocument,
  StoreOptions,
  StoreVersion,
  WriteResult,
} from './stores/store.ts';
export type { StoreUrl } from './stores/store-url.ts';
export type { WatchOptions } from './watch.ts';
