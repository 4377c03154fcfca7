/** What people ask of a running local cluster, in the words of `baton chaos`. */
import * as z from 'zod/mini';
import type { LoadState } from './load-figures.ts';

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

/** More than this says nothing about failovers, and much about the machine. */
export const MOST_PER_SECOND = 5000;

/** The built-in load: writes and reads in every partition-set. */
export const LOAD_ORDER = z.object({
  action: z.literal('load'),
  on: z.boolean(),
  /** Writes in a second. */
  perSecond: z.optional(z.number().check(z.positive(), z.lte(MOST_PER_SECOND))),
});

export type LoadOrder = z.infer<typeof LOAD_ORDER>;

export const ANY_ORDER = z.discriminatedUnion('action', [LOAD_ORDER, ORDER]);
export type AnyOrder = Order | LoadOrder;

export interface Obeyed {
  /** The processes that were acted upon. */
  readonly processes: readonly string[];
  /** After an order about it. */
  readonly load?: LoadState;
}
