/**
 * The steps of the world. Each is what happens atomically somewhere: an update of the register, one message that arrives, one
 * tick of all clocks, one thing that an operator does. `world.ts` says what a world is, and what time is in it.
 *
 * Most updates take no time: begun, landed and answered in one step. Those of the slow regions may also take three, with
 * anything in between; their answer may be lost; and what was given up before it landed may land later, as long as no later
 * update of that process has (a ballot that was overtaken never commits) and the editor takes it.
 */
import type { Successor } from 'baton/check';
import type { FailoverState } from 'baton/failover';
import { answered, type Choice, draftOf, givenUp, isReadyFor, mayLeave, restarted } from './agent.ts';
import {
  acknowledged,
  closedLosses,
  committed,
  granted,
  guardedRead,
  mayGrant,
  mayReplicate,
  mayWrite,
  readAt,
  replicated,
  wrote,
} from './engine.ts';
import { Keys } from './keys.ts';
import { Register } from './register.ts';
import { TICK_MS } from './ticks.ts';
import { ticked } from './time.ts';
import {
  type Answer,
  common,
  type Draft,
  fullLease,
  has,
  including,
  isOn,
  keeps,
  type ModelLevel,
  type Name,
  type Region,
  type Setting,
  withRegion,
  without,
  type World,
  type WriterPart,
} from './world.ts';

export type Step = Successor<World>;

const STARTED: Region = {
  log: '',
  epoch: 1,
  gclsn: 0,
  incarnation: 1,
  isFresh: false,
  bootTicks: 0,
  bootEpoch: 0,
  isStopped: false,
  lease: 0,
  grant: 0,
  watch: null,
  since: null,
  step: null,
  writer: null,
  pending: null,
  ghost: null,
  ack: null,
};

export class FailoverModel {
  readonly setting: Setting;
  readonly #register: Register;
  readonly #keys: Keys;

  constructor(setting: Setting) {
    this.setting = setting;
    this.#register = new Register(setting);
    this.#keys = new Keys(this.#register);
  }

  /** Every region has made its first update, and `a` writes. */
  get initial(): World {
    const { setting } = this;
    // With all rules in place: the machine of a mutant begins where the real one does.
    const sound = setting.without.length === 0 ? this : new FailoverModel({ ...setting, without: [] });
    return this.adopt(sound.#start());
  }

  /** A world of another model. What that has forgotten of the register stays forgotten. */
  adopt(world: World): World {
    const register = this.#register.adopt(world.register);
    const regions = Object.entries(world.regions).map(([name, region]) => {
      const answer = region.pending?.answer ?? null;
      if (answer === null) return [name, region] as const;
      const pending = {
        ...region.pending!,
        answer: { ...answer, state: this.#register.adopt(answer.state) },
      };
      return [name, { ...region, pending }] as const;
    });
    return { ...world, register, regions: Object.fromEntries(regions) };
  }

  /** A region that stopped on purpose is started again. */
  started(world: World, name: Name): World {
    return withRegion(world, name, restarted(this.setting, world.regions[name]!));
  }

  /** What was on its way arrives. */
  settled(world: World, name: Name): World {
    const { draft, age, answer } = world.regions[name]!.pending!;
    if (answer !== null) return this.#answer(world, name, answer, age);
    const { world: landed, answer: got } = this.#land(world, name, draft);
    if (got !== null) return this.#answer(landed, name, got, age);
    return withRegion(landed, name, { ...landed.regions[name]!, pending: null });
  }

  #start(): World {
    const { regions, maxSlow, maxUnknown, maxRestarts, maxSwitchovers, maxForced } = this.setting;
    let world: World = {
      register: this.#register.initial,
      regions: Object.fromEntries(regions.map((name) => [name, STARTED])),
      told: '',
      read: '',
      wrong: '',
      lost: [],
      isWeakened: false,
      left: {
        slow: maxSlow,
        unknown: maxUnknown,
        restarts: maxRestarts,
        switchovers: maxSwitchovers,
        forced: maxForced,
      },
    };
    for (const name of regions) world = this.update(world, name, {})!;
    return world;
  }

  key(world: World): string {
    return this.#keys.of(world);
  }

  *successors(world: World): Generator<Step> {
    if (world.wrong !== '') return;
    for (const step of this.#steps(world)) {
      if (step.state !== world && step.state.register.gcn <= this.setting.maxGcn) yield step;
    }
  }

  *#steps(world: World): Generator<Step> {
    for (const name of this.setting.regions) {
      const region = world.regions[name]!;
      if (region.isStopped) yield* this.#returnOf(world, name);
      else {
        yield* this.#updates(world, name);
        yield* this.#processes(world, name);
        if (region.writer !== null) yield* this.#writes(world, name);
        yield* this.#reads(world, name);
      }
      if (region.ghost !== null)
        yield { action: `${name}'s lost update lands`, state: this.#haunt(world, name) };
    }
    yield* this.#intents(world);
    yield* this.#hints(world);
    yield { action: 'tick', state: this.tick(world) };
  }

  // Updates.

  *#updates(world: World, name: Name): Generator<Step> {
    const region = world.regions[name]!;
    if (region.pending !== null) {
      yield* this.#slow(world, name);
      return;
    }
    const maySlow = has(this.setting.slow, name) && world.left.slow > 0;
    for (const [said, choice] of this.choices(world, name)) {
      const next = this.update(world, name, choice);
      if (next !== undefined) yield { action: `${name} updates${said}`, state: next };
      if (maySlow) {
        const pending = { draft: draftOf(this.setting, region, choice), age: 0, answer: null };
        const left = { ...world.left, slow: world.left.slow - 1 };
        const state = withRegion({ ...world, left }, name, { ...region, pending });
        yield { action: `${name} begins to update${said}`, state };
      }
    }
  }

  /** An update that takes no time; undefined if the register refuses it. */
  update(world: World, name: Name, choice: Choice): World | undefined {
    const own = draftOf(this.setting, world.regions[name]!, choice);
    const draft = keeps(this.setting, '7-fence') ? own : { ...own, gcn: world.register.gcn };
    const { world: landed, answer } = this.#land(world, name, draft);
    return answer === null ? undefined : this.#answer(landed, name, answer, 0);
  }

  #land(world: World, name: Name, draft: Draft): { world: World; answer: Answer | null } {
    const { world: landed, answer } = this.#register.land(world, name, draft);
    if (answer === null) return { world, answer };
    const judged = this.#judge(world.register, withLevel(world.register, landed), name);
    const region = judged.regions[name]!;
    // A ballot that a later one of the same process has overtaken never commits.
    const isOvertaken = answer.verdict === 'accepted' && region.ghost?.incarnation === draft.incarnation;
    return { world: isOvertaken ? withRegion(judged, name, { ...region, ghost: null }) : judged, answer };
  }

  #answer(world: World, name: Name, answer: Answer, age: number): World {
    const region = { ...world.regions[name]!, pending: null };
    const next = answered(this.setting, { region, name, register: world.register }, answer, age);
    return committed(this.setting, withRegion(world, name, next), name);
  }

  *#slow(world: World, name: Name): Generator<Step> {
    const region = world.regions[name]!;
    const { draft, age, answer } = region.pending!;
    if (answer !== null) {
      yield { action: `${name} gets its answer`, state: this.#answer(world, name, answer, age) };
    } else {
      const { world: landed, answer: got } = this.#land(world, name, draft);
      const pending = got === null ? null : { draft, age, answer: got };
      const state = withRegion(landed, name, { ...landed.regions[name]!, pending });
      yield { action: `${name}'s update lands`, state };
    }
    if (world.left.unknown > 0) {
      const left = { ...world.left, unknown: world.left.unknown - 1 };
      const state = withRegion({ ...world, left }, name, givenUp(this.setting, region));
      yield { action: `${name} gives its update up`, state };
    }
  }

  #haunt(world: World, name: Name): World {
    const { world: landed } = this.#land(world, name, world.regions[name]!.ghost!);
    return withRegion(landed, name, { ...landed.regions[name]!, ghost: null });
  }

  /** What a region may say in its next update. */
  choices(world: World, name: Name): [string, Choice][] {
    const { writer, step } = world.regions[name]!;
    const choices: [string, Choice][] = [['', {}]];
    if (writer === null) {
      if (step !== null && world.register.phase === 'Ungraceful')
        choices.push([', having settled', { isLate: true }]);
      return choices;
    }
    if (isOn(this.setting, 'unable')) {
      choices.push([', unable to commit', { cannotCommit: true }]);
      choices.push([', reaching nobody', { reaches: '' }]);
    }
    if (isOn(this.setting, 'change')) choices.push(...this.#changes(world, name, writer));
    const wish = world.register.configuration.wanted?.consistency as ModelLevel | undefined;
    if (wish !== undefined && isReadyFor(this.setting, world.regions[name]!, name, wish))
      choices.push([`, ready for ${wish}`, { ready: wish }]);
    if (step !== null && world.register.phase === 'Graceful')
      choices.push([' and gives the move up', { isLate: true }]);
    if (writer.isQuiesced) {
      // Rule 18: pending changes, and rule 12's wait, are finished before the final report.
      const isEqual = writer.commit === writer.known && writer.maybe === '';
      const hasWaited = !writer.isMute || !keeps(this.setting, '18-wait');
      if (hasWaited && (isEqual || !keeps(this.setting, '18-equal')))
        choices.push([' with its final progress', { isFinal: true }]);
    }
    return choices;
  }

  #changes(world: World, name: Name, writer: WriterPart): [string, Choice][] {
    const { gclsn } = world.regions[name]!;
    const choices: [string, Choice][] = [];
    for (const other of this.setting.regions) {
      // Rule 16: in the commit set, and durable up to what is committed and what was taken over.
      const isIn = has(writer.commit, other) || !keeps(this.setting, '16-commit');
      const isDurable = (writer.acks[other] ?? 0) >= Math.max(gclsn, writer.taken);
      if (!has(writer.known, other)) {
        if (isIn && (isDurable || !keeps(this.setting, '16-durable')))
          choices.push([` and adds ${other}`, { add: other }]);
      } else if (other !== name && (!writer.isQuiesced || !keeps(this.setting, '18-remove'))) {
        choices.push([` and removes ${other}`, { remove: other }]);
      }
    }
    return choices;
  }

  // Writes, replication, the commit set.

  *#writes(world: World, name: Name): Generator<Step> {
    const region = world.regions[name]!;
    const writer = region.writer!;
    if (mayWrite(this.setting, region, name))
      yield { action: `${name} writes`, state: wrote(this.setting, world, name) };
    if (!keeps(this.setting, '3-read') && world.register.writer === name) {
      const lease = fullLease(this.setting);
      yield { action: `${name} reads the register`, state: withRegion(world, name, { ...region, lease }) };
    }
    if (writer.isQuiesced && !keeps(this.setting, '19-resume')) {
      const state = withRegion(world, name, { ...region, writer: { ...writer, isQuiesced: false } });
      yield { action: `${name} resumes`, state };
    }
    for (const other of this.setting.regions) {
      if (other === name) continue;
      if (mayReplicate(this.setting, region, world.regions[other]!, other))
        yield {
          action: `${name} replicates to ${other}`,
          state: replicated(this.setting, world, name, other),
        };
      yield* this.#commitSet(world, name, other);
    }
    yield* this.#acknowledgements(world, name);
  }

  *#commitSet(world: World, name: Name, other: Name): Generator<Step> {
    const region = world.regions[name]!;
    const writer = region.writer!;
    const withCommit = (commit: string): World =>
      withRegion(world, name, { ...region, writer: { ...writer, commit } });
    if (isOn(this.setting, 'change') && !has(writer.commit, other) && !writer.isQuiesced)
      yield { action: `${name} commits with ${other}`, state: withCommit(including(writer.commit, other)) };
    if (mayLeave(this.setting, region, name, other)) {
      const state = committed(this.setting, withCommit(without(writer.commit, other)), name);
      yield { action: `${name} commits without ${other}`, state };
    }
  }

  *#acknowledgements(world: World, name: Name): Generator<Step> {
    for (const other of this.setting.regions) {
      const { ack, ...region } = world.regions[other]!;
      if (ack === null || ack.epoch !== world.regions[name]!.epoch) continue;
      const next = withRegion(world, other, { ...region, ack: null });
      const state = acknowledged(this.setting, next, { from: other, to: name, lsn: ack.lsn });
      yield { action: `${other}'s acknowledgement reaches ${name}`, state };
    }
  }

  // Strong reads.

  *#reads(world: World, name: Name): Generator<Step> {
    if (!isOn(this.setting, 'reads') || this.setting.consistency === 'Session') return;
    const region = world.regions[name]!;
    for (const other of this.setting.regions) {
      if (other !== name && mayGrant(this.setting, region, world.regions[other]!, other))
        yield { action: `${name} grants ${other} reads`, state: granted(this.setting, world, name, other) };
    }
    const value = guardedRead(this.setting, region);
    if (value === undefined) return;
    const state = readAt(this.setting, world, value);
    if (state.read !== world.read || state.wrong !== '') yield { action: `${name} is read: ${value}`, state };
  }

  // Processes and operators.

  *#processes(world: World, name: Name): Generator<Step> {
    if (!has(this.setting.restarters, name) || world.left.restarts === 0) return;
    const region = world.regions[name]!;
    const left = { ...world.left, restarts: world.left.restarts - 1 };
    yield {
      action: `${name} restarts`,
      state: withRegion({ ...world, left }, name, restarted(this.setting, region)),
    };
    if (isOn(this.setting, 'stop') && !region.isFresh) yield* this.#stops({ ...world, left }, name);
  }

  /** Rule 22: it drops its rights first. A report that takes the writes from itself can be followed by one under the next GCN. */
  *#stops(world: World, name: Name): Generator<Step> {
    const region = world.regions[name]!;
    const quiet: Region = { ...region, lease: 0, grant: 0, pending: null };
    const draft = draftOf(this.setting, quiet, { isStopping: true });
    const { world: landed, answer } = this.#land(withRegion(world, name, quiet), name, draft);
    if (answer === null || answer.verdict !== 'accepted') return;
    const stopped = (next: World, epoch: number): World =>
      withRegion(next, name, { ...next.regions[name]!, epoch, writer: null, isStopped: true });
    yield { action: `${name} stops`, state: stopped(landed, region.epoch) };
    const { gcn } = landed.register;
    if (gcn === region.epoch) return;
    const again = draftOf(this.setting, { ...stopped(landed, gcn).regions[name]! }, { isStopping: true });
    const { world: twice } = this.#land(stopped(landed, gcn), name, again);
    yield { action: `${name} stops and fences itself`, state: twice };
  }

  *#returnOf(world: World, name: Name): Generator<Step> {
    yield { action: `${name} starts again`, state: this.started(world, name) };
  }

  *#intents(world: World): Generator<Step> {
    const { left, register } = world;
    if (isOn(this.setting, 'graceful') && left.switchovers > 0 && register.open.length === 0) {
      for (const target of this.setting.regions) {
        if (target === register.writer) continue;
        const next = this.#register.post(world, { kind: 'switchover', target });
        const spent = { ...left, switchovers: left.switchovers - 1 };
        if (next !== undefined) yield { action: `switch over to ${target}`, state: { ...next, left: spent } };
      }
    }
    const { timings } = register.configuration;
    const [change, leaseMs] = isOn(this.setting, 'longer') ? ['lengthen', 2 * TICK_MS] : ['shorten', TICK_MS];
    const mayChange = isOn(this.setting, 'longer') || isOn(this.setting, 'shorter');
    if (mayChange && timings.leaseMs !== leaseMs) {
      const changed = { ...timings, leaseMs, intervalMs: TICK_MS / 2 };
      const next = this.#register.post(world, { kind: 'timings', timings: changed });
      if (next !== undefined) yield { action: `${change} the lease`, state: next };
    }
    if (isOn(this.setting, 'levels')) {
      const { consistency, wanted } = register.configuration;
      const level = (wanted?.consistency ?? consistency) === 'Strong' ? 'Session' : 'Strong';
      const next = this.#register.post(world, { kind: 'consistency', consistency: level });
      if (next !== undefined) yield { action: `want ${level}`, state: next };
    }
    if (isOn(this.setting, 'forced') && left.forced > 0) {
      const next = this.#register.post(world, { kind: 'failover' });
      const spent = { ...left, forced: left.forced - 1 };
      if (next !== undefined) yield { action: 'force a failover', state: { ...next, left: spent } };
    }
  }

  /** A beat hint says (GCN, writer, beat) and nothing else; a region that knows another GCN needs more than that. */
  *#hints(world: World): Generator<Step> {
    if (!isOn(this.setting, 'hints') || world.register.writer === null) return;
    for (const name of this.setting.regions) {
      const region = world.regions[name]!;
      const isDeaf = region.isStopped || region.isFresh || region.epoch !== world.register.gcn;
      if (isDeaf || region.watch !== null || !has(this.setting.watchers, name)) continue;
      yield { action: `${name} gets a hint`, state: withRegion(world, name, { ...region, watch: 0 }) };
    }
  }

  // Time.

  tick(world: World): World {
    let isChanged = false;
    const regions = Object.fromEntries(
      Object.entries(world.regions).map(([name, region]) => {
        const next = ticked(this.setting, region);
        isChanged ||= next !== region;
        return [name, next];
      }),
    );
    return isChanged ? { ...world, regions } : world;
  }

  /** What the history variables say of a change of the write region. */
  #judge(before: FailoverState, world: World, by: Name): World {
    const { writer, gcn, raise } = world.register;
    if (writer === null || (writer === before.writer && gcn === before.gcn)) return world;
    const { log } = world.regions[writer]!;
    const next = closedLosses(this.setting, world, log);
    if (gcn > before.gcn && raise.cause === 'switch') {
      const old = world.regions[before.writer!]!.log;
      return log.startsWith(old) ? next : { ...next, wrong: 'graceful' };
    }
    const { consistency } = before.configuration;
    const isWeak = consistency !== 'Strong' && consistency !== 'BoundedStaleness';
    const wasIn = (name: string): boolean => isWeak || before.leaseSet.includes(name);
    if (!wasIn(writer)) return { ...next, wrong: 'elected' };
    const kept = (name: string): number => common(world.told, world.regions[name]!.log);
    // Rule 22: what a region has that is stopped on purpose returns when that does, as from any region that is away.
    const isStopped = (name: string): boolean => world.register.regions[name]!.stop !== undefined;
    // Who forces a failover and names no target wants the writes anywhere but where they were.
    const isLeft = (name: string): boolean => raise.cause === 'forced' && name === raise.writer;
    const isNeedless = this.setting.regions.some(
      (name) =>
        (name === by || before.regions[name]!.report !== undefined) &&
        wasIn(name) &&
        !isStopped(name) &&
        !isLeft(name) &&
        kept(name) > kept(writer),
    );
    if (isNeedless) return { ...next, wrong: 'needless' };
    return world.isWeakened ? { ...next, told: next.told.slice(0, kept(writer)), read: '' } : next;
  }
}

/** An update has changed the level in force: only an update of the write region does. */
function withLevel(before: FailoverState, world: World): World {
  const { consistency } = world.register.configuration;
  if (consistency === before.configuration.consistency) return world;
  return { ...world, isWeakened: consistency !== 'Strong' };
}
