/**
 * The events of a node, as they go to whoever listens to `GET /v1/events` (docs/http.md). A partition-set is a short array: a
 * node has thousands, and all of them go at once to everybody who opens the page.
 */
import { z } from 'zod';
import { PHASES } from '../../../failover/index.ts';
import { HEALTH, HTTP_ROLES } from '../../http/index.ts';

/** By the wall clock of the node, in milliseconds. */
const at = z.number();
const flag = z.union([z.literal(0), z.literal(1)]);
const count = z.int().min(0);
const rttMs = z.number().nullable();

/** The fields of a partition-set, in the order of its array. */
export const SET_FIELDS = [
  'name',
  'container',
  'gcn',
  'phase',
  'writer',
  'canWriteHere',
  'canReadHere',
  'leaseSet',
  'cause',
  'step',
  'target',
  'pin',
  'lsn',
  'gclsn',
] as const;

export const SET_ROW = z
  .tuple([
    z.string(),
    z.string(),
    /** 0: nothing is known of it yet, and its phase and cause are not either. */
    count,
    z.enum([...PHASES, 'Unknown']),
    z.string().nullable(),
    flag,
    flag,
    z.array(z.string()).readonly(),
    z.string(),
    count,
    z.string().nullable(),
    z.string().nullable(),
    count,
    count,
  ])
  .readonly();
export type SetRow = z.infer<typeof SET_ROW>;

export const HELLO = z.object({
  at,
  node: z.string(),
  region: z.string(),
  cluster: z.string(),
  version: z.string(),
  role: z.enum(HTTP_ROLES),
  /** A cluster on one machine, which takes orders. */
  isLocal: z.boolean(),
  /** In order of priority. */
  regions: z.array(z.string()).readonly(),
  timings: z.object({ intervalMs: z.number(), leaseMs: z.number(), settleMs: z.number() }),
});

export const SETS = z.object({
  at,
  /** The first of a stream: what is not in it is not there. */
  isWhole: z.boolean(),
  sets: z.array(SET_ROW).readonly(),
});

export const GONE = z.object({ at, sets: z.array(z.string()).readonly() });

export const NODE = z.object({
  at,
  uptimeMs: z.number(),
  readiness: HEALTH,
  acceptors: z
    .array(
      z.object({
        name: z.string(),
        url: z.string(),
        state: z.enum(['unknown', 'up', 'down']),
        rttMs,
      }),
    )
    .readonly(),
  peers: z.array(z.object({ region: z.string(), node: z.string(), isUp: z.boolean(), rttMs })).readonly(),
  writesPerSecond: z.number(),
  readsPerSecond: z.number(),
  /** Of one core: 0.25 is a quarter of it. */
  cpu: z.number(),
  rssBytes: z.number(),
});

export const HISTORY_ENTRY = z.object({
  n: count,
  partitionSet: z.string(),
  at,
  what: z.string(),
  cause: z.string(),
  who: z.string(),
  /** After it, and before it. */
  gcn: z.number(),
  fromGcn: z.number(),
  /** The region that stopped being the write region; the one that became it, or is to become it. */
  from: z.string().nullable(),
  to: z.string().nullable(),
  sentence: z.string(),
});

export const HISTORY = z.object({ at, entries: z.array(HISTORY_ENTRY).readonly() });

/** The built-in load of a local cluster. */
export const LOAD = z.object({
  on: z.boolean(),
  perSecond: z.number(),
  acknowledged: z.number(),
  failed: z.number(),
  worstGapMs: z.number(),
});

export const LOCAL_STATE = z.object({
  processes: z
    .array(
      z.object({
        name: z.string(),
        role: z.enum(['acceptor', 'node', 'gateway', 'dns']),
        region: z.string().nullish(),
        state: z.enum(['stopped', 'starting', 'running', 'paused']),
      }),
    )
    .readonly(),
  load: LOAD,
  /** Whether regions can be cut off from each other here. */
  canCut: z.boolean(),
});
export type LocalState = z.infer<typeof LOCAL_STATE>;

export const LOCAL = z.object({ at, ...LOCAL_STATE.shape });

export const EVENTS = {
  hello: HELLO,
  sets: SETS,
  gone: GONE,
  node: NODE,
  history: HISTORY,
  local: LOCAL,
} as const;
export type EventName = keyof typeof EVENTS;
export type EventData<Name extends EventName> = z.infer<(typeof EVENTS)[Name]>;

/** Of the data of any event. */
export const EVENT = z.union([HELLO, SETS, GONE, NODE, HISTORY, LOCAL]);

/** As it goes over the wire. */
export function eventText<Name extends EventName>(name: Name, data: EventData<Name>): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
