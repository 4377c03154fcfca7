/**
 * The register: one failover state, changed by the real `transition` and by nothing else. CASPaxos makes a change atomic
 * (`spec/caspaxos.tla`), so an update lands in one step.
 *
 * A failover state grows without end: beats, steps, history, statistics. Two states are the same here when a renaming of
 * beats and steps makes them equal. The register is kept in a canonical form: every beat is 10, and so are the step and the
 * beat that the raise found. What others know of beats and steps is kept as "that of now, or not" with the ticks since they
 * learned it, and `land` brings it up to date. That is sound because the machine compares beats and steps for equality alone,
 * and they never come back: what is not that of now never will be again. In a report it becomes a wrong beat, or step, with a
 * very long wait: the editor must ignore it.
 *
 * Forgotten too: what a writer reported of its progress, and in `Steady` what anybody did, unless a graceful failover can
 * begin: a raise clears it, and nothing but a switch and an election reads it (after a raise for silence, without stops and
 * inability, nobody reads even that there was a report); history, recent intents and statistics, which no rule reads; reported GCLSNs and the raise's LSN, which
 * only people and the maximum loss read; and in untimed settings damping, deaths, pins: they decide about failbacks, for
 * which a region needs live beats, and untimed settings have none. An operator's switchover, which any setting can have,
 * takes the same path at any moment.
 */
import {
  type Configuration,
  type FailoverState,
  type IntentBody,
  type IntentReport,
  MACHINE_VERSION,
  newState,
  type RegionReport,
  type RegionState,
  type Report,
  transition,
  type Verdict,
} from 'baton/failover';
import {
  type Answer,
  type Draft,
  each,
  epochOf,
  type Name,
  type Region,
  type Setting,
  type World,
} from './world.ts';
import { machineWithout } from './mutants.ts';
import { TICK_MS } from './ticks.ts';

const NOW = 10;
const VERY_LONG_MS = 1_000_000_000;
const AT = '2000-01-01T00:00:00.000Z';
/** More live beats, or damping, than this makes no difference in the runs that count them. */
const MOST_BEATS = 1000;

export type Machine = (state: FailoverState, report: Report) => Verdict;

/** What a change made of the register, and of what others know of it. */
interface Landing {
  readonly verdict: Verdict['verdict'];
  readonly state: FailoverState;
  readonly isSameTriple: boolean;
  readonly isSameStep: boolean;
  readonly keepsRaise: boolean;
  /** The raise found the triple that the register held before. */
  readonly isRaisedNow: boolean;
  readonly isBeatRaised: boolean;
}

export class Register {
  readonly #setting: Setting;
  readonly #machine: Machine;
  readonly #states = new Map<string, FailoverState>();
  readonly #landings = new WeakMap<FailoverState, Map<string, Landing>>();
  readonly #keys = new WeakMap<FailoverState, string>();
  readonly #adopted = new WeakMap<FailoverState, FailoverState>();

  constructor(setting: Setting) {
    this.#setting = setting;
    this.#machine = setting.without.length === 0 ? transition : machineWithout(setting.without);
  }

  get initial(): FailoverState {
    const { regions, consistency, minDurability, lease, members } = this.#setting;
    const configuration: Configuration = {
      version: 0,
      priorities: regions,
      consistency,
      ...(consistency === 'BoundedStaleness' && {
        staleness: { writes: this.#setting.staleness, seconds: 1000 },
      }),
      minDurability,
      timings: { intervalMs: TICK_MS, leaseMs: lease * TICK_MS, settleMs: 300 },
      failback: 'automatic',
    };
    return this.#canonical({ ...newState('p', configuration), leaseSet: each(members) });
  }

  /** A state of another register, as this one would have it. */
  adopt(state: FailoverState): FailoverState {
    let adopted = this.#adopted.get(state);
    if (adopted === undefined) this.#adopted.set(state, (adopted = this.#canonical(state)));
    return adopted;
  }

  keyOf(state: FailoverState): string {
    return this.#keys.get(state)!;
  }

  /** The world after that draft of a region was put to the register, and the answer; none if it was refused. */
  land(world: World, name: Name, draft: Draft): { world: World; answer: Answer | null } {
    const found = world.register;
    const landing = this.#landingOf(found, reportOf(found, name, draft));
    if (landing.verdict === 'refused') return { world, answer: null };
    const next = this.#bringUpToDate(world, landing);
    const { since } = next.regions[name]!;
    const answer: Answer = {
      verdict: landing.verdict,
      state: landing.state,
      isRenewed: landing.verdict === 'accepted' && landing.isBeatRaised,
      isFound: found.writer === name,
      isBeatOfNow: true,
      isStepOfNow: true,
      since,
    };
    return { world: next, answer };
  }

  /** The world after an intent was posted; undefined if it was refused, or changed nothing. */
  post(world: World, intent: IntentBody): World | undefined {
    const report: IntentReport = {
      type: 'intent',
      id: `${intent.kind} new`,
      who: 'operator',
      at: AT,
      intent,
    };
    const landing = this.#landingOf(world.register, report);
    if (landing.verdict === 'refused' || landing.state === world.register) return undefined;
    return this.#bringUpToDate(world, landing);
  }

  #landingOf(found: FailoverState, report: Report): Landing {
    let landings = this.#landings.get(found);
    if (landings === undefined) this.#landings.set(found, (landings = new Map<string, Landing>()));
    const key = JSON.stringify(report);
    let landing = landings.get(key);
    if (landing === undefined) landings.set(key, (landing = this.#compute(found, report)));
    return landing;
  }

  #compute(found: FailoverState, report: Report): Landing {
    const verdict = this.#machine(found, report);
    const state = verdict.verdict === 'refused' ? found : verdict.state;
    const raised = state.raise;
    const isOldRaise =
      raised.gcn === found.raise.gcn &&
      raised.writer === found.raise.writer &&
      raised.beat === found.raise.beat;
    const region = report.type === 'region' ? report.region : undefined;
    return {
      verdict: verdict.verdict,
      state: state === found ? found : this.#canonical(state),
      isSameTriple:
        state.gcn === found.gcn && state.writer === found.writer && beatOf(state) === beatOf(found),
      isSameStep: state.step === found.step,
      keepsRaise: isOldRaise,
      isRaisedNow:
        raised.gcn === found.gcn && raised.writer === found.writer && raised.beat === beatOf(found),
      isBeatRaised: region !== undefined && state.regions[region]!.beat > found.regions[region]!.beat,
    };
  }

  #bringUpToDate(world: World, landing: Landing): World {
    if (landing.state === world.register && landing.isSameTriple) return world;
    // Rule 2: the editor will never take it; landing, it would change nothing.
    const isDead = (ghost: Draft | null, { incarnation }: RegionState): boolean =>
      ghost !== null &&
      this.#setting.without.length === 0 &&
      (ghost.gcn < landing.state.gcn || ghost.incarnation < incarnation);
    const regions = Object.fromEntries(
      Object.entries(world.regions).map(([name, region]) => [
        name,
        broughtUpToDate(region, landing, isDead(region.ghost, landing.state.regions[name]!)),
      ]),
    );
    return { ...world, register: landing.state, regions };
  }

  #canonical(state: FailoverState): FailoverState {
    const next = rebased(state, this.#setting);
    const key = JSON.stringify(sorted(next));
    const known = this.#states.get(key);
    if (known !== undefined) return known;
    this.#states.set(key, next);
    this.#keys.set(next, String(this.#states.size));
    return next;
  }
}

/** The same object however its fields were put together. */
function sorted(value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  const entries = Object.entries(value).map(([name, field]): [string, unknown] => [name, sorted(field)]);
  return Object.fromEntries(entries.sort(([one], [other]) => (one < other ? -1 : 1)));
}

function beatOf({ writer, regions }: FailoverState): number | null {
  return writer === null ? null : regions[writer]!.beat;
}

function broughtUpToDate(region: Region, landing: Landing, isDead: boolean): Region {
  const { isSameTriple, isSameStep } = landing;
  const watch = isSameTriple ? region.watch : null;
  const step = isSameStep ? region.step : null;
  const since = sinceAfter(region, landing);
  const pending = region.pending === null ? null : pendingAfter(region.pending, landing);
  const ghost = region.ghost === null || isDead ? null : draftAfter(region.ghost, landing);
  const isSame =
    watch === region.watch &&
    step === region.step &&
    since === region.since &&
    pending === region.pending &&
    ghost === region.ghost;
  return isSame ? region : { ...region, watch, step, since, pending, ghost };
}

function sinceAfter({ watch, since }: Region, { state, keepsRaise, isRaisedNow }: Landing): number | null {
  if (state.raise.cause === 'silence' || state.raise.cause === 'creation') return null;
  if (keepsRaise) return since;
  return isRaisedNow ? watch : null;
}

function pendingAfter(pending: Pending, landing: Landing): Pending {
  const draft = draftAfter(pending.draft, landing);
  const { answer } = pending;
  if (answer === null) return draft === pending.draft ? pending : { ...pending, draft };
  const isBeatOfNow = answer.isBeatOfNow && landing.isSameTriple;
  const isStepOfNow = answer.isStepOfNow && landing.isSameStep;
  if (isBeatOfNow === answer.isBeatOfNow && isStepOfNow === answer.isStepOfNow) return pending;
  return { ...pending, draft, answer: { ...answer, isBeatOfNow, isStepOfNow } };
}

type Pending = NonNullable<Region['pending']>;

function draftAfter(draft: Draft, { isSameTriple, isSameStep }: Landing): Draft {
  const { silence, step } = draft;
  const isBeatOld = silence.isOfNow && !isSameTriple;
  const isStepOld = step.isOfNow && !isSameStep;
  if (!isBeatOld && !isStepOld) return draft;
  return {
    ...draft,
    silence: isBeatOld ? { isOfNow: false, ticks: 0 } : silence,
    step: isStepOld ? { isOfNow: false, ticks: 0 } : step,
  };
}

/** Rules 2 and 4: the report says what it was computed under, and on what it waited. */
function reportOf(register: FailoverState, region: Name, draft: Draft): RegionReport {
  const { writer: asks, silence, step, gcn } = draft;
  const { writer, regions } = register;
  const beat = writer === null ? 0 : regions[writer]!.beat;
  return {
    type: 'region',
    region,
    incarnation: draft.incarnation,
    version: MACHINE_VERSION,
    gcn,
    at: AT,
    scheduled: draft.isScheduled,
    build: 'Built',
    progress: { epoch: epochOf(draft.log.at(-1) ?? '0'), lsn: draft.log.length },
    gclsn: 0,
    canCommit: draft.canCommit,
    reaches: each(draft.reaches),
    ...(writer !== null && {
      silence: {
        gcn: register.gcn,
        writer,
        beat: silence.isOfNow ? beat : beat - 1,
        waitedMs: silence.isOfNow ? silence.ticks * TICK_MS : VERY_LONG_MS,
      },
    }),
    wait: {
      step: step.isOfNow ? register.step : register.step - 1,
      waitedMs: step.isOfNow ? step.ticks * TICK_MS : VERY_LONG_MS,
    },
    ...(asks !== null && { writer: writerReportOf(asks, step.isOfNow ? register.step : register.step - 1) }),
    ...(draft.isStopping && { stopping: true }),
  };
}

function writerReportOf(asks: NonNullable<Draft['writer']>, step: number): RegionReport['writer'] & object {
  const report = {
    leaseMs: asks.lease * TICK_MS,
    commitSet: each(asks.commit),
    caughtUp: each(asks.caughtUp),
    ...(asks.add !== '' && { add: each(asks.add) }),
    ...(asks.remove !== '' && { remove: each(asks.remove) }),
    ...(asks.isQuiesced && { quiescedInStep: step }),
    ...(asks.ready !== '' && { readyFor: asks.ready }),
    ...(asks.hasWaited && { hasWaited: true as const }),
  };
  return report;
}

function rebased(state: FailoverState, { isTimed, features }: Setting): FailoverState {
  const { pin, raise, damping } = state;
  const { pin: _pin, ...rest } = state;
  const isIdle = state.phase === 'Steady' && !features.includes('graceful');
  const isSilence = raise.cause === 'silence' || raise.cause === 'creation';
  const isUnread =
    isIdle && isSilence && !features.includes('stop') && !features.includes('unable') && !isTimed;
  const regions = Object.fromEntries(
    Object.entries(state.regions).map(([name, region]) => [
      name,
      rebasedRegion(region, isTimed, isUnread ? 'unread' : name === state.writer || isIdle ? 'idle' : 'read'),
    ]),
  );
  return {
    ...rest,
    ...(isTimed && pin !== undefined && { pin }),
    configuration: { ...state.configuration, version: 0 },
    step: NOW,
    leaseSet: [...state.leaseSet].sort(),
    regions,
    raise: { ...raise, beat: NOW, lsn: 0 },
    damping: isTimed ? damping : { failures: 0, wait: 0, vain: 0 },
    open: state.open.map((intent, index) => ({ ...intent, id: `${intent.kind} ${index}` })),
    recent: [],
    statistics: {},
    history: [],
  };
}

function rebasedRegion(region: RegionState, isTimed: boolean, use: 'unread' | 'idle' | 'read'): RegionState {
  const { deaths, good, report, ...rest } = region;
  return {
    ...rest,
    beat: NOW,
    seen: region.beat > region.seen ? NOW - 1 : NOW,
    live: isTimed ? Math.min(region.live, MOST_BEATS) : 0,
    ...(isTimed && deaths !== undefined && { deaths }),
    ...(isTimed && good !== undefined && { good: Math.min(good, MOST_BEATS) }),
    ...(report !== undefined &&
      use !== 'unread' && {
        report: {
          ...report,
          reaches: [...report.reaches].sort(),
          ...(use === 'idle' && { progress: { epoch: 0, lsn: 0 } }),
        },
      }),
  };
}
