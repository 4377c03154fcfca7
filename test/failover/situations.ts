/**
 * The rows and columns of the table in SPEC.md. A situation is a phase with what matters inside it; an event is a report
 * that an agent or an operator could send. What comes of each pair stands in `cells.ts`; here is how to make it happen.
 */
import type { FailoverState, RegionReport, Report, Verdict } from 'baton/failover';
import {
  after,
  healthy,
  heartbeat,
  intent,
  quiesced,
  quiescing,
  movingTo,
  silence,
  writerPart,
} from './reports.ts';

export const SITUATIONS = ['Steady', 'Paused', 'Begun', 'Quiescing', 'Final', 'Ungraceful'] as const;
export type Situation = (typeof SITUATIONS)[number];

export const SITUATION_WORDS: Readonly<Record<Situation, string>> = {
  Steady: 'Steady: A writes; A, B and C are the lease set, D is outside',
  Paused: 'Steady, paused',
  Begun: 'Graceful to B, wished for by an operator; B has not been heard',
  Quiescing: 'Graceful, B has been heard, A is to quiesce',
  Final: 'Graceful, A has reported its final progress, B lacks an entry',
  Ungraceful: 'Ungraceful after a silence of A; B has reported, the settling time runs',
};

const FINAL = { epoch: 1, lsn: 12 };

/** Four regions, D outside the lease set, Z removed long ago, signals with policies. */
function steady(): FailoverState {
  const policy = { disk: 'graceful', traffic: 'failover' } as const;
  const state = healthy({ priorities: ['A', 'B', 'C', 'D'], signals: policy });
  const smaller = after(state, (now) =>
    heartbeat(now, 'A', { scheduled: false, writer: writerPart(now, { remove: ['D'] }) }),
  );
  return { ...smaller, gcn: 5, removed: ['Z'] };
}

export function situation(name: Situation): FailoverState {
  switch (name) {
    case 'Steady':
      return steady();
    case 'Paused':
      return after(steady(), () => intent({ kind: 'pause' }));
    case 'Begun':
      return movingTo('B', steady());
    case 'Quiescing':
      return quiescing('B', steady());
    case 'Final':
      return quiesced(quiescing('B', steady()), { progress: FINAL });
    case 'Ungraceful':
      return after(
        steady(),
        (state) => silence(state, 'B'),
        (state) => heartbeat(state, 'B'),
      );
    default:
      return name satisfies never;
  }
}

export const EVENTS = {
  'a reader beats': (state) => heartbeat(state, 'C'),
  'the writer beats': (state) => heartbeat(state, 'A'),
  'the writer beats, reaching too few': (state) => heartbeat(state, 'A', { reaches: [] }),
  'silence of the writer, waited out': (state) => silence(state, 'C'),
  'silence, waited too short': (state) => silence(state, 'C', { waitedMs: 44_999 }),
  'the writer cannot commit': (state) => heartbeat(state, 'A', { canCommit: false }),
  'the writer stops': (state) => heartbeat(state, 'A', { stopping: true }),
  'a reader stops': (state) => heartbeat(state, 'C', { stopping: true }),
  'the target stops': (state) => heartbeat(state, 'B', { stopping: true }),
  'a new process of the writer': (state) => heartbeat(state, 'A', { incarnation: 2 }),
  'the writer asks to add D': (state) => asks(state, { add: ['D'], commitSet: [...state.leaseSet, 'D'] }),
  'the writer asks to remove C': (state) => asks(state, { remove: ['C'] }),
  'the target is heard in this step': (state) =>
    heartbeat(state, 'B', { scheduled: false, wait: { step: state.step, waitedMs: 100 } }),
  'the writer has quiesced': (state) => ({ ...asks(state, { quiescedInStep: state.step }), progress: FINAL }),
  'the target has the final progress': (state) => heartbeat(state, 'B', { progress: FINAL }),
  'a long wait of the writer': (state) =>
    heartbeat(state, 'A', { wait: { step: state.step, waitedMs: 60_000 } }),
  'a long wait of a reader': (state) =>
    heartbeat(state, 'C', { wait: { step: state.step, waitedMs: 60_000 } }),
  'all others report': (state) => heartbeat(heard(state), 'D'),
  'a signal for a planned move': (state) => heartbeat(state, 'A', { signals: ['disk'] }),
  'a signal for a failover': (state) => heartbeat(state, 'A', { signals: ['traffic'] }),
  'a signal without a policy': (state) => heartbeat(state, 'A', { signals: ['rain'] }),
  'a report under an older GCN': (state) => ({ ...heartbeat(state, 'C'), gcn: Math.max(1, state.gcn - 1) }),
  'a report under a higher GCN': (state) => heartbeat(state, 'C', { gcn: state.gcn + 1 }),
  'a report of an earlier process': (state) => heartbeat(restarted(state), 'C', { incarnation: 1 }),
  'a report of a removed region': (state) => heartbeat(state, 'Z'),
  'intent: switchover to C': () => intent({ kind: 'switchover', target: 'C' }, { id: 'another' }),
  'intent: failover': () => intent({ kind: 'failover' }),
  'intent: failover to the outsider D': () => intent({ kind: 'failover', target: 'D' }),
  'intent: revoke A': () => intent({ kind: 'revoke', target: 'A' }),
  'intent: withdraw the switchover': () => intent({ kind: 'withdraw', intent: 'switchover-1' }),
  'intent: pause': () => intent({ kind: 'pause' }, { id: 'pause-2' }),
  'intent: resume': () => intent({ kind: 'resume' }),
  'intent: unpin': () => intent({ kind: 'unpin' }),
  'intent: add region E': () => intent({ kind: 'add region', target: 'E' }),
  'intent: remove region B': () => intent({ kind: 'remove region', target: 'B' }),
  'intent: priorities': () => intent({ kind: 'priorities', priorities: ['D', 'C', 'B', 'A'] }),
  'intent: a weaker level': () => intent({ kind: 'consistency', consistency: 'Session' }),
  'intent: a higher durability': () => intent({ kind: 'durability', minDurability: 4 }),
  'intent: shorter timings': () =>
    intent({ kind: 'timings', timings: { intervalMs: 1000, leaseMs: 3000, settleMs: 300 } }),
  'intent: failback off': () => intent({ kind: 'failback', failback: 'off' }),
  'intent: maximum loss': () => intent({ kind: 'maximum loss', writes: 5 }),
  'intent: signals': () => intent({ kind: 'signals', signals: {} }),
} satisfies Record<string, (state: FailoverState) => Report>;
export type EventName = keyof typeof EVENTS;

/** What must have happened just before, where one report is not enough. */
export function prepared(state: FailoverState, event: EventName): FailoverState {
  if (event === 'all others report') return heard(state);
  return event === 'a report of an earlier process' ? restarted(state) : state;
}

function asks(state: FailoverState, says: Parameters<typeof writerPart>[1]): RegionReport {
  return heartbeat(state, 'A', { scheduled: false, writer: writerPart(state, says) });
}

function heard(state: FailoverState): FailoverState {
  return state.phase === 'Ungraceful' ? after(state, (now) => heartbeat(now, 'C')) : state;
}

function restarted(state: FailoverState): FailoverState {
  return after(state, (now) => heartbeat(now, 'C', { incarnation: 2 }));
}

/** What an update did, in words that the table uses. */
export function effectsOf(before: FailoverState, report: Report, verdict: Verdict): readonly string[] {
  if (verdict.verdict === 'refused') return [`refused: ${verdict.refusal.code}, ${verdict.refusal.field}`];
  if (verdict.verdict === 'stale') return ['stale: told the state, to compute anew'];
  const { state } = verdict;
  const effects = [
    ...phaseEffects(before, state),
    ...setEffects(before, state),
    ...listEffects(before, state),
    ...(report.type === 'region' ? beatEffects(before, state, report.region) : []),
  ];
  return effects.length === 0 ? ['nothing'] : effects;
}

function phaseEffects(before: FailoverState, state: FailoverState): readonly string[] {
  const entries = state.history.filter((entry) => !before.history.includes(entry));
  return [
    ...entries.map(({ what, why, region }) => {
      const words = { raised: 'GCN raised', elected: `${region} elected`, began: `move to ${region} begins` };
      const more = { switched: `writes switch to ${region}`, 'gave up': 'move given up' };
      return `**${{ ...words, ...more }[what]}** (${why})`;
    }),
    ...(state.quiesce === true && before.quiesce === undefined ? ['the writer is to quiesce'] : []),
    ...(state.final !== undefined && before.final === undefined ? ['the final progress is noted'] : []),
  ];
}

function setEffects(before: FailoverState, state: FailoverState): readonly string[] {
  const joined = state.leaseSet.filter((name) => !before.leaseSet.includes(name));
  const left = before.leaseSet.filter((name) => !state.leaseSet.includes(name));
  return [
    ...joined.map((name) => `${name} joins the lease set`),
    ...left.map((name) => `${name} leaves the lease set`),
    ...Object.keys(state.regions)
      .filter((name) => before.regions[name] === undefined)
      .map((name) => `${name} is new, building`),
    ...Object.keys(state.regions)
      .filter((name) => before.regions[name]?.leaving !== true && state.regions[name]!.leaving === true)
      .map((name) => `${name} is leaving`),
  ];
}

function listEffects(before: FailoverState, state: FailoverState): readonly string[] {
  const { wanted } = state.configuration;
  return [
    ...(state.paused === before.paused ? [] : [state.paused === true ? 'paused' : 'resumed']),
    ...(wanted !== undefined && before.configuration.wanted === undefined
      ? ['wanted, in force when safe']
      : []),
    ...(state.configuration.version > before.configuration.version && wanted === undefined
      ? ['in force']
      : []),
    ...state.open.filter((intent_) => !before.open.includes(intent_)).map(() => 'open'),
    ...state.recent
      .filter((closed) => !before.recent.includes(closed))
      .map(({ id, end }) => (before.open.some((open) => open.id === id) ? `the switchover is ${end}` : end)),
  ];
}

function beatEffects(before: FailoverState, state: FailoverState, region: string): readonly string[] {
  const was = before.regions[region]!;
  const is = state.regions[region]!;
  if (state.gcn > before.gcn) return [];
  return [
    ...(is.stop !== undefined && was.stop === undefined ? ['stop mark'] : []),
    is.beat > was.beat ? 'beat' : 'taken down, no beat',
  ];
}
