/**
 * Asking a node to look at the account's catalogue now, and not only when it does so by itself: whoever made a container asks the
 * nodes to open its partition-sets, and hears which of them can write where.
 */
import type { Payload } from '../../transport/index.ts';
import { countIn, listIn, msIn, textIn } from './fields.ts';
import { packed, unpacked } from './packing.ts';

export interface NodeLook {
  /** The node should know the catalogue of this version, or a later one. */
  readonly version: number;
  /** Those that the caller wants to hear of; names that are not this node's are left out of the answer. */
  readonly partitionSets: readonly string[];
  /** How long it may take; then it answers as it is. */
  readonly timeoutMs: number;
}

/** A partition-set that can be written where this was said, under that GCN. */
export interface Writable {
  readonly partitionSet: string;
  readonly gcn: number;
}

export interface NodeLookAnswer {
  /** Of the catalogue that the node knows now; 0: it has not read it yet. */
  readonly version: number;
  /** Of those that were asked for, the ones that can be written here at this moment. */
  readonly canWrite: readonly Writable[];
}

export function encodeLook({ version, partitionSets, timeoutMs }: NodeLook): Payload {
  return packed([version, partitionSets, timeoutMs]);
}

export function decodeLook(payload: Buffer): NodeLook {
  const [version, partitionSets, timeoutMs] = unpacked(payload).header;
  return {
    version: countIn(version),
    partitionSets: listIn(partitionSets).map(textIn),
    timeoutMs: msIn(timeoutMs),
  };
}

export function encodeLookAnswer({ version, canWrite }: NodeLookAnswer): Payload {
  return packed([version, canWrite.map(({ partitionSet, gcn }) => [partitionSet, gcn])]);
}

export function decodeLookAnswer(payload: Buffer): NodeLookAnswer {
  const [version, canWrite] = unpacked(payload).header;
  return { version: countIn(version), canWrite: listIn(canWrite).map(writableIn) };
}

function writableIn(field: unknown): Writable {
  const [partitionSet, gcn] = listIn(field);
  return { partitionSet: textIn(partitionSet), gcn: countIn(gcn) };
}
