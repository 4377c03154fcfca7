/** The replicated document engine: what is failed over. */
export { type BackupManifest, readManifest, restoreBackup } from './backup.ts';
export * from './core/index.ts';
export * from './engine.ts';
export * from './engine-partition.ts';
export { diskOf } from './disk.ts';
export { decodeEntry, encodeEntry } from './entry-codec.ts';
export * from './errors.ts';
export * from './json-codec.ts';
export { exportLostWrites, type LostDocument, type LostWrite, lostWrite, rewriting } from './lost-writes.ts';
export * from './storage/errors.ts';
export { type DiskImage, MemoryNodeStore, type MemoryStoreOptions } from './storage/memory-store.ts';
export { NodeStore, type NodeStoreOptions } from './storage/node-store.ts';
