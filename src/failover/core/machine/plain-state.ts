/**
 * Whether something is a state for certain. The schema (`schema.ts`) says what a state is, and of a wrong one which field is
 * wrong, which is much of a node's work when thousands of states are read each second. Nearly all of them are right, and this
 * says so at little cost. Whatever it does not recognise goes to the schema: it may be slow in vain, never wrong.
 */
import { CONSISTENCY_LEVELS } from './configuration.ts';
import { CAUSES, GRACEFUL_REASONS, PHASES } from './state.ts';

type Fields = Readonly<Record<string, unknown>>;

const LEVELS: ReadonlySet<unknown> = new Set(CONSISTENCY_LEVELS);
const CAUSE_NAMES: ReadonlySet<unknown> = new Set(CAUSES);
const PHASE_NAMES: ReadonlySet<unknown> = new Set(PHASES);
const REASONS: ReadonlySet<unknown> = new Set([undefined, ...GRACEFUL_REASONS]);
export const MOST_NAMES = 64;
export const LONGEST_NAME = 64;

export function isCertainlyState(value: unknown): boolean {
  if (!isFields(value)) return false;
  const { schema, minReader, partitionSet, gcn, writer, phase, step, target, why, leaseMs } = value;
  return (
    schema === 1 &&
    isPositive(minReader) &&
    isName(partitionSet) &&
    isPositive(gcn) &&
    (writer === null || isName(writer)) &&
    PHASE_NAMES.has(phase) &&
    isPositive(step) &&
    (target === undefined || isName(target)) &&
    REASONS.has(why) &&
    isFlag(value['quiesce']) &&
    (value['final'] === undefined || isProgress(value['final'])) &&
    isConfiguration(value['configuration']) &&
    isPositive(leaseMs) &&
    areNames(value['leaseSet']) &&
    isRecordOf(value['regions'], isRegion) &&
    (value['removed'] === undefined || areNames(value['removed'])) &&
    isRaise(value['raise']) &&
    (value['pin'] === undefined || isName(value['pin'])) &&
    isFlag(value['paused']) &&
    isDamping(value['damping']) &&
    isListOf(value['open'], isOpenIntent) &&
    isListOf(value['recent'], isClosedIntent) &&
    isRecordOf(value['statistics'], isStatistics) &&
    isListOf(value['history'], isHistoryEntry)
  );
}

function isConfiguration(value: unknown): boolean {
  if (!isFields(value)) return false;
  const { version, priorities, consistency, minDurability, timings, failback, maxLossWrites } = value;
  return (
    isCount(version) &&
    areNames(priorities) &&
    priorities.length > 0 &&
    LEVELS.has(consistency) &&
    isPositive(minDurability) &&
    isTimings(timings) &&
    (failback === 'automatic' || failback === 'off') &&
    (maxLossWrites === undefined || isCount(maxLossWrites)) &&
    // Rare, and checked by the schema.
    value['staleness'] === undefined &&
    value['wanted'] === undefined &&
    value['signals'] === undefined
  );
}

function isTimings(value: unknown): boolean {
  return (
    isFields(value) &&
    isPositive(value['intervalMs']) &&
    isPositive(value['leaseMs']) &&
    isCount(value['settleMs'])
  );
}

function isRegion(value: unknown): boolean {
  if (!isFields(value)) return false;
  const { incarnation, version, beat, seen, missed, live, deaths, good, report, stop } = value;
  return (
    isFlag(value['building']) &&
    isFlag(value['leaving']) &&
    isCount(incarnation) &&
    isCount(version) &&
    isCount(beat) &&
    isCount(seen) &&
    isCount(missed) &&
    isCount(live) &&
    (deaths === undefined || isCount(deaths)) &&
    (good === undefined || isCount(good)) &&
    (stop === undefined || isCount(stop)) &&
    (report === undefined || isRegionReport(report))
  );
}

function isRegionReport(value: unknown): boolean {
  return (
    isFields(value) &&
    isProgress(value['progress']) &&
    isCount(value['gclsn']) &&
    areNames(value['reaches']) &&
    isFlag(value['unable']) &&
    (value['signals'] === undefined || areNames(value['signals']))
  );
}

function isRaise(value: unknown): boolean {
  if (!isFields(value)) return false;
  const { cause, gcn, writer, beat, lsn, target, acceptLoss } = value;
  return (
    CAUSE_NAMES.has(cause) &&
    isCount(gcn) &&
    (writer === null || isName(writer)) &&
    isCount(beat) &&
    isCount(lsn) &&
    (target === undefined || isName(target)) &&
    isFlag(acceptLoss)
  );
}

function isProgress(value: unknown): boolean {
  if (!isFields(value)) return false;
  const { epoch, primary, lsn } = value;
  return isCount(epoch) && isCount(lsn) && (primary === undefined || isCount(primary));
}

function isDamping(value: unknown): boolean {
  return isFields(value) && isCount(value['failures']) && isCount(value['wait']) && isCount(value['vain']);
}

function isOpenIntent(value: unknown): boolean {
  if (!isFields(value)) return false;
  const { id, kind, who, target, gcn } = value;
  return (
    isName(id) &&
    isName(kind) &&
    typeof who === 'string' &&
    (target === undefined || isName(target)) &&
    (gcn === undefined || isCount(gcn))
  );
}

function isClosedIntent(value: unknown): boolean {
  if (!isFields(value)) return false;
  const { id, kind, end } = value;
  return isName(id) && isName(kind) && (end === 'honoured' || end === 'cancelled');
}

function isStatistics(value: unknown): boolean {
  if (!isFields(value)) return false;
  const { count, average, mean, squares } = value;
  return isAmount(count) && isAmount(average) && isAmount(mean) && isAmount(squares);
}

function isHistoryEntry(value: unknown): boolean {
  if (!isFields(value)) return false;
  const { at, what, who, why, from, to, region } = value;
  return (
    typeof at === 'string' &&
    typeof what === 'string' &&
    typeof who === 'string' &&
    typeof why === 'string' &&
    isCount(from) &&
    isCount(to) &&
    (region === null || isName(region))
  );
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isPositive(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}

function isAmount(value: unknown): boolean {
  return Number.isFinite(value) && (value as number) >= 0;
}

function isFlag(value: unknown): boolean {
  return value === undefined || value === true;
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value.length > 0 && value.length <= LONGEST_NAME;
}

function areNames(value: unknown): value is readonly unknown[] {
  return isListOf(value, isName) && value.length <= MOST_NAMES;
}

function isListOf(value: unknown, isItem: (item: unknown) => boolean): value is readonly unknown[] {
  if (!Array.isArray(value)) return false;
  // `every` would pass over holes.
  for (const item of value) if (!isItem(item)) return false;
  return true;
}

function isRecordOf(value: unknown, isItem: (item: unknown) => boolean): boolean {
  if (!isFields(value)) return false;
  for (const word of Object.keys(value))
    if (!isName(word) || word === '__proto__' || !isItem(value[word])) return false;
  return true;
}
