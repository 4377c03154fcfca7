/** What people ask of a running local cluster, in the words of `baton chaos`. */
import * as z from 'zod/mini';

export const ACTIONS = ['kill', 'pause', 'resume', 'stop', 'start', 'cut', 'heal'] as const;
export type Action = (typeof ACTIONS)[number];

export const CUT_FROM = ['all', 'acceptors', 'regions'] as const;
export const DIRECTIONS = ['both', 'in', 'out'] as const;

export interface CutOptions {
  /** Whom it cannot reach any more; all are the clients too. */
  readonly from?: (typeof CUT_FROM)[number] | undefined;
  /** Seen from what is cut off. */
  readonly direction?: (typeof DIRECTIONS)[number] | undefined;
}

export const ORDER = z.object({
  action: z.enum(ACTIONS),
  /** Regions, nodes, acceptors, gateways or `dns`; only `heal` can do without. */
  targets: z.optional(z.readonly(z.array(z.string()))),
  from: z.optional(z.enum(CUT_FROM)),
  direction: z.optional(z.enum(DIRECTIONS)),
});

export type Order = z.infer<typeof ORDER>;

export interface Obeyed {
  /** The processes that were acted upon. */
  readonly processes: readonly string[];
}
