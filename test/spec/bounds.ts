/**
 * The bounds of a model, read from the constants of a configuration of the spec, so that the spec and the model over
 * the role classes cannot drift apart; and the manifest that says what each configuration must show.
 */
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SPEC_FOLDER, type TlaModule } from './tla.ts';
import { type Configuration, TlaError, withoutComments } from './tla-syntax.ts';

/** DESIGN section 3, as `spec/caspaxos.tla` names it. Acceptors and ballots are numbered from 1. */
export interface Bounds {
  readonly acceptors: number;
  readonly ballots: number;
  readonly quorum1: number;
  readonly quorum2: number;
  readonly readers: ReadonlySet<number>;
  readonly query: boolean;
  readonly oneRound: boolean;
  readonly trackTime: boolean;
  readonly maxAmnesia: number;
  /** The guards that are taken out. */
  readonly without: ReadonlySet<string>;
}

export type Expectation =
  /** Every invariant holds in that many states. */
  | { readonly pass: number }
  /** A guard is taken out, and this invariant fails. */
  | { readonly fails: string }
  /** This predicate holds in some state: its negation, called `Not..`, is the invariant that fails. */
  | { readonly reaches: string };

export interface ManifestEntry {
  readonly name: string;
  readonly about: string;
  readonly expect: Expectation;
  /** The checker takes too long for the test suite; `full.ts` runs it. */
  readonly large?: boolean;
  /** The hash of the states that `full.ts` found, which the suite compares with those of the role classes. */
  readonly recorded?: Recorded;
}

export interface Recorded {
  /** Of the module and the configuration, without their comments: if that is no longer theirs, record again. */
  readonly digest: string;
  readonly states: string;
}

export interface Manifest {
  readonly module: string;
  readonly configurations: readonly ManifestEntry[];
}

export function readManifest(name: string): Manifest {
  return JSON.parse(readFileSync(manifestPath(name), 'utf8')) as Manifest;
}

/** One line for each configuration. */
export function writeManifest(name: string, { module, configurations }: Manifest): void {
  const lines = configurations.map((entry) => `    ${JSON.stringify(entry)}`).join(',\n');
  const text = `{\n  "module": "${module}",\n  "configurations": [\n${lines}\n  ]\n}\n`;
  writeFileSync(manifestPath(name), text);
}

function manifestPath(name: string): string {
  return join(SPEC_FOLDER, name, 'manifest.json');
}

export function digestOf(module: TlaModule, configuration: Configuration): string {
  const code = [module.source, configuration.source].map(withoutComments).join('\n').replace(/\s+/g, ' ');
  return createHash('sha256').update(code).digest('hex').slice(0, 32);
}

export function boundsOf({ name, constants }: Configuration): Bounds {
  const get = <T>(constant: string, is: (value: unknown) => value is T): T => {
    const value = constants.get(constant);
    if (!is(value)) throw new TlaError('constant', `${name}: ${constant} is ${JSON.stringify(value)}`);
    return value;
  };
  const acceptors = get('Acceptors', isNumbers);
  if (acceptors.some((acceptor, index) => acceptor !== index + 1)) {
    throw new TlaError('constant', `${name}: acceptors are 1, 2, .. without a gap`);
  }
  return {
    acceptors: acceptors.length,
    ballots: get('MaxBallot', isNumber),
    quorum1: get('Quorum1', isNumber),
    quorum2: get('Quorum2', isNumber),
    readers: new Set(get('Readers', isNumbers)),
    query: get('Query', isBoolean),
    oneRound: get('OneRound', isBoolean),
    trackTime: get('TrackTime', isBoolean),
    maxAmnesia: get('MaxAmnesia', isNumber),
    without: new Set(get('Without', isStrings)),
  };
}

const isNumber = (value: unknown): value is number => typeof value === 'number';
const isBoolean = (value: unknown): value is boolean => typeof value === 'boolean';
const isNumbers = (value: unknown): value is number[] => Array.isArray(value) && value.every(isNumber);
const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');
