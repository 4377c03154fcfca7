/**
 * The abstraction function of the conformance check: one update of the real machine, (state before, report, state after), as
 * a question to `spec/failover.tla`: is there a step, or a short sequence of steps, from this state of the spec to one whose
 * register looks like that?
 *
 * The register. Regions are numbers by priority. A graceful failover that is only announced is `Steady` there; it is
 * `Graceful` once the writer is told to quiesce. Causes are three: silence (and creation), the switch, and all that proves
 * no lease to be over. Beats have no numbers in the spec, but a count of ticks since the last one: 1 before the step, or a
 * whole wait if the report names exactly the (GCN, writer, beat) that the register holds and has waited long enough; 0 after
 * a step that moved any of the three. So it is compared as well whether an update counts as a beat of the writer.
 *
 * The regions. The reporter is as its report says: fenced up to the report's GCN, its log as long as its progress, its commit
 * set. Of the others the spec is told what the register holds: an epoch and a log for whoever has reported. Nothing is
 * explained by another region's beat, report or stop mark: its updates are taken to be under way, and what it alone could have
 * reported is not followed. An election and the two halves of a move are nobody's in particular. What may happen (`Features`)
 * is what the report speaks of.
 *
 * Numbers are moved to where the spec's bounds are: GCNs, epochs and LSNs become their places in the order of those that
 * occur in the step.
 *
 * Forgotten:
 *
 * - what regions do between their updates (the model in `test/failover-model` has that, and the spec its own): leases,
 *   grants and the rest of rules 3, 6, 12, 13, 15, 17 and 21, which live in agents and engines; whether an added region is
 *   durable (rule 16); how long a region has really waited, which is its own word; incarnations (the rest of rule 2);
 * - settling times, live beats, damping, pins, statistics, history and intents: they decide when a step is made, and not
 *   whether it may be;
 * - rule 8, half of rule 10, and the reach in rule 11: the spec lets any writer beat, and asks who reaches whom only after
 *   healing. `conformance-preference.ts` stands in for what of rule 11 the spec leaves out;
 * - the lease set at levels that do not need it, where it follows the reports;
 * - that the writer itself has reported, and that one has which stopped on purpose: the real election passes that over;
 * - changes of the configuration, new regions and upgrades, which the spec does not have: no run here has them.
 */
import {
  certainlyOver,
  type FailoverState,
  needsLeaseSet,
  type Progress,
  type RegionReport,
  type Report,
} from 'baton/failover';
import { preferredOf } from './conformance-preference.ts';

/** An update of the register, as it was asked for. */
export interface Recorded {
  readonly before: FailoverState;
  readonly report: Report;
}

/** What is compared: the register, as the spec has it. */
export interface Observation {
  readonly gcn: number;
  readonly writer: number;
  readonly phase: string;
  readonly target: number;
  readonly lset: readonly number[];
  readonly reported: readonly number[];
  /** For each region (epoch, LSN), while somebody is to be elected. */
  readonly progress: readonly (readonly number[])[];
  readonly final: readonly number[];
  readonly cause: string;
  readonly stops: readonly number[];
  /** Ticks since the writer's last beat. */
  readonly silence: number;
}

export interface Question {
  readonly constants: string;
  /** A state of the spec, as the checker reads it. */
  readonly state: unknown;
  readonly from: Observation;
  readonly to: Observation;
  /** The region that reports; 0: an operator. */
  readonly by: number;
  readonly isWeak: boolean;
}

export const WAIT_TICKS = 2;

const CAUSES: Readonly<Record<FailoverState['raise']['cause'], string>> = {
  creation: 'silence',
  silence: 'silence',
  switch: 'graceful',
  forced: 'forced',
  stop: 'forced',
  signal: 'forced',
  unable: 'forced',
};

/**
 * `preferring`: with rule 11's first preferences, which the spec leaves out, put into progress and priority. `unrenewed`: of an
 * update by which the writer does not renew (rule 8) and still ends a move or makes its final report. The spec's writer
 * renews with every update, so this is its state after such an update and the ticks that had passed before.
 */
export type Reading = 'plain' | 'preferring' | 'unrenewed';

export function questionOf({ before, report }: Recorded, after: FailoverState, reading: Reading): Question {
  const view = new View(before, report, after, reading);
  const from = view.observe(before, view.silence);
  const isBeaten = beatOf(after) !== beatOf(before);
  const to = view.observe(after, isBeaten || reading === 'unrenewed' ? 0 : view.silence);
  return { constants: view.constants(), state: view.state(from), from, to, by: view.by, isWeak: view.isWeak };
}

function beatOf({ gcn, writer, regions }: FailoverState): string {
  return `${gcn} ${writer} ${writer === null ? 0 : regions[writer]!.beat}`;
}

/** Whose progress the machine asks for: everybody's in an election, the two that move the writes. */
function tellsProgress({ phase, quiesce, target, writer }: FailoverState, name: string): boolean {
  if (phase === 'Ungraceful') return true;
  return quiesce === true && (name === target || name === writer);
}

const tuple = (items: readonly unknown[]): unknown => ({ __tuple: items });

class View {
  readonly by: number;
  readonly isWeak: boolean;
  /** Of the beat in the register, in ticks. */
  readonly silence: number;
  readonly #before: FailoverState;
  readonly #report: RegionReport | undefined;
  readonly #isForced: boolean;
  readonly #names: readonly string[];
  readonly #epochs: readonly number[];
  readonly #lsns: readonly number[];
  /** Those whom rule 11 looks at first, or everybody. */
  readonly #best: readonly string[];

  constructor(before: FailoverState, report: Report, after: FailoverState, reading: Reading) {
    this.#before = before;
    this.#report = report.type === 'region' ? report : undefined;
    this.#isForced = report.type === 'intent' && report.intent.kind === 'failover';
    this.#names = before.configuration.priorities;
    this.by = this.#report === undefined ? 0 : this.#numberOf(this.#report.region);
    this.isWeak = !needsLeaseSet(before.configuration.consistency);
    this.silence = before.writer === null ? 0 : this.#isSilent() ? WAIT_TICKS : 1;
    this.#best = reading === 'preferring' ? preferredOf(before, this.#report) : this.#names;
    const seen = [before, after].flatMap((state) => [
      ...(state.final === undefined ? [] : [state.final]),
      ...this.#names.flatMap((name) => this.#toldBy(state, name) ?? []),
      ...(state.phase === 'Ungraceful'
        ? this.#names.flatMap((name) => state.regions[name]!.report?.progress ?? [])
        : []),
    ]);
    this.#epochs = inOrder([before.gcn, ...seen.map(({ epoch }) => epoch)]);
    this.#lsns = inOrder(seen.map(({ lsn }) => lsn));
  }

  observe(state: FailoverState, silence: number): Observation {
    const { regions, phase, quiesce, final, target, writer } = state;
    const isOver = phase === 'Ungraceful';
    const isMoving = phase === 'Graceful' && quiesce === true;
    const stopped = this.#names.filter((name) => regions[name]!.stop !== undefined);
    const reported = this.#names.filter(
      (name) => regions[name]!.report !== undefined && !stopped.includes(name) && name !== writer,
    );
    return {
      gcn: this.#gcn(state.gcn),
      writer: writer === null ? 0 : this.#numberOf(writer),
      phase: isOver ? 'Ungraceful' : isMoving ? 'Graceful' : 'Steady',
      target: isMoving && target !== undefined ? this.#numberOf(target) : 0,
      lset: this.#numbersOf(state.leaseSet),
      reported: this.#numbersOf(reported),
      progress: this.#names.map((name) =>
        isOver && reported.includes(name) ? this.#progress(regions[name]!.report!.progress, name) : [0, 0],
      ),
      final: final === undefined ? [] : this.#place(final),
      cause: CAUSES[state.raise.cause],
      stops: this.#numbersOf(stopped),
      silence,
    };
  }

  /** Of the whole spec: the register as observed, and what its regions keep. */
  state({ silence, progress, final, ...register }: Observation): unknown {
    const none = { stage: 'none', kind: '', arg: 0, gcn: 0, age: 0, fresh: true, lset: [], phase: '' };
    const isBusy = (name: string): boolean => name === this.#before.writer && name !== this.#report?.region;
    const empty = tuple([]);
    return {
      st: {
        ...register,
        progress: tuple(progress.map(tuple)),
        final: tuple(final),
        preferred: this.#numberOf(this.#best[0] ?? this.#names[0]!),
      },
      reg: tuple(this.#names.map((name) => this.#regionOf(name, register))),
      flight: tuple(this.#names.map((name) => (isBusy(name) ? { ...none, stage: 'sent' } : none))),
      clock: { silence, since: 0 },
      heal: { on: false, due: [], stable: 0 },
      hist: {
        acked: empty,
        read: tuple([empty, empty]),
        elected: 'in',
        graceful: 'kept',
        needless: false,
        lost: [],
        unknown: 0,
        restarts: 0,
        gracefuls: 0,
      },
    };
  }

  constants(): string {
    const { consistency, minDurability } = this.#before.configuration;
    const level = this.isWeak ? 'Session' : consistency === 'Strong' ? 'Strong' : 'Bounded';
    const regions = `{${this.#names.map((name) => this.#numberOf(name)).join(', ')}}`;
    return Object.entries({
      Regions: regions,
      Consistency: `"${level}"`,
      MinDurability: minDurability,
      Staleness: 1,
      Lease: WAIT_TICKS,
      Drift: 0,
      GrantLength: 1,
      InitialSet: regions,
      MaxGcn: 1000,
      MaxLog: 0,
      Features: `{${this.#features()
        .map((feature) => `"${feature}"`)
        .join(', ')}}`,
      Slow: '{}',
      MaxUnknown: 0,
      Restarters: this.by === 0 ? '{}' : `{${this.by}}`,
      MaxRestarts: 1,
      MaxGraceful: 1,
      Dead: '{}',
      CutLinks: '{}',
      CutRegister: '{}',
      OutageBound: 0,
      Without: '{}',
    })
      .map(([name, value]) => `  ${name} = ${value}`)
      .join('\n');
  }

  /** What may happen: what the report speaks of. */
  #features(): string[] {
    const report = this.#report;
    const { add = [], remove = [] } = report?.writer ?? {};
    const isUseless =
      report !== undefined &&
      report.region === this.#before.writer &&
      (!report.canCommit || report.build === 'Building' || report.signals !== undefined);
    return [
      'graceful',
      'other',
      'hello',
      ...(add.length + remove.length > 0 ? ['change'] : []),
      // Whatever takes the writes from somebody whose lease may still run is forced, for the spec.
      ...(this.#isForced || isUseless ? ['forced'] : []),
      ...(report?.stopping === true ? ['stop'] : []),
    ];
  }

  #regionOf(
    name: string,
    { gcn, lset }: { readonly gcn: number; readonly lset: readonly number[] },
  ): unknown {
    const said = this.#before.regions[name]!.report;
    const report = this.#report?.region === name ? this.#report : undefined;
    const asks = name === this.#before.writer ? report?.writer : undefined;
    const progress = this.#toldBy(this.#before, name);
    const [epoch = 0, length = 0] = progress === undefined ? [] : this.#progress(progress, name);
    const none = tuple(this.#names.map(() => 0));
    const isQuiesced = asks?.quiescedInStep === this.#before.step;
    // Asked for only by what changes the lease set, and by the final report.
    const isCommitSetAsked = isQuiesced || (asks?.add ?? []).length > 0;
    return {
      log: tuple(Array.from({ length }, () => epoch)),
      // Who has not reported under this GCN may have fenced itself or not: no step needs that it has.
      epoch: report !== undefined ? this.#gcn(report.gcn) : said === undefined ? gcn - 1 : gcn,
      mode: asks === undefined ? 'R' : isQuiesced ? 'Q' : 'W',
      lease: asks === undefined ? 0 : 1,
      cset: isCommitSetAsked ? this.#numbersOf(asks?.commitSet ?? []) : [],
      known: asks === undefined ? [] : lset,
      maybe: [],
      acks: none,
      gclsn: 0,
      taken: 0,
      grant: 0,
      given: none,
      hold: 0,
      heldBy: '',
      mute: false,
      boot: false,
    };
  }

  /** The progress of a region: in its report, or as the register holds it; none of the writer's but what it says now. */
  #toldBy(state: FailoverState, name: string): Progress | undefined {
    if (!tellsProgress(state, name)) return undefined;
    if (name === this.#report?.region) return this.#report.progress;
    return name === state.writer ? undefined : state.regions[name]!.report?.progress;
  }

  /** Rule 4, in the words of DESIGN: a whole lease since it learned of exactly this. */
  #isSilent(): boolean {
    const { gcn, writer, regions, leaseMs } = this.#before;
    const silence = this.#report?.silence;
    if (silence === undefined || writer === null || this.#report?.region === writer) return false;
    const isThat = silence.gcn === gcn && silence.writer === writer && silence.beat === regions[writer]!.beat;
    return isThat && silence.waitedMs >= certainlyOver(leaseMs);
  }

  #numberOf(name: string): number {
    const index = this.#names.indexOf(name);
    if (index < 0) throw new Error(`${name} has no priority`);
    return index + 1;
  }

  #numbersOf(names: readonly string[]): number[] {
    return names.map((name) => this.#numberOf(name)).sort((one, other) => one - other);
  }

  #gcn(gcn: number): number {
    const { gcn: now } = this.#before;
    return this.#placeOfEpoch(now) + (gcn - now);
  }

  /** From 2: a region may be an epoch behind. */
  #placeOfEpoch(epoch: number): number {
    return placeOf(epoch, this.#epochs) + 2;
  }

  /** A log without entries has no epoch. One whose epoch was reported with LSN 0 counts as having one entry. */
  #place({ epoch, lsn }: Progress): number[] {
    if (epoch === 0 && lsn === 0) return [0, 0];
    return [this.#placeOfEpoch(epoch), placeOf(lsn, this.#lsns) + 1];
  }

  #progress(progress: Progress, name: string): number[] {
    return this.#best.includes(name) ? this.#place(progress) : [0, 0];
  }
}

function inOrder(numbers: readonly number[]): number[] {
  return [...new Set(numbers)].sort((one, other) => one - other);
}

function placeOf(number: number, numbers: readonly number[]): number {
  const place = numbers.indexOf(number);
  if (place < 0) throw new Error(`${number} is none of ${numbers.join(', ')}`);
  return place;
}
