/**
 * The reference agent of one region: what it puts into a report, and what it makes of the answer. This is the model of the
 * real agent: a guard that carries a rule's number here must be there too.
 *
 * An agent believes only the answer of its own update. A read (here: an update that was stale) fences it and starts its
 * waits, and gives it nothing.
 */
import { type Action, actionsFor, type FailoverState } from 'baton/failover';
import { assert } from 'baton/protocol';
import { TICK_MS } from './ticks.ts';
import {
  type Answer,
  type Draft,
  each,
  fullLease,
  has,
  including,
  isOn,
  keeps,
  type ModelLevel,
  type Name,
  type Names,
  namesIn,
  type Region,
  type Setting,
  waitTicks,
  without,
  type WriterPart,
} from './world.ts';

/** What an agent decides to say, where it has a choice. */
export interface Choice {
  readonly add?: Names;
  readonly remove?: Names;
  /** "My writes are quiesced, and this is my final progress." */
  readonly isFinal?: boolean;
  /** It has waited long enough in this step: to settle an election, to give up a graceful failover. */
  readonly isLate?: boolean;
  readonly cannotCommit?: boolean;
  readonly isStopping?: boolean;
  readonly isScheduled?: boolean;
  readonly reaches?: Names;
  readonly caughtUp?: Names;
  readonly ready?: ModelLevel;
}

/**
 * Rule 2: computed anew for every attempt, under the GCN that the region has fenced itself up to. What the editor does not
 * look at in a report of that kind is left out, so that fewer worlds differ.
 */
export function draftOf(setting: Setting, region: Region, choice: Choice): Draft {
  const { writer, watch, step } = region;
  const all = namesIn(setting.regions);
  const isPlain = writer !== null && choice.isFinal !== true && !setting.isTimed;
  const isStep = step !== null && !(isPlain && choice.isLate !== true);
  const isWatched = writer === null && watch !== null;
  return {
    incarnation: region.incarnation,
    gcn: region.epoch,
    log: isPlain ? '' : region.log,
    silence: { isOfNow: isWatched, ticks: isWatched ? watch : 0 },
    step: {
      isOfNow: isStep,
      ticks: setting.isTimed ? (step ?? 0) : choice.isLate === true ? waitTicks(setting) : 0,
    },
    canCommit: choice.cannotCommit !== true,
    reaches: choice.reaches ?? all,
    isStopping: choice.isStopping === true,
    isScheduled: choice.isScheduled === true,
    writer:
      writer === null
        ? null
        : {
            ...asksOf(choice),
            hasWaited: !writer.isMute || !keeps(setting, '18-wait'),
            commit: writer.commit,
            ready: choice.ready ?? '',
            lease: longestRight(setting, writer),
            caughtUp: choice.caughtUp ?? all,
          },
  };
}

/** The lease that it holds; or what it granted, or an earlier process of it, as long as that may run (rule 4). */
function longestRight(setting: Setting, { lease, given, held, heldFor }: WriterPart): number {
  if (!keeps(setting, '4-grants')) return lease;
  const grants = Object.values(given).map(({ ticks }) => ticks);
  return Math.max(lease, ...grants, held === '' ? 0 : waitTicks(setting) - heldFor);
}

function asksOf({
  add = '',
  remove = '',
  isFinal = false,
}: Choice): Pick<Asks, 'add' | 'remove' | 'isQuiesced'> {
  return { add, remove, isQuiesced: isFinal };
}

type Asks = NonNullable<Draft['writer']>;

/** Rule 7: drop leases and grants, and refuse what comes from lower epochs; only then report. */
export function fenced(setting: Setting, region: Region, epoch: number): Region {
  if (region.epoch >= epoch) return region;
  const grant = keeps(setting, '7-reads') ? 0 : region.grant;
  const gclsn = isOn(setting, 'reads') ? region.gclsn : 0;
  return { ...region, epoch, writer: null, lease: 0, grant, gclsn };
}

/** The answer of an update that began `age` ticks ago. */
export function answered(
  setting: Setting,
  { region, name, register }: { region: Region; name: Name; register: FailoverState },
  answer: Answer,
  age: number,
): Region {
  const { state, verdict } = answer;
  // A message of a later epoch has overtaken it.
  if (state.gcn < region.epoch) return region;
  const isOwn = verdict === 'accepted';
  const wasFresh = region.isFresh;
  const mustFence = keeps(setting, '7-fence') || state.writer === name;
  let next = learned(mustFence ? fenced(setting, region, state.gcn) : region, answer, {
    register,
    start: keeps(setting, '4-learn') ? 0 : fullLease(setting),
  });
  if (!has(setting.watchers, name)) next = { ...next, watch: null };
  if (isOwn && wasFresh) next = { ...next, isFresh: false, bootTicks: 0, bootEpoch: 0 };
  for (const action of actionsFor(state, name)) {
    if (action.do !== 'accept writes' && action.do !== 'quiesce writes') continue;
    // Rule 3: a read makes no writer, and renews no lease.
    if (isOwn) next = obeyed(setting, next, name, { answer, action, before: region, age });
  }
  return next;
}

/** What it knows now of beats, steps and the last raise, and since when (rules 4 and 12: from when it learned). */
function learned(region: Region, answer: Answer, { register, start }: Known): Region {
  const { state, isBeatOfNow, isStepOfNow } = answer;
  const { cause, gcn, writer } = state.raise;
  const isRaiseOfNow = gcn === register.raise.gcn && writer === register.raise.writer;
  const counts = isRaiseOfNow && cause !== 'silence' && cause !== 'creation';
  return {
    ...region,
    watch: state.writer !== null && isBeatOfNow ? (region.watch ?? start) : null,
    step: isStepOfNow ? (region.step ?? 0) : null,
    since: counts ? (region.since ?? 0) : region.since,
  };
}

interface Known {
  readonly register: FailoverState;
  /** What a wait begins with. */
  readonly start: number;
}

interface Order {
  readonly answer: Answer;
  readonly action: Extract<Action, { do: 'accept writes' | 'quiesce writes' }>;
  /** The region as it was before the answer. */
  readonly before: Region;
  readonly age: number;
}

/** An own update came back and names this region the writer. */
function obeyed(setting: Setting, region: Region, name: Name, order: Order): Region {
  const { answer, action, age } = order;
  // As long as the configuration says: the machine measures silence by no less. One tick more on a slow clock.
  const granted = answer.state.configuration.timings.leaseMs / TICK_MS;
  const lasts = granted + 1 - (keeps(setting, '3-start') ? age : 0);
  // Rule 3: the lease runs from the start of the update that raised the beat.
  const isRenewed = answer.isRenewed || !keeps(setting, '3-beat');
  const lease = isRenewed ? Math.max(lasts, 0) : region.lease;
  const part = region.writer ?? takenOver(setting, region, name, order);
  const writer: WriterPart = {
    ...part,
    // Rule 14: a success of one's own settles what was unknown.
    known: namesIn(action.leaseSet),
    maybe: '',
    lease: isRenewed ? granted : part.lease,
    isQuiesced: action.do === 'quiesce writes',
    ...levelsIn(setting, part, region, answer.state),
    mayBeWeaker: false,
    ...(action.do === 'accept writes' && waitsIn(action)),
  };
  const stopped = withStopMarks(setting, writer, answer.state);
  // Rule 6: what it committed by itself, at a weaker level, is not known to be anywhere else.
  const isNew = region.writer === null && isOn(setting, 'levels');
  const gclsn = isNew ? 0 : region.gclsn;
  return { ...region, gclsn, lease, grant: 0, writer: withoutOldWaits(setting, stopped) };
}

/** What the state says of levels: until the next is in force, both are kept, and the one in force is served. */
function levelsIn(
  setting: Setting,
  part: WriterPart,
  region: Region,
  { configuration: { consistency, wanted } }: FailoverState,
): Partial<WriterPart> {
  if (!isOn(setting, 'levels')) return {};
  const serves = consistency as ModelLevel;
  const isStrong = serves === 'Strong' || wanted?.consistency === 'Strong';
  const isGranting = serves === 'Strong' && wanted?.consistency === undefined;
  const levels = { serves, isGranting: isGranting || !keeps(setting, '15-level') };
  if (isStrong === (part.keeps === 'Strong')) return levels;
  // Whatever was committed by the other level is not known to be anywhere else.
  const length = region.log.length;
  return { ...levels, keeps: isStrong ? 'Strong' : 'Session', keptFrom: length, taken: length };
}

function waitsIn(action: Order['action']): { isMute: boolean; unfenced: Names } {
  if (action.do === 'quiesce writes') return { isMute: false, unfenced: '' };
  return { isMute: action.waitFor !== undefined, unfenced: namesIn(action.unfenced ?? []) };
}

/** The first own update that names it the writer, in this epoch and of this process. */
function takenOver(setting: Setting, region: Region, name: Name, order: Order): WriterPart {
  const { answer, action, before } = order;
  // The editor begins no move before the writer has said what only a writer can, and a new process ends it.
  assert(action.do === 'accept writes', 'nobody takes over quiesced');
  const all = namesIn(setting.regions);
  // Rule 12: from when it held what the raise found, or received the state that says so; not from the update's start.
  const learnedFor = answer.since ?? (keeps(setting, '12-start') ? 0 : order.age);
  const since = keeps(setting, '12-triple') ? learnedFor : waitTicks(setting);
  // Rule 13: a process that finds itself the writer cannot know what its predecessor granted.
  const isRestart = before.isFresh && answer.isFound;
  const isForced = waitsIn(action).isMute;
  const startsWithAll = (isRestart && keeps(setting, '13-all')) || (isForced && keeps(setting, '12-all'));
  const wasThere = before.bootEpoch === answer.state.gcn || !keeps(setting, '13-learn');
  return {
    known: '',
    maybe: '',
    // Rule 9: otherwise the commit set starts as the lease set.
    commit: startsWithAll ? all : keeps(setting, '9-commit') ? namesIn(action.leaseSet) : name,
    acks: {},
    lease: 0,
    taken: region.log.length,
    given: {},
    serves: 'Strong',
    keeps: 'Strong',
    keptFrom: region.log.length,
    isGranting: true,
    mayBeWeaker: false,
    isQuiesced: false,
    unfenced: '',
    isMute: false,
    since,
    held: isRestart && keeps(setting, '13-restart') ? without(all, name) : '',
    heldFor: wasThere ? before.bootTicks : since,
    quiet: {},
  };
}

/** Rule 22: a stop mark ends the grants of the process that it names, and of no later one. */
function withStopMarks(setting: Setting, writer: WriterPart, state: FailoverState): WriterPart {
  let { given, held } = writer;
  for (const [name, { stop, report }] of Object.entries(state.regions)) {
    if (stop === undefined && (keeps(setting, '22-report') || report === undefined)) continue;
    held = without(held, name);
    const grant = given[name];
    const isCovered = grant !== undefined && (stop === undefined || grant.incarnation <= stop);
    if (isCovered || !keeps(setting, '22-incarnation')) {
      const { [name]: _, ...rest } = given;
      given = rest;
    }
  }
  return { ...writer, given, held };
}

/** Waits that are over, or in which nobody is waited for, are all the same; within an epoch they do not come back. */
export function withoutOldWaits(setting: Setting, writer: WriterPart): WriterPart {
  const enough = waitTicks(setting);
  const isOver = writer.since >= enough || (writer.unfenced === '' && !writer.isMute);
  const isHeld = writer.held !== '' && writer.heldFor < enough;
  return {
    ...writer,
    ...(isOver && { unfenced: '', isMute: false, since: enough }),
    ...(!isHeld && { held: '', heldFor: 0 }),
  };
}

/** The update's outcome is unknown: it may have landed, or may still. */
export function givenUp(setting: Setting, region: Region): Region {
  const { pending, writer } = region;
  const asked = pending!.draft.writer;
  const ghost = pending!.answer === null ? pending!.draft : region.ghost;
  const next = { ...region, pending: null, ghost };
  if (writer === null || asked === null || region.epoch !== pending!.draft.gcn) return next;
  return {
    ...next,
    // Rule 3: unknown outcomes do not renew.
    lease: keeps(setting, '3-unknown') ? region.lease : fullLease(setting),
    writer: {
      ...writer,
      mayBeWeaker: writer.mayBeWeaker || asked.ready === 'Session',
      // Rule 14: an unknown addition counts as a member, an unknown removal as not removed.
      maybe: keeps(setting, '14-add') ? including(writer.maybe, asked.add) : writer.maybe,
      known: keeps(setting, '14-remove') ? writer.known : without(writer.known, asked.remove),
    },
  };
}

/** The wanted level can be put in force, as far as the writer knows. */
export function isReadyFor(setting: Setting, { writer }: Region, name: Name, wish: ModelLevel): boolean {
  if (writer === null || writer.keeps !== 'Strong') return false;
  if (wish === 'Strong') {
    const { commit, acks, keptFrom } = writer;
    const others = each(without(commit, name));
    return !keeps(setting, '16-level') || others.every((other) => (acks[other] ?? 0) >= keptFrom);
  }
  const hasGranted = Object.keys(writer.given).length > 0;
  const isOld = writer.held !== '' || writer.unfenced !== '';
  return !(hasGranted && keeps(setting, '17-level')) && !(isOld && keeps(setting, '13-level'));
}

/** Rule 17: whom the writer may drop from its commit set. */
export function mayLeave(setting: Setting, region: Region, name: Name, other: Name): boolean {
  const { writer, pending } = region;
  if (writer === null || other === name || !has(writer.commit, other)) return false;
  // Rule 14: the commit set always contains the lease set, and what may be in it.
  const isMember = has(writer.known, other) || has(writer.maybe, other);
  const isAsked = pending !== null && pending.draft.writer !== null && has(pending.draft.writer.add, other);
  if (isMember || isAsked) return false;
  if (keeps(setting, '17') && writer.given[other] !== undefined) return false;
  // Rules 12 and 13: nor before rights of the epoch, or of the process, before have certainly run out.
  if (writer.isMute && keeps(setting, '12-all')) return false;
  if (has(writer.unfenced, other) && keeps(setting, '13-graceful')) return false;
  return !has(writer.held, other);
}

/** A process that starts again: memory is lost, the disk is not. */
export function restarted(setting: Setting, region: Region): Region {
  const { log, epoch, gclsn, incarnation, pending, ghost, ack } = region;
  // Rule 3: restart drops the lease, because nobody counted while the process was down.
  if (!keeps(setting, '3-restart'))
    return { ...region, incarnation: incarnation + 1, lease: fullLease(setting) };
  return {
    log,
    epoch,
    gclsn: isOn(setting, 'reads') ? gclsn : 0,
    incarnation: incarnation + 1,
    isFresh: true,
    bootTicks: 0,
    bootEpoch: epoch,
    isStopped: false,
    lease: 0,
    grant: 0,
    watch: null,
    since: null,
    step: null,
    writer: null,
    pending: null,
    ghost: pending !== null && pending.answer === null ? pending.draft : ghost,
    ack,
  };
}
