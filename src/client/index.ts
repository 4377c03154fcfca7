/** What a client and a node say to each other, how a client finds the nodes, and how it decides whom to ask. */
export * from './core/index.ts';
export * from './discovery/index.ts';
export * from './wire/client-wire.ts';
export { entryIn } from './wire/scan-wire.ts';
export * from './wire/look-wire.ts';
export * from './wire/map-wire.ts';
export { malformed, packed, type Unpacked, unpacked } from './wire/packing.ts';
export { NODE_REFUSALS, type NodeRefusal, type NodeRefusalCode } from './wire/refusals.ts';
export {
  decodeFeed,
  decodeFeedAnswer,
  decodeScan,
  decodeScanAnswer,
  encodeFeed,
  encodeFeedAnswer,
  encodeScan,
  encodeScanAnswer,
  type NodeFeed,
  type NodeFeedAnswer,
  type NodeScan,
  type NodeScanAnswer,
} from './wire/scan-wire.ts';
export * from './sdk/index.ts';
