/**
 * Intents (paper 5.2): what operators and the control plane want. An update refuses one with a reason, or records it as
 * open; it is honoured when its effect is in the state, and cancelled when the GCN passes the one it named. Nobody holds a
 * lock meanwhile: a failover never waits for an intent.
 */
import {
  type Consistency,
  type Failback,
  needsLeaseSet,
  type SignalPolicy,
  type Timings,
} from './configuration.ts';
import {
  addRegion,
  changeConsistency,
  changeDurability,
  changeTimings,
  configured,
  type Effect,
  isRefusal,
  knows,
  limitLoss,
  needsVersion,
  refused,
  removeRegion,
  reorder,
  takeBack,
  without,
} from './configure.ts';
import { close, type OpenIntent } from './intent-list.ts';
import { raise } from './raise.ts';
import type { IntentReport } from './report.ts';
import { type FailoverState, type RegionName, regionOf } from './state.ts';

export type IntentBody =
  | { readonly kind: 'switchover'; readonly target: RegionName }
  | { readonly kind: 'failover'; readonly target?: RegionName; readonly acceptLoss?: true }
  | { readonly kind: 'revoke'; readonly target: RegionName }
  | { readonly kind: 'withdraw'; readonly intent: string }
  | { readonly kind: 'pause' | 'resume' | 'unpin' }
  | { readonly kind: 'add region'; readonly target: RegionName; readonly priority?: number }
  | { readonly kind: 'remove region'; readonly target: RegionName }
  | { readonly kind: 'priorities'; readonly priorities: readonly RegionName[] }
  | {
      readonly kind: 'consistency';
      readonly consistency: Consistency;
      readonly staleness?: { readonly writes: number; readonly seconds: number };
    }
  | { readonly kind: 'durability'; readonly minDurability: number }
  | { readonly kind: 'timings'; readonly timings: Timings }
  | { readonly kind: 'failback'; readonly failback: Failback }
  | { readonly kind: 'maximum loss'; readonly writes: number | null }
  | { readonly kind: 'signals'; readonly signals: SignalPolicy };

export type IntentKind = IntentBody['kind'];

const MAX_OPEN = 4;

/** `version`: of the machine that takes it; what that does not have yet, it refuses. */
export function postIntent(state: FailoverState, report: IntentReport, version: number): Effect {
  const { id, intent } = report;
  if ([...state.open, ...state.recent].some((known) => known.id === id)) return state;
  if (report.gcn !== undefined && report.gcn < state.gcn) {
    return refused('gcn', `GCN ${report.gcn} has passed; the partition-set is at ${state.gcn}.`);
  }
  const effect = apply(supersede(state, intent.kind), report, version);
  if (isRefusal(effect)) return effect;
  const target = 'target' in intent && intent.target !== undefined ? { target: intent.target } : {};
  const gcn = report.gcn === undefined ? {} : { gcn: report.gcn };
  const open: OpenIntent = { id, kind: intent.kind, who: report.who, ...target, ...gcn };
  const next = settleIntents({ ...effect, open: [...effect.open, open] }, state.gcn);
  return next.open.length <= MAX_OPEN
    ? next
    : refused('intent', 'Too many intents are open; withdraw one, or wait until one is honoured.');
}

/** A later wish takes the place of an earlier one. */
function supersede(state: FailoverState, wish: IntentKind): FailoverState {
  if (wish !== 'switchover' && wish !== 'consistency' && wish !== 'durability') return state;
  const earlier = state.open.find(({ kind }) => kind === wish);
  return earlier === undefined ? state : close(state, earlier.id, 'cancelled');
}

function apply(state: FailoverState, report: IntentReport, version: number): Effect {
  const { intent } = report;
  switch (intent.kind) {
    case 'switchover':
      return wishFor(state, intent.target);
    case 'failover':
      return forceFailover(state, report, intent);
    case 'revoke':
      return knows(state, intent.target) ?? state;
    case 'withdraw':
      return withdraw(state, intent.intent);
    case 'pause':
      return { ...state, paused: true };
    case 'resume':
      return without(state, 'paused');
    case 'unpin':
      return without(state, 'pin');
    case 'add region':
      return addRegion(state, intent.target, intent.priority);
    case 'remove region':
      return removeRegion(state, intent.target);
    case 'priorities':
      return reorder(state, intent.priorities);
    case 'consistency':
      return changeConsistency(state, intent, version);
    case 'durability':
      return changeDurability(state, intent.minDurability);
    default:
      return configureSimply(state, intent, version);
  }
}

type SimpleIntent = Extract<IntentBody, { kind: 'timings' | 'failback' | 'maximum loss' | 'signals' }>;

function configureSimply(state: FailoverState, intent: SimpleIntent, version: number): Effect {
  switch (intent.kind) {
    case 'timings':
      return changeTimings(state, intent.timings);
    case 'failback':
      return configured(state, { failback: intent.failback });
    case 'maximum loss':
      return needsVersion(state, version, 2) ?? limitLoss(state, intent.writes);
    case 'signals':
      return needsVersion(state, version, 2) ?? configured(state, { signals: intent.signals });
    default:
      return intent satisfies never;
  }
}

function wishFor(state: FailoverState, target: RegionName): Effect {
  const problem = knows(state, target);
  if (problem !== undefined) return problem;
  if (state.phase === 'Ungraceful') {
    return refused(
      'intent.kind',
      'There is no write region to switch over from; wait for the election, or force a failover.',
    );
  }
  return state;
}

function forceFailover(
  state: FailoverState,
  report: IntentReport,
  { target, acceptLoss }: Extract<IntentBody, { kind: 'failover' }>,
): Effect {
  const problem = target === undefined ? undefined : knows(state, target);
  if (problem !== undefined) return problem;
  const isOutside = target !== undefined && !state.leaseSet.includes(target);
  if (isOutside && needsLeaseSet(state.configuration.consistency) && acceptLoss !== true) {
    const why = `${target} is not in the lease set, so acknowledged writes could be lost`;
    return refused(
      'intent.target',
      `${why}; name a member (${state.leaseSet.join(', ')}), or accept the loss.`,
    );
  }
  return raise(state, { cause: 'forced', who: report.who, at: report.at, target, acceptLoss });
}

function withdraw(state: FailoverState, id: string): Effect {
  const intent = state.open.find((open) => open.id === id);
  if (intent === undefined) return refused('intent.intent', `There is no open intent ${id}.`);
  if (intent.kind === 'failover') return refused('intent.intent', `${id} has raised the GCN already.`);
  return cancel(state, intent);
}

/** Closes what has come true, or can no longer. `gcnBefore`: the GCN that this update found. */
export function settleIntents(state: FailoverState, gcnBefore: number): FailoverState {
  let next = state;
  for (const intent of state.open) {
    if (isHonoured(next, intent)) next = close(next, intent.id, 'honoured');
    else if (isVoid(next, intent, gcnBefore)) next = cancel(next, intent);
  }
  return next;
}

function cancel(state: FailoverState, intent: OpenIntent): FailoverState {
  return close(takeBack(state, intent), intent.id, 'cancelled');
}

/** These are in force as soon as they are posted. */
const AT_ONCE: ReadonlySet<string> = new Set<IntentKind>([
  'withdraw',
  'pause',
  'resume',
  'unpin',
  'priorities',
  'timings',
  'failback',
  'maximum loss',
  'signals',
]);

function isHonoured(state: FailoverState, { kind, target }: OpenIntent): boolean {
  const { wanted: wishes } = state.configuration;
  switch (kind) {
    case 'switchover':
      return state.writer === target;
    case 'revoke':
      return state.writer !== null && state.writer !== target;
    case 'failover':
      return state.writer !== null;
    case 'remove region':
      return target !== undefined && regionOf(state, target) === undefined;
    case 'consistency':
      return wishes?.consistency === undefined;
    case 'durability':
      return wishes?.minDurability === undefined;
    case 'add region':
      return target !== undefined && regionOf(state, target) !== undefined && !isBuilding(state, target);
    default:
      // An intent of a newer version stays for those who know it.
      return AT_ONCE.has(kind);
  }
}

function isBuilding(state: FailoverState, target: RegionName): boolean {
  return regionOf(state, target)?.building === true;
}

const CANCELLED_BY_GCN: ReadonlySet<string> = new Set<IntentKind>([
  'switchover',
  'revoke',
  'add region',
  'remove region',
  'consistency',
  'durability',
]);

function isVoid(state: FailoverState, { kind, target, gcn }: OpenIntent, gcnBefore: number): boolean {
  // A forced failover raises the GCN itself.
  if (gcn !== undefined && CANCELLED_BY_GCN.has(kind) && state.gcn > gcn) return true;
  // The write region died under a planned move: what was wished for has been overtaken.
  if (kind === 'switchover' && state.gcn > gcnBefore) return true;
  const aboutRegion = kind === 'switchover' || kind === 'revoke' || kind === 'add region';
  return aboutRegion && target !== undefined && regionOf(state, target) === undefined;
}
