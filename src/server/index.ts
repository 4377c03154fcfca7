/** A region's process: nodes, and how they talk to each other and to clients. */
export { freePort } from './local/free-port.ts';
export * from './node/client-wire.ts';
export { type PartitionSetOptions, RegionNode, type RegionNodeOptions } from './node/region-node.ts';
export * from './rpc/index.ts';
