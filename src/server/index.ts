/** A region's process: nodes, what they are started from, and how operators and clients find and ask them. */
export * from './catalog/index.ts';
export * from './certs/index.ts';
export * from './config/index.ts';
export * from './daemon/index.ts';
export * from './dns/index.ts';
export * from './gateway/index.ts';
export * from './http/index.ts';
export * from './local/index.ts';
export { type PartitionSetOptions, RegionNode, type RegionNodeOptions } from './node/region-node.ts';
