/**
 * The quick way from a register's packed form (`stored.ts`) to a state. The schema (`schema.ts`) says what a state is, and of a
 * wrong one which field is wrong; asking it is much of a node's work when thousands of states are read each second. Nearly all
 * of them are as usual, and this unpacks and checks such a one in a single pass. Whatever it does not recognise, a field of a
 * newer version or a wrong one, is left to the schema: it may be slow in vain, never wrong.
 *
 * It always makes the same objects with the same fields in the same order, and takes over from the state that was known before
 * what has not changed: at every beat of every region these objects live just long enough to be moved about by the garbage
 * collector, which is as much work as reading them.
 */
import { CONSISTENCY_LEVELS, type Configuration, type Consistency, type Timings } from './configuration.ts';
import type { PhaseStatistics } from '../scheduling/statistics.ts';
import type { HistoryEntry } from './history.ts';
import type { ClosedIntent, OpenIntent } from './intent-list.ts';
import type { StoredState } from './stored.ts';
import {
  type Cause,
  CAUSES,
  type Damping,
  type DepartedRegion,
  type FailoverState,
  GRACEFUL_REASONS,
  type GracefulReason,
  MACHINE_VERSION,
  type Phase,
  PHASES,
  type Progress,
  type Raise,
  type RegionReportState,
  type RegionState,
  SCHEMA,
} from './state.ts';

export const MOST_NAMES = 64;
export const LONGEST_NAME = 64;

type Packed = Readonly<Record<string, unknown>>;
type Names = readonly unknown[];
type Mutable<T> = { -readonly [K in keyof T]: T[K] };

const UNUSUAL = new Error('not as usual');
const LEVELS: ReadonlySet<unknown> = new Set(CONSISTENCY_LEVELS);
const CAUSE_NAMES: ReadonlySet<unknown> = new Set(CAUSES);
const PHASE_NAMES: ReadonlySet<unknown> = new Set(PHASES);
const REASONS: ReadonlySet<unknown> = new Set(GRACEFUL_REASONS);
const ENDS: ReadonlySet<unknown> = new Set(['honoured', 'cancelled']);
const NAME_SIGN = 35; // '#'
const ITSELF_SIGN = 61; // '='
const ZERO = 48; // '0'

/** `before`: what was known of the same register; what is still so is shared with it. Undefined: ask the schema. */
export function readUsual({ names, state }: StoredState, before?: FailoverState): FailoverState | undefined {
  try {
    return readState(fieldsOf(state), names, before);
  } catch (error) {
    if (error === UNUSUAL) return undefined;
    throw error;
  }
}

function readState(packed: Packed, names: Names, before: FailoverState | undefined): FailoverState {
  const { a: schema, b: minReader, c: partitionSet, d: gcn, e: writer, f: phase, g: step } = packed;
  const { l: configuration, m: leaseMs, n: leaseSet, o: regions, q: raise, t: damping } = packed;
  const { u: open, v: recent, w: statistics, x: history } = packed;
  const {
    h: target,
    i: why,
    j: quiesce,
    k: final,
    p: removed,
    departed,
    r: pin,
    s: paused,
    sureFrom,
  } = packed;
  if (schema !== SCHEMA || positive(minReader) > MACHINE_VERSION) throw UNUSUAL;
  const read: Mutable<FailoverState> = {
    schema,
    minReader: minReader as number,
    partitionSet: name(partitionSet, names),
    gcn: positive(gcn),
    writer: writer === null ? null : name(writer, names),
    phase: oneOf(phase, PHASE_NAMES, names) as Phase,
    step: positive(step),
    configuration: unless(readConfiguration(fieldsOf(configuration), names), before?.configuration),
    leaseMs: positive(leaseMs),
    leaseSet: unless(nameList(leaseSet, names), before?.leaseSet),
    regions: record(regions, names, (one, region) => readRegion(one, names, before?.regions[region])),
    raise: unless(readRaise(fieldsOf(raise), names), before?.raise),
    damping: unless(readDamping(fieldsOf(damping)), before?.damping),
    open: unless(list(open, names, readOpenIntent), before?.open),
    recent: unless(list(recent, names, readClosedIntent), before?.recent),
    statistics: record(statistics, names, readStatistics),
    history: unless(list(history, names, readHistoryEntry), before?.history),
  };
  if (target !== undefined) read.target = name(target, names);
  if (why !== undefined) read.why = oneOf(why, REASONS, names) as GracefulReason;
  if (quiesce !== undefined) read.quiesce = flag(quiesce);
  if (final !== undefined) read.final = readProgress(fieldsOf(final));
  if (removed !== undefined) read.removed = nameList(removed, names);
  if (departed !== undefined) read.departed = unless(list(departed, names, readDeparted), before?.departed);
  if (sureFrom !== undefined) read.sureFrom = positive(sureFrom);
  if (pin !== undefined) read.pin = name(pin, names);
  if (paused !== undefined) read.paused = flag(paused);
  expectFields(packed, 17 + present([target, why, quiesce, final, removed, departed, pin, paused, sureFrom]));
  return read;
}

function readConfiguration(packed: Packed, names: Names): Configuration {
  const {
    aa: version,
    ab: priorities,
    ac: consistency,
    ag: minDurability,
    ai: timings,
    al: failback,
  } = packed;
  const { ad: staleness, ap: maxLossWrites } = packed;
  const regions = nameList(priorities, names);
  if (regions.length === 0) throw UNUSUAL;
  const read: Mutable<Configuration> = {
    version: count(version),
    priorities: regions,
    consistency: oneOf(consistency, LEVELS, names) as Consistency,
    minDurability: positive(minDurability),
    timings: readTimings(fieldsOf(timings)),
    failback: failbackOf(text(failback, names)),
  };
  if (staleness !== undefined) read.staleness = readStaleness(fieldsOf(staleness));
  if (maxLossWrites !== undefined) read.maxLossWrites = count(maxLossWrites);
  expectFields(packed, 6 + present([staleness, maxLossWrites]));
  return read;
}

/** With windows it is unusual. */
function failbackOf(value: string): 'automatic' | 'off' {
  if (value === 'automatic' || value === 'off') return value;
  throw UNUSUAL;
}

function readTimings(packed: Packed): Timings {
  const { aj: intervalMs, m: leaseMs, ak: settleMs } = packed;
  expectFields(packed, 3);
  return { intervalMs: positive(intervalMs), leaseMs: positive(leaseMs), settleMs: count(settleMs) };
}

function readStaleness(packed: Packed): { writes: number; seconds: number } {
  const { ae: writes, af: seconds } = packed;
  expectFields(packed, 2);
  return { writes: positive(writes), seconds: positive(seconds) };
}

function readRegion(packed: Packed, names: Names, before: RegionState | undefined): RegionState {
  const { as: incarnation, aa: version, at: beat, au: seen, av: missed, aw: live } = packed;
  const { az: report, had, ay: good, ax: deaths, ar: building, be: stop, bf: leaving } = packed;
  const read: Mutable<RegionState> = {
    incarnation: count(incarnation),
    version: count(version),
    beat: count(beat),
    seen: count(seen),
    missed: count(missed),
    live: count(live),
  };
  if (report !== undefined) read.report = readReport(fieldsOf(report), names, before?.report);
  if (had !== undefined) read.had = readProgress(fieldsOf(had));
  if (good !== undefined) read.good = count(good);
  if (deaths !== undefined) read.deaths = count(deaths);
  if (building !== undefined) read.building = flag(building);
  if (stop !== undefined) read.stop = count(stop);
  if (leaving !== undefined) read.leaving = flag(leaving);
  expectFields(packed, 6 + present([report, had, good, deaths, building, stop, leaving]));
  return read;
}

function readReport(packed: Packed, names: Names, before: RegionReportState | undefined): RegionReportState {
  const { ba: progress, bb: gclsn, bc: reaches, bd: unable, aq: signals } = packed;
  const read: Mutable<RegionReportState> = {
    progress: unless(readProgress(fieldsOf(progress)), before?.progress),
    gclsn: count(gclsn),
    reaches: unless(nameList(reaches, names), before?.reaches),
  };
  if (unable !== undefined) read.unable = flag(unable);
  if (signals !== undefined) read.signals = nameList(signals, names);
  expectFields(packed, 3 + present([unable, signals]));
  return read;
}

function readProgress(packed: Packed): Progress {
  const { y: epoch, z: lsn, primary } = packed;
  expectFields(packed, primary === undefined ? 2 : 3);
  if (primary === undefined) return { epoch: count(epoch), lsn: count(lsn) };
  return { epoch: count(epoch), primary: count(primary), lsn: count(lsn) };
}

function readDeparted(packed: Packed, names: Names): DepartedRegion {
  const { bv: region, as: incarnation, at: beat } = packed;
  expectFields(packed, 3);
  return { region: name(region, names), incarnation: count(incarnation), beat: count(beat) };
}

function readRaise(packed: Packed, names: Names): Raise {
  const { bg: cause, d: gcn, e: writer, at: beat, z: lsn, h: target, bh: acceptLoss } = packed;
  const read: Mutable<Raise> = {
    cause: oneOf(cause, CAUSE_NAMES, names) as Cause,
    gcn: count(gcn),
    writer: writer === null ? null : name(writer, names),
    beat: count(beat),
    lsn: count(lsn),
  };
  if (target !== undefined) read.target = name(target, names);
  if (acceptLoss !== undefined) read.acceptLoss = flag(acceptLoss);
  expectFields(packed, 5 + present([target, acceptLoss]));
  return read;
}

function readDamping(packed: Packed): Damping {
  const { bi: failures, bj: wait, bk: vain } = packed;
  expectFields(packed, 3);
  return { failures: count(failures), wait: count(wait), vain: count(vain) };
}

function readOpenIntent(packed: Packed, names: Names): OpenIntent {
  const { bl: id, bm: kind, bn: who, h: target, d: gcn } = packed;
  const read: Mutable<OpenIntent> = {
    id: name(id, names),
    kind: name(kind, names) as OpenIntent['kind'],
    who: text(who, names),
  };
  if (target !== undefined) read.target = name(target, names);
  if (gcn !== undefined) read.gcn = count(gcn);
  expectFields(packed, 3 + present([target, gcn]));
  return read;
}

function readClosedIntent(packed: Packed, names: Names): ClosedIntent {
  const { bl: id, bm: kind, bo: end } = packed;
  expectFields(packed, 3);
  return {
    id: name(id, names),
    kind: name(kind, names) as ClosedIntent['kind'],
    end: oneOf(end, ENDS, names) as ClosedIntent['end'],
  };
}

function readStatistics(packed: Packed): PhaseStatistics {
  const { bp, bq, br, bs } = packed;
  expectFields(packed, 4);
  return { count: amount(bp), average: amount(bq), mean: amount(br), squares: amount(bs) };
}

function readHistoryEntry(packed: Packed, names: Names): HistoryEntry {
  const { bt: at, bu: what, bn: who, i: why, an: from, ao: to, bv: region } = packed;
  expectFields(packed, 7);
  return {
    at: text(at, names),
    what: text(what, names) as HistoryEntry['what'],
    who: text(who, names),
    why: text(why, names) as HistoryEntry['why'],
    from: count(from),
    to: count(to),
    region: region === null ? null : name(region, names),
  };
}

function fieldsOf(value: unknown): Packed {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw UNUSUAL;
  return value as Packed;
}

function expectFields(packed: Packed, expected: number): void {
  let fields = 0;
  for (const _ in packed) fields += 1;
  if (fields !== expected) throw UNUSUAL;
}

function present(values: readonly unknown[]): number {
  let found = 0;
  for (const value of values) if (value !== undefined) found += 1;
  return found;
}

/** What stands for itself though it looks packed is unusual. */
function text(value: unknown, names: Names): string {
  if (typeof value !== 'string') throw UNUSUAL;
  const sign = value.charCodeAt(0);
  if (sign === ITSELF_SIGN) throw UNUSUAL;
  return sign === NAME_SIGN ? named(value, names) : value;
}

function named(value: string, names: Names): string {
  const found = value.length === 2 ? names[value.charCodeAt(1) - ZERO] : undefined;
  if (typeof found !== 'string') throw UNUSUAL;
  return found;
}

function name(value: unknown, names: Names): string {
  const found = text(value, names);
  if (found.length === 0 || found.length > LONGEST_NAME) throw UNUSUAL;
  return found;
}

function nameList(value: unknown, names: Names): readonly string[] {
  if (!Array.isArray(value) || value.length > MOST_NAMES) throw UNUSUAL;
  const found: string[] = [];
  // `map` would pass over holes.
  for (const item of value) found.push(name(item, names));
  return found;
}

function list<T>(value: unknown, names: Names, read: (packed: Packed, names: Names) => T): readonly T[] {
  if (!Array.isArray(value)) throw UNUSUAL;
  const found: T[] = [];
  for (const item of value) found.push(read(fieldsOf(item), names));
  return found;
}

/** By the names of regions. */
function record<T>(
  value: unknown,
  names: Names,
  read: (packed: Packed, region: string) => T,
): Readonly<Record<string, T>> {
  const packed = fieldsOf(value);
  const found: Record<string, T> = {};
  for (const word in packed) {
    if (word.charCodeAt(0) !== NAME_SIGN) throw UNUSUAL;
    const region = name(word, names);
    // An assignment to this name would not make a member.
    if (region === '__proto__') throw UNUSUAL;
    found[region] = read(fieldsOf(packed[word]), region);
  }
  return found;
}

function oneOf(value: unknown, known: ReadonlySet<unknown>, names: Names): string {
  const found = text(value, names);
  if (!known.has(found)) throw UNUSUAL;
  return found;
}

function count(value: unknown): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw UNUSUAL;
  return value as number;
}

function positive(value: unknown): number {
  if (!Number.isSafeInteger(value) || (value as number) < 1) throw UNUSUAL;
  return value as number;
}

function amount(value: unknown): number {
  if (!Number.isFinite(value) || (value as number) < 0) throw UNUSUAL;
  return value as number;
}

function flag(value: unknown): true {
  if (value !== true) throw UNUSUAL;
  return value;
}

/** The one that was known, when it says the same. */
function unless<T>(read: T, before: T | undefined): T {
  return before !== undefined && isSame(read, before) ? before : read;
}

function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || one === null || typeof other !== 'object' || other === null) return false;
  if (Array.isArray(one) && Array.isArray(other)) {
    if (one.length !== other.length) return false;
    for (let at = 0; at < one.length; at += 1) if (!isSame(one[at], other[at])) return false;
    return true;
  }
  let fields = 0;
  for (const field in one) {
    if (!isSame((one as Packed)[field], (other as Packed)[field])) return false;
    fields += 1;
  }
  for (const _ in other) fields -= 1;
  return fields === 0;
}
