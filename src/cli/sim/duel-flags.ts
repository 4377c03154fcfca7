/** From the flags of `baton sim duel` to the lines of its table; what makes no sense gets one clear line. */
import { MAX_ACCEPTORS } from '../../caspaxos/index.ts';
import { POLICY_ELEMENTS, POLICY_NAMES, type PolicyElement, type PolicyName } from '../../failover/index.ts';
import { type DuelCase, LATENCY_FORMS, latencyModel, SWEEP_BASES_MS, sweepOf } from '../../sim/index.ts';
import { UsageError } from '../errors.ts';
import { positiveInteger } from '../flags.ts';

export interface DuelFlags {
  readonly proposers: string;
  readonly acceptors: string;
  readonly hours: string;
  readonly policy: string;
  readonly base: string;
  readonly sweep?: string | true;
  readonly without?: string;
  readonly with?: string;
  readonly ablation: boolean;
  readonly writerDies: boolean;
  readonly latency: string;
  readonly interval: string;
  readonly lease: string;
  readonly skew: string;
  readonly seed: string;
  readonly workers?: string;
  readonly chart?: string;
  readonly json: boolean;
}

export interface DuelRequest {
  readonly cases: readonly DuelCase[];
  readonly hours: number;
  /** The base that was asked for, where others were swept besides it. */
  readonly sweptMs: number | undefined;
  readonly workers: number | undefined;
}

/** An hour holds several updates, a death, and the time to notice it. */
const LONGEST_INTERVAL_S = 600;
const LONGEST_LEASE_S = 1200;
/** Chance begins with 32 bits. */
const HIGHEST_SEED = 2 ** 32 - 1;

export function readRequest(flags: DuelFlags): DuelRequest {
  const swept = flags.sweep !== undefined;
  const baseMs = seconds(flags.base, '--base') * 1000;
  const cases = readCases(flags, baseMs);
  if (swept && !cases.some(({ policy }) => policy === 'initial')) {
    throw new UsageError('--sweep is for the policy initial, which is not among those of --policy.');
  }
  return {
    cases: swept ? sweepOf(cases, readBases(flags.sweep)) : cases,
    hours: positiveInteger(flags.hours, '--hours'),
    sweptMs: swept ? baseMs : undefined,
    workers: flags.workers === undefined ? undefined : positiveInteger(flags.workers, '--workers'),
  };
}

function readCases(flags: DuelFlags, baseMs: number): readonly DuelCase[] {
  const common = {
    acceptors: readAcceptors(flags.acceptors),
    latency: readLatency(flags.latency),
    ...readTimes(flags),
    baseMs,
    writerDies: flags.writerDies || flags.ablation,
    seed: readSeed(flags.seed),
  };
  const variants = readVariants(flags);
  return listOf(flags.proposers).flatMap((text) => {
    const proposers = positiveInteger(text, '--proposers');
    return variants.map((variant) => ({ ...common, ...variant, proposers }));
  });
}

type Variant = Pick<DuelCase, 'policy' | 'without' | 'with'>;

/** The policies as they are, `baton` with elements taken out, the others with elements put in. */
function readVariants(flags: DuelFlags): readonly Variant[] {
  const policies = listOf(flags.policy).map(readPolicy);
  const added = flags.with === undefined ? [] : listOf(flags.with).map(readElement);
  const others = policies.filter((policy) => policy !== 'baton');
  if (added.length > 0 && others.length === 0) {
    throw new UsageError('--with puts elements of baton into other policies; --policy names none.');
  }
  return [
    ...policies.map((policy) => ({ policy })),
    ...readElements(flags).map((element) => ({ policy: 'baton' as const, without: element })),
    ...others.flatMap((policy) => added.map((element) => ({ policy, with: element }))),
  ];
}

function readAcceptors(text: string): number {
  const acceptors = positiveInteger(text, '--acceptors');
  if (acceptors % 2 === 0) throw new UsageError(`--acceptors needs an odd number, not ${acceptors}.`);
  if (acceptors > MAX_ACCEPTORS) throw new UsageError(`--acceptors needs at most ${MAX_ACCEPTORS}.`);
  return acceptors;
}

function readLatency(name: string): string {
  if (latencyModel(name) !== undefined) return name;
  throw new UsageError(`There is no latency model "${name}"; there are ${LATENCY_FORMS.join(', ')}.`);
}

function readTimes(flags: DuelFlags): Pick<DuelCase, 'intervalMs' | 'leaseMs' | 'skewMs'> {
  const interval = seconds(flags.interval, '--interval');
  if (interval > LONGEST_INTERVAL_S) {
    throw new UsageError(`--interval needs at most ${LONGEST_INTERVAL_S} seconds, not "${flags.interval}".`);
  }
  const lease = seconds(flags.lease, '--lease');
  if (lease <= interval || lease > LONGEST_LEASE_S) {
    throw new UsageError(
      `--lease needs more than the interval of ${interval} s and at most ${LONGEST_LEASE_S} s, not "${flags.lease}".`,
    );
  }
  const skew = Number(flags.skew);
  if (flags.skew.trim() === '' || !(skew >= 0 && skew < Infinity)) {
    throw new UsageError(`--skew needs a number of seconds, 0 or more, not "${flags.skew}".`);
  }
  return { intervalMs: interval * 1000, leaseMs: lease * 1000, skewMs: skew * 1000 };
}

function readSeed(text: string): number {
  const seed = positiveInteger(text, '--seed');
  if (seed > HIGHEST_SEED) throw new UsageError(`There is no seed above ${HIGHEST_SEED}.`);
  return seed;
}

function readPolicy(name: string): PolicyName {
  const known = POLICY_NAMES.find((candidate) => candidate === name);
  if (known !== undefined) return known;
  throw new UsageError(`There is no policy "${name}"; there are ${POLICY_NAMES.join(', ')}.`);
}

function readElements({ without, ablation }: DuelFlags): readonly PolicyElement[] {
  if (ablation && without !== undefined) {
    throw new UsageError('--ablation takes out every element; give it or --without, not both.');
  }
  if (ablation) return POLICY_ELEMENTS;
  return without === undefined ? [] : listOf(without).map(readElement);
}

function readElement(name: string): PolicyElement {
  const known = POLICY_ELEMENTS.find((candidate) => candidate === name);
  if (known !== undefined) return known;
  throw new UsageError(`Policy baton has no element "${name}"; it has ${POLICY_ELEMENTS.join(', ')}.`);
}

function readBases(list: string | true | undefined): readonly number[] {
  if (typeof list !== 'string') return SWEEP_BASES_MS;
  return listOf(list).map((text) => seconds(text, '--sweep') * 1000);
}

/** Each thing once: a line that stands there twice would be counted twice. */
function listOf(text: string): readonly string[] {
  return [...new Set(text.split(','))];
}

function seconds(text: string, flag: string): number {
  const value = Number(text);
  if (value > 0 && value < Infinity) return value;
  throw new UsageError(`${flag} needs a positive number of seconds, not "${text}".`);
}
