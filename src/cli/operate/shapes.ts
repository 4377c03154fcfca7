/**
 * What nodes answer over HTTP, as far as the operators' commands look at it. Nodes of an older or a newer version may answer
 * too: fields that are not known are kept out of the way, and those that may be missing have a default.
 */
import { z } from 'zod';
import { CONSISTENCY_LEVELS } from '../../failover/index.ts';

const progress = z.object({
  epoch: z.number(),
  primary: z.number().optional(),
  lsn: z.number(),
});

const timings = z.object({ intervalMs: z.number(), leaseMs: z.number(), settleMs: z.number() });

const failback = z.union([
  z.enum(['automatic', 'off']),
  z.object({ windows: z.array(z.object({ from: z.string(), to: z.string() })) }),
]);

const staleness = z.object({ writes: z.number(), seconds: z.number() });

const configuration = z.object({
  version: z.number().default(0),
  priorities: z.array(z.string()),
  consistency: z.enum(CONSISTENCY_LEVELS),
  staleness: staleness.optional(),
  minDurability: z.number(),
  wanted: z
    .object({
      consistency: z.enum(CONSISTENCY_LEVELS).optional(),
      staleness: staleness.optional(),
      minDurability: z.number().optional(),
    })
    .optional(),
  timings: timings.optional(),
  failback: failback.optional(),
  maxLossWrites: z.number().optional(),
  signals: z.record(z.string(), z.enum(['ignore', 'graceful', 'failover'])).optional(),
});

/** What a region said of itself, or what is said of it, in the failover state. */
const reported = z.object({
  status: z.string(),
  build: z.string().nullish(),
  building: z.boolean().optional(),
  beat: z.number().default(0),
  progress: progress.nullish(),
  gclsn: z.number().nullish(),
  version: z.number().default(0),
  isLive: z.boolean().default(true),
  reportedUnder: z.number().nullish(),
});

const lag = z.union([
  z.number().transform((entries): Lag => ({ entries })),
  z.object({ entries: z.number().optional(), ms: z.number().optional() }),
]);

export interface Lag {
  readonly entries?: number | undefined;
  readonly ms?: number | undefined;
}

/** What the node that answers does itself, and what it measures. */
const local = z.object({
  region: z.string(),
  role: z.string().nullish(),
  canWrite: z.boolean().default(false),
  canCommit: z.boolean().nullish(),
  progress: progress.nullish(),
  gclsn: z.number().nullish(),
  lag: z.record(z.string(), lag.nullable()).nullish(),
  /** Lost writes that are kept here and open. */
  undoneWrites: z.number().default(0),
  /** Of those, known to have been committed. */
  undoneCommitted: z.number().default(0),
  /** The write region that this copy does not follow, because it lacks what is known here to be committed. */
  refuses: z.string().nullish(),
});

const openIntent = z.object({
  id: z.string(),
  kind: z.string(),
  who: z.string().default(''),
  target: z.string().optional(),
  gcn: z.number().optional(),
  at: z.string().optional(),
});

const closedIntent = z.object({ id: z.string(), kind: z.string(), end: z.string() });

export const partitionSetView = z.object({
  partitionSet: z.string(),
  container: z.string().default(''),
  gcn: z.number(),
  /** One of the machine's `PHASES`, or one that only a newer version knows; so with other words of its. */
  phase: z.string(),
  /** Raised by every change of phase. */
  step: z.number().nullish(),
  writeRegion: z.string().nullable(),
  target: z.string().nullish(),
  pin: z.string().nullish(),
  leaseSet: z.array(z.string()),
  configuration,
  regions: z.record(z.string(), reported),
  local: local.nullish(),
  intents: z
    .object({ open: z.array(openIntent).default([]), recent: z.array(closedIntent).default([]) })
    .default({ open: [], recent: [] }),
  cause: z.string().nullish(),
  pausedAutomatic: z.boolean().default(false),
});

export const partitionSetsAnswer = z.object({ partitionSets: z.array(partitionSetView) });
export const intentAnswer = z.object({ state: partitionSetView });

export const historyEntry = z.object({
  at: z.string(),
  what: z.string(),
  who: z.string(),
  why: z.string(),
  from: z.number(),
  to: z.number(),
  region: z.string().nullable(),
});

export const historyAnswer = z.object({
  history: z.array(z.object({ partitionSet: z.string(), ...historyEntry.shape })),
  /** The page before this one ends before that number. */
  next: z.number().optional(),
});

const acceptor = z.object({
  name: z.string().nullish(),
  url: z.string(),
  state: z.enum(['up', 'down', 'unknown']).catch('unknown'),
  error: z.string().nullish(),
});

export const nodeAnswer = z.object({
  cluster: z.string(),
  node: z.string(),
  region: z.string(),
  version: z.string().nullish(),
  incarnation: z.number().nullish(),
  startedAt: z.string().optional(),
  uptimeMs: z.number().optional(),
  /** The node's own clock when it answered. */
  now: z.string().optional(),
  disk: z.object({ freeBytes: z.number(), totalBytes: z.number() }).optional(),
  acceptors: z.array(acceptor).default([]),
  peers: z
    .array(z.object({ region: z.string(), node: z.string(), isUp: z.boolean(), rttMs: z.number().nullish() }))
    .default([]),
});

/** Of the cluster's map: what is where. */
export const mapAnswer = z.object({
  version: z.number(),
  cluster: z.string(),
  containers: z.array(
    z.object({
      name: z.string(),
      partitionSets: z.array(z.object({ name: z.string(), column: z.number() })),
    }),
  ),
});

export const lostWrite = z.object({
  partitionSet: z.string(),
  epoch: z.number(),
  lsn: z.number(),
  writtenAt: z.string(),
  undoneAt: z.string(),
  committed: z.boolean().nullish(),
  closed: z.string().nullish(),
  documents: z
    .array(z.object({ id: z.string(), partitionKey: z.unknown(), body: z.unknown().optional() }))
    .default([]),
});

export const lostWritesAnswer = z.object({ lostWrites: z.array(lostWrite), next: z.string().optional() });

/** Of what is done: nothing in it is needed. */
export const doneAnswer = z.unknown();

export const errorAnswer = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

/** Of who is not well. */
export const healthAnswer = z.object({ status: z.string(), reasons: z.array(z.string()).min(1) });

export type Configuration = z.infer<typeof configuration>;
export type Failback = z.infer<typeof failback>;
export type ReportedRegion = z.infer<typeof reported>;
export type LocalView = z.infer<typeof local>;
export type PartitionSetView = z.infer<typeof partitionSetView>;
export type HistoryRecord = z.infer<typeof historyAnswer>['history'][number];
export type ClusterMapFacts = z.infer<typeof mapAnswer>;
export type NodeFacts = z.infer<typeof nodeAnswer>;
export type LostWriteRecord = z.infer<typeof lostWrite>;

export function isBuilding({ build, building }: ReportedRegion): boolean {
  return building === true || (typeof build === 'string' && build.toLowerCase() === 'building');
}
