/**
 * Random updates of a partition-set for property tests. A move is drawn without knowing the state and made into a report
 * against it: mostly what an honest region could say, now and then something stale, contradictory or mad. Every report has
 * the right form; what has not is the business of the refusals.
 */
import { certainlyOver, type FailoverState, type IntentBody, PROFILES, type Report } from 'baton/failover';
import fc from 'fast-check';
import { NOON } from './reports.ts';

const NAMES = ['A', 'B', 'C', 'D'];
const LEVELS = ['Strong', 'BoundedStaleness', 'Session', 'ConsistentPrefix', 'Eventual'] as const;

const region = fc.constantFrom('A', 'A', 'B', 'B', 'C', 'C', 'D');
const regions = fc.subarray(NAMES);
/** True once in so many times. */
const rarely = (times: number): fc.Arbitrary<boolean> => fc.nat(times - 1).map((drawn) => drawn === 0);

const regionMove = fc.record({
  type: fc.constant('region' as const),
  region,
  /** It says what a healthy agent would: otherwise a planned move would never come to its end. */
  isHonest: fc.nat(9).map((drawn) => drawn < 7),
  isRestart: rarely(8),
  incarnationBack: rarely(30),
  gcnOff: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 0, -1, 1),
  version: fc.constantFrom(2, 2, 2, 1, 3),
  scheduled: fc.boolean(),
  isBuilding: rarely(12),
  epochBack: fc.constantFrom(0, 0, 0, 1),
  lsn: fc.nat(6),
  isUnable: rarely(6),
  reaches: fc.oneof({ weight: 3, arbitrary: fc.constant(NAMES) }, { weight: 1, arbitrary: regions }),
  silence: fc.constantFrom('none', 'none', 'exact', 'short', 'other beat', 'other gcn'),
  wait: fc.constantFrom('none', 'long', 'long', 'short', 'other step'),
  asWriter: fc.option(
    fc.record({
      commitSet: fc.constantFrom('lease set', 'lease set', 'all', 'some'),
      caughtUp: fc.oneof(fc.constant(NAMES), regions),
      add: fc.oneof(fc.constant([]), regions),
      remove: fc.oneof(fc.constant([]), fc.constant([]), regions),
      hasQuiesced: fc.boolean(),
      hasWaited: fc.boolean(),
      readyFor: fc.option(fc.constantFrom(...LEVELS), { nil: undefined }),
    }),
    { nil: undefined, freq: 9 },
  ),
  isStopping: rarely(12),
  signals: fc.oneof(
    { weight: 5, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.subarray(['disk', 'traffic']) },
  ),
  phase2Ms: fc.option(fc.nat(500), { nil: undefined }),
});

const body: fc.Arbitrary<IntentBody> = fc.oneof(
  fc.record({ kind: fc.constant('switchover' as const), target: region }),
  fc.record(
    { kind: fc.constant('failover' as const), target: region, acceptLoss: fc.constant(true as const) },
    { requiredKeys: ['kind'] },
  ),
  fc.record({ kind: fc.constant('revoke' as const), target: region }),
  fc.record({ kind: fc.constant('withdraw' as const), intent: fc.nat(9).map((n) => `i${n}`) }),
  fc.record({
    kind: fc.constantFrom('pause' as const, 'resume' as const, 'resume' as const, 'unpin' as const),
  }),
  fc.record({ kind: fc.constant('add region' as const), target: region, priority: fc.nat(4) }),
  fc.record({ kind: fc.constant('remove region' as const), target: region }),
  fc.record({
    kind: fc.constant('priorities' as const),
    priorities: fc.shuffledSubarray(NAMES, { minLength: 3 }),
  }),
  fc.record({
    kind: fc.constant('consistency' as const),
    consistency: fc.constantFrom(...LEVELS),
    staleness: fc.constant({ writes: 100, seconds: 5 }),
  }),
  fc.record({ kind: fc.constant('durability' as const), minDurability: fc.integer({ min: 1, max: 4 }) }),
  fc.record({
    kind: fc.constant('timings' as const),
    timings: fc.constantFrom(PROFILES.paper, PROFILES.fast),
  }),
  fc.record({
    kind: fc.constant('failback' as const),
    failback: fc.constantFrom('automatic' as const, 'off' as const),
  }),
  fc.record({ kind: fc.constant('maximum loss' as const), writes: fc.option(fc.nat(5)) }),
  fc.record({
    kind: fc.constant('signals' as const),
    signals: fc.dictionary(
      fc.constantFrom('disk', 'traffic'),
      fc.constantFrom('ignore' as const, 'graceful' as const, 'failover' as const),
      { noNullPrototype: true },
    ),
  }),
);

const intentMove = fc.record({
  type: fc.constant('intent' as const),
  id: fc.nat(9),
  gcnOff: fc.option(fc.constantFrom(0, 0, -1, 1), { nil: undefined }),
  intent: body,
});

type RegionMove = typeof regionMove extends fc.Arbitrary<infer M> ? M : never;
type IntentMove = typeof intentMove extends fc.Arbitrary<infer M> ? M : never;
export type Move = RegionMove | IntentMove;

export const aMove: fc.Arbitrary<Move> = fc.oneof(
  { weight: 5, arbitrary: regionMove },
  { weight: 1, arbitrary: intentMove },
);

export function reportFor(state: FailoverState, move: Move): Report {
  if (move.type === 'region') return regionReport(state, move);
  const { id, gcnOff, intent } = move;
  const gcn = gcnOff === undefined ? undefined : Math.max(1, state.gcn + gcnOff);
  return { type: 'intent', id: `i${id}`, who: 'ops', at: NOON, intent, ...(gcn !== undefined && { gcn }) };
}

function regionReport(state: FailoverState, drawn: RegionMove): Report {
  const move = drawn.isHonest ? honest(drawn) : drawn;
  const known = state.regions[move.region];
  const gcn = Math.max(1, state.gcn + move.gcnOff);
  const incarnation = (known?.incarnation ?? 0) + (move.isRestart || known?.incarnation === 0 ? 1 : 0);
  const last = known?.report?.progress.lsn ?? state.raise.lsn;
  return {
    type: 'region',
    region: move.region,
    incarnation: Math.max(1, incarnation - (move.incarnationBack ? 1 : 0)),
    version: move.version,
    gcn,
    at: NOON,
    scheduled: move.scheduled,
    build: move.isBuilding ? 'Building' : 'Built',
    progress: drawn.isHonest
      ? (state.final ?? { epoch: gcn, lsn: last })
      : { epoch: Math.max(0, gcn - move.epochBack), lsn: Math.max(0, last + move.lsn - 2) },
    gclsn: last,
    canCommit: !move.isUnable,
    reaches: move.reaches.filter((name) => name !== move.region),
    ...silenceOf(state, move),
    ...waitOf(state, move),
    ...writerOf(state, move),
    ...(move.isStopping && { stopping: true as const }),
    ...(move.signals.length > 0 && { signals: move.signals }),
    ...(move.phase2Ms !== undefined && { phase2Ms: move.phase2Ms }),
  };
}

function honest(move: RegionMove): RegionMove {
  return {
    ...move,
    isRestart: false,
    incarnationBack: false,
    gcnOff: 0,
    version: 2,
    isBuilding: false,
    isUnable: false,
    reaches: NAMES,
    silence: 'none',
    wait: 'short',
    asWriter: {
      commitSet: 'lease set',
      caughtUp: NAMES,
      add: [],
      remove: [],
      hasQuiesced: true,
      hasWaited: true,
      readyFor: undefined,
    },
    isStopping: false,
  };
}

function silenceOf(state: FailoverState, { silence }: RegionMove): object {
  const { writer, gcn, regions: known, leaseMs } = state;
  if (silence === 'none' || writer === null) return {};
  const over = Math.ceil(certainlyOver(leaseMs));
  return {
    silence: {
      gcn: silence === 'other gcn' ? gcn + 1 : gcn,
      writer,
      beat: known[writer]!.beat + (silence === 'other beat' ? 1 : 0),
      waitedMs: silence === 'short' ? over - 1 : over,
    },
  };
}

function waitOf({ step }: FailoverState, { wait }: RegionMove): object {
  if (wait === 'none') return {};
  return {
    wait: { step: wait === 'other step' ? step + 1 : step, waitedMs: wait === 'short' ? 10 : 60_000 },
  };
}

function writerOf(state: FailoverState, { asWriter }: RegionMove): object {
  if (asWriter === undefined) return {};
  const { commitSet, caughtUp, add, remove, hasQuiesced, hasWaited, readyFor } = asWriter;
  const sets = { 'lease set': state.leaseSet, all: NAMES, some: caughtUp };
  return {
    writer: {
      commitSet: sets[commitSet],
      caughtUp,
      add,
      remove,
      ...(hasQuiesced && { quiescedInStep: state.step }),
      ...(hasWaited && { hasWaited: true as const }),
      ...(readyFor !== undefined && { readyFor }),
    },
  };
}
