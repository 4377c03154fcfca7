/** What the routes of a node take and answer, for its description (`GET /openapi.json`). Tests hold real answers against it. */
import { z } from 'zod';
import { CONSISTENCY_LEVELS, PHASES, SERVICE_STATUSES } from '../../failover/index.ts';
import { AUDIT_ENTRY } from './audit.ts';
import { INTENT_FORM } from './intents.ts';
import { LOST_WRITE_FORM } from './lost-writes.ts';
import { LOCAL_ORDER, OBEYED } from './local-control.ts';
import { EVENT, LOCAL_STATE } from './events/index.ts';

const count = z.int().min(0);
const names = z.array(z.string());
const next = count.optional();
const rttMs = z.number().nullable();
const PROGRESS = z.object({ epoch: count, lsn: count });

const STANDING = z.object({ status: z.enum(['ok', 'no']), reasons: names });

const ABOUT = z.object({
  cluster: z.string(),
  node: z.string(),
  region: z.string(),
  version: z.string(),
  incarnation: count.optional(),
  phase: z.enum(['starting', 'running', 'stopping']),
  startedAt: z.iso.datetime(),
  uptimeMs: z.number(),
  now: z.iso.datetime(),
  disk: z.object({ freeBytes: z.number(), totalBytes: z.number() }).optional(),
  partitionSets: names,
  catalog: count.optional(),
  acceptors: z.array(
    z.object({
      name: z.string().optional(),
      url: z.string(),
      isUp: z.boolean(),
      state: z.enum(['unknown', 'up', 'down']),
      error: z.string().optional(),
    }),
  ),
  peers: z.array(z.object({ region: z.string(), node: z.string(), isUp: z.boolean(), rttMs })),
});

const MAP = z.object({
  version: count,
  cluster: z.string(),
  account: z.object({ name: z.string(), consistency: z.enum(CONSISTENCY_LEVELS) }),
  regions: z.array(
    z.object({
      name: z.string(),
      nodes: z.array(z.object({ name: z.string(), address: z.string(), http: z.string().optional() })),
    }),
  ),
  containers: z.array(
    z.object({
      name: z.string(),
      rid: z.string(),
      partitionKey: names,
      partitionSets: z.array(
        z.object({
          name: z.string(),
          rangeId: z.string(),
          from: z.string(),
          to: z.string(),
          column: count,
        }),
      ),
    }),
  ),
});

/** As the registers hold it; a newer version may have more in it. */
const CONFIGURATION = z.looseObject({
  version: count,
  priorities: names,
  consistency: z.enum(CONSISTENCY_LEVELS),
  minDurability: count,
  timings: z.looseObject({ intervalMs: z.number(), leaseMs: z.number(), settleMs: z.number() }),
  failback: z.unknown(),
});

const REGION = z.object({
  status: z.enum(SERVICE_STATUSES),
  build: z.enum(['Building', 'Built']),
  beat: count,
  progress: PROGRESS.nullable(),
  gclsn: count.nullable(),
  version: count,
  isLive: z.boolean(),
  reportedUnder: count.nullable(),
  reaches: names,
  isStopped: z.boolean(),
  isLeaving: z.boolean(),
});

const COPY = z.object({
  region: z.string(),
  role: z.string(),
  canWrite: z.boolean(),
  canRead: z.boolean(),
  progress: PROGRESS,
  gclsn: count,
  canCommit: z.boolean(),
  build: z.enum(['Building', 'Built']),
  lag: z.record(z.string(), count.nullable()),
  logBytes: count,
  undoneWrites: count,
  undoneCommitted: count,
  refuses: z.string().nullable(),
});

const PARTITION_SET = z.object({
  partitionSet: z.string(),
  container: z.string(),
  range: z.object({ from: z.string(), to: z.string() }),
  gcn: count,
  phase: z.enum(PHASES),
  step: count,
  writeRegion: z.string().nullable(),
  target: z.string().nullable(),
  leaseSet: names,
  configuration: CONFIGURATION,
  regions: z.record(z.string(), REGION),
  local: COPY.nullable(),
  intents: z.object({
    open: z.array(
      z.looseObject({ id: z.string(), kind: z.string(), who: z.string(), target: z.string().optional() }),
    ),
    recent: z.array(z.looseObject({ id: z.string(), kind: z.string(), end: z.string() })),
  }),
  cause: z.string(),
  pin: z.string().nullable(),
  pausedAutomatic: z.boolean(),
});

const CHANGE = z.object({
  at: z.string(),
  what: z.string(),
  who: z.string(),
  why: z.string(),
  from: count,
  to: count,
  region: z.string().nullable(),
  sentence: z.string(),
});

const INTENT_ANSWER = z.object({
  dryRun: z.literal(true).optional(),
  changes: z.array(z.object({ field: z.string(), from: z.unknown(), to: z.unknown() })).optional(),
  state: PARTITION_SET,
});

const LOST_WRITE = z.object({
  partitionSet: z.string(),
  epoch: count,
  lsn: count,
  writtenAt: z.iso.datetime(),
  undoneAt: z.iso.datetime(),
  committed: z.literal(true).optional(),
  closed: z.string().optional(),
  documents: z.array(z.object({ id: z.string(), partitionKey: z.unknown(), body: z.unknown().optional() })),
});

export const FORMS = {
  standing: { answer: STANDING },
  about: { answer: ABOUT },
  map: { answer: MAP },
  partitionSets: { answer: z.object({ partitionSets: z.array(PARTITION_SET) }) },
  historyOf: { answer: z.object({ history: z.array(CHANGE) }) },
  history: {
    answer: z.object({
      history: z.array(z.object({ n: count, partitionSet: z.string(), ...CHANGE.shape })),
      next,
    }),
  },
  intent: { body: INTENT_FORM, answer: INTENT_ANSWER },
  lostWrites: {
    answer: z.object({
      lostWrites: z.array(LOST_WRITE),
      hasMore: z.boolean(),
      next: z.string().optional(),
    }),
  },
  settled: { body: LOST_WRITE_FORM, answer: z.object({ closed: z.enum(['reapplied', 'dismissed']) }) },
  audit: { answer: z.object({ audit: z.array(AUDIT_ENTRY), next }) },
  events: { answer: EVENT },
  local: { answer: LOCAL_STATE },
  orders: { body: LOCAL_ORDER, answer: OBEYED },
} as const;
