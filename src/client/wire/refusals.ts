/** How a node says no: why, when to come back, and who it believes takes writes. */
import type { RefusalCode, RegionName } from '../../engine/index.ts';
import { countIn, msIn, optional, textIn } from './fields.ts';

/** Codes of a node, besides those of its partitions. */
export const NODE_REFUSALS = {
  UNKNOWN_PARTITION_SET: 'This node has no copy of that partition-set.',
  WRONG_PARTITION_SET: 'The document does not lie in that partition-set.',
} as const;

export type NodeRefusalCode = RefusalCode | keyof typeof NODE_REFUSALS;

export interface NodeRefusal {
  readonly outcome: 'refused';
  /** A `NodeRefusalCode`, or one that only a newer node knows. */
  readonly code: NodeRefusalCode | (string & {});
  readonly retryAfterMs?: number;
  /** With NOT_WRITER, when the node knows of one. */
  readonly writer?: { readonly region: RegionName; readonly gcn: number };
}

export function refusalOut({ code, retryAfterMs, writer }: NodeRefusal): readonly unknown[] {
  const head = ['refused', code, retryAfterMs ?? null];
  return writer === undefined ? head : [...head, writer.region, writer.gcn];
}

/** Of the fields behind `refused`. */
export function refusalIn([code, retryAfter, region, gcn]: readonly unknown[]): NodeRefusal {
  const retryAfterMs = optional(retryAfter, msIn);
  const name = optional(region, textIn);
  return {
    outcome: 'refused',
    code: textIn(code),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(name !== undefined && { writer: { region: name, gcn: countIn(gcn) } }),
  };
}
