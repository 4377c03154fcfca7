/**
 * The forms of states and reports as they come from outside: from the register, from another process, from an operator. A
 * wrong one is refused with the path of its field. Unknown fields pass and survive: they belong to a newer version.
 */
import * as z from 'zod/mini';
import { CONSISTENCY_LEVELS } from './configuration.ts';
import { type Refusal, refusal, type RefusalCode, tooNew } from './refusal.ts';
import type { Report } from './report.ts';
import { FORM, isStored, unpacked } from './stored.ts';
import { CAUSES, type FailoverState, GRACEFUL_REASONS, MACHINE_VERSION, PHASES } from './state.ts';
import { LONGEST_NAME, MOST_NAMES, readUsual } from './usual-state.ts';

const count = z.int().check(z.gte(0));
const positive = z.int().check(z.gte(1));
const ms = z.number().check(z.gte(0));
const name = z.string().check(z.minLength(1), z.maxLength(LONGEST_NAME));
const names = z.array(name).check(z.maxLength(MOST_NAMES));
/** An ISO timestamp: people read it, and failback windows look at its hours. */
const timestamp = z.string().check(z.regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d/), z.maxLength(32));
/** Sums of squares are made of these: they must stay finite. */
const phase2Ms = z.number().check(z.gte(0), z.lte(1e9));
const flag = z.optional(z.literal(true));
const progress = z.looseObject({ epoch: count, primary: z.optional(count), lsn: count });
const statistics = z.looseObject({ count: ms, average: ms, mean: ms, squares: ms });

const timings = z.looseObject({
  intervalMs: positive,
  leaseMs: positive,
  settleMs: count,
});
const time = z.string().check(z.regex(/^([01]\d|2[0-3]):[0-5]\d$/));
const failback = z.union([
  z.literal(['automatic', 'off']),
  z.looseObject({ windows: z.array(z.looseObject({ from: time, to: time })) }),
]);
const staleness = z.looseObject({ writes: positive, seconds: positive });
const signals = z.record(z.string(), z.literal(['ignore', 'graceful', 'failover']));
const consistency = z.literal(CONSISTENCY_LEVELS);

const configuration = z.looseObject({
  version: count,
  priorities: names.check(z.minLength(1)),
  consistency,
  staleness: z.optional(staleness),
  minDurability: positive,
  wanted: z.optional(
    z.looseObject({
      consistency: z.optional(consistency),
      staleness: z.optional(staleness),
      minDurability: z.optional(positive),
    }),
  ),
  timings,
  failback,
  maxLossWrites: z.optional(count),
  signals: z.optional(signals),
});

const region = z.looseObject({
  building: flag,
  incarnation: count,
  version: count,
  beat: count,
  seen: count,
  missed: count,
  live: count,
  deaths: z.optional(count),
  good: z.optional(count),
  report: z.optional(
    z.looseObject({
      progress,
      gclsn: count,
      reaches: names,
      unable: flag,
      signals: z.optional(names),
    }),
  ),
  had: z.optional(progress),
  stop: z.optional(count),
  leaving: flag,
});

/** Of a state; `parseState` asks it only about what is not as usual. */
export const state = z.looseObject({
  schema: z.literal(1),
  minReader: positive,
  partitionSet: name,
  gcn: positive,
  writer: z.nullable(name),
  phase: z.literal(PHASES),
  step: positive,
  target: z.optional(name),
  why: z.optional(z.literal(GRACEFUL_REASONS)),
  quiesce: flag,
  final: z.optional(progress),
  configuration,
  leaseMs: positive,
  leaseSet: names,
  regions: z.record(name, region),
  removed: z.optional(names),
  departed: z.optional(z.array(z.looseObject({ region: name, incarnation: count, beat: count }))),
  raise: z.looseObject({
    cause: z.literal(CAUSES),
    gcn: count,
    writer: z.nullable(name),
    beat: count,
    lsn: count,
    target: z.optional(name),
    acceptLoss: flag,
  }),
  sureFrom: z.optional(positive),
  pin: z.optional(name),
  paused: flag,
  damping: z.looseObject({ failures: count, wait: count, vain: count }),
  open: z.array(
    z.looseObject({
      id: name,
      kind: name,
      who: z.string(),
      target: z.optional(name),
      gcn: z.optional(count),
    }),
  ),
  recent: z.array(z.looseObject({ id: name, kind: name, end: z.literal(['honoured', 'cancelled']) })),
  statistics: z.record(name, statistics),
  history: z.array(
    z.looseObject({
      at: z.string(),
      what: z.string(),
      who: z.string(),
      why: z.string(),
      from: count,
      to: count,
      region: z.nullable(name),
    }),
  ),
});

const regionReport = z.looseObject({
  type: z.literal('region'),
  region: name,
  incarnation: positive,
  version: positive,
  gcn: positive,
  at: timestamp,
  scheduled: z.boolean(),
  build: z.literal(['Building', 'Built']),
  progress,
  gclsn: count,
  canCommit: z.boolean(),
  reaches: names,
  silence: z.optional(z.looseObject({ gcn: positive, writer: name, beat: count, waitedMs: ms })),
  wait: z.optional(z.looseObject({ step: positive, waitedMs: ms })),
  writer: z.optional(
    z.looseObject({
      commitSet: names,
      leaseMs: z.optional(ms),
      caughtUp: names,
      add: z.optional(names),
      remove: z.optional(names),
      hasWaited: flag,
      quiescedInStep: z.optional(positive),
      readyFor: z.optional(consistency),
    }),
  ),
  stopping: flag,
  busy: flag,
  signals: z.optional(names),
  phase2Ms: z.optional(phase2Ms),
});

const intentBody = z.discriminatedUnion('kind', [
  z.looseObject({ kind: z.literal('switchover'), target: name }),
  z.looseObject({ kind: z.literal('failover'), target: z.optional(name), acceptLoss: flag }),
  z.looseObject({ kind: z.literal('revoke'), target: name }),
  z.looseObject({ kind: z.literal('withdraw'), intent: name }),
  z.looseObject({ kind: z.literal(['pause', 'resume', 'unpin']) }),
  z.looseObject({ kind: z.literal('add region'), target: name, priority: z.optional(count) }),
  z.looseObject({ kind: z.literal('remove region'), target: name }),
  z.looseObject({ kind: z.literal('priorities'), priorities: names }),
  z.looseObject({ kind: z.literal('consistency'), consistency, staleness: z.optional(staleness) }),
  z.looseObject({ kind: z.literal('durability'), minDurability: positive }),
  z.looseObject({ kind: z.literal('timings'), timings }),
  z.looseObject({ kind: z.literal('failback'), failback }),
  z.looseObject({ kind: z.literal('maximum loss'), writes: z.nullable(count) }),
  z.looseObject({ kind: z.literal('signals'), signals }),
]);

const intentReport = z.looseObject({
  type: z.literal('intent'),
  id: name,
  who: name,
  at: timestamp,
  gcn: z.optional(positive),
  intent: intentBody,
});

const report = z.discriminatedUnion('type', [regionReport, intentReport]);

export type Parsed<T> = { readonly value: T } | { readonly refusal: Refusal };

/**
 * The state in a register's value, packed or plain, checked whole: that its parts fit each other too. `before` is what was known
 * of that register, if anything was: parts that have not changed are shared with it.
 */
export function parseState(stored: unknown, before?: FailoverState): Parsed<FailoverState> {
  const usual = isStored(stored) && stored.form === FORM ? readUsual(stored, before) : undefined;
  const parsed = usual === undefined ? parseUnusual(stored) : { value: usual };
  if ('refusal' in parsed) return parsed;
  const problem = misfit(parsed.value);
  return problem === undefined ? parsed : { refusal: refusal('STATE_MALFORMED', ...problem) };
}

function parseUnusual(stored: unknown): Parsed<FailoverState> {
  if (isStored(stored) && stored.form !== FORM) return { refusal: tooNew(stored.form, FORM, 'form') };
  const value = isStored(stored) ? unpacked(stored) : stored;
  const needed = neededVersion(value);
  if (needed > MACHINE_VERSION) return { refusal: tooNew(needed, MACHINE_VERSION) };
  return parse<FailoverState>(state, value, 'STATE_MALFORMED', 'state');
}

/** Looked at before anything else: the rest of a newer state may look different. */
function neededVersion(value: unknown): number {
  const { minReader } = (typeof value === 'object' && value !== null ? value : {}) as { minReader?: unknown };
  return Number.isSafeInteger(minReader) ? (minReader as number) : 0;
}

export function parseReport(value: unknown): Parsed<Report> {
  return parse<Report>(report, value, 'REPORT_MALFORMED', 'report');
}

function parse<T>(schema: z.ZodMiniType, value: unknown, code: RefusalCode, what: string): Parsed<T> {
  const result = schema.safeParse(value);
  if (result.success) return { value: value as T };
  const issue = result.error.issues[0]!;
  const field = issue.path.join('.') || what;
  return { refusal: refusal(code, field, `The ${what}'s field ${field} is wrong: ${issue.message}.`) };
}

/** Field and message of what cannot be, though every field by itself could. */
function misfit(value: FailoverState): readonly [field: string, message: string] | undefined {
  const known = new Set(Object.keys(value.regions));
  const stranger = (list: readonly string[]): string | undefined => list.find((one) => !known.has(one));
  if ((value.writer === null) !== (value.phase === 'Ungraceful'))
    return ['writer', `There is a write region in every phase but Ungraceful; the phase is ${value.phase}.`];
  if ((value.target === undefined) !== (value.phase !== 'Graceful'))
    return ['target', `There is a target in Graceful and nowhere else; the phase is ${value.phase}.`];
  if (value.quiesce === true && value.phase !== 'Graceful')
    return ['quiesce', `Writes are quiesced in Graceful and nowhere else; the phase is ${value.phase}.`];
  const lists: readonly (readonly [string, readonly string[]])[] = [
    ['writer', value.writer === null ? [] : [value.writer]],
    ['target', value.target === undefined ? [] : [value.target]],
    ['leaseSet', value.leaseSet],
    ['configuration.priorities', value.configuration.priorities],
  ];
  for (const [field, list] of lists) {
    const found = stranger(list);
    if (found !== undefined) return [field, `${found} is not one of the regions.`];
  }
  if (value.writer !== null && !value.leaseSet.includes(value.writer))
    return ['leaseSet', `The write region ${value.writer} must be in it.`];
  return undefined;
}
