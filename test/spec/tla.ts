/**
 * A runner around the npm package tla-checker 0.9.0, a WebAssembly library, which turns its traps into errors:
 *
 * - a configuration without an invariant passes: refused;
 * - reaching a limit, a deadlock, an error of evaluation: errors, never verdicts;
 * - a violated invariant is named by its index: here by its name;
 * - a definition that its parser cannot read is dropped without a word, and an undefined name is noticed only if it
 *   is ever evaluated: both are looked for before the check;
 * - a constant that is missing, superfluous or misspelt, and any warning: errors.
 *
 * All reachable states come from its DOT export, which prints every state once: 78,425 states of the 3 x 3
 * configuration cost 3 s more than the check alone, where stepping with `explore_next` would take minutes.
 */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { check_spec_with_cfg, explore_invariants, initSync } from 'tla-checker';
import {
  canonicalValue,
  type Configuration,
  type ModuleNames,
  namesOf,
  parseConfiguration,
  TlaError,
} from './tla-syntax.ts';

export interface TlaModule extends ModuleNames {
  readonly source: string;
}

export type Verdict =
  | { readonly outcome: 'pass'; readonly states: number }
  | {
      readonly outcome: 'violated';
      readonly invariant: string;
      readonly states: number;
      /** One text for each state, the initial one first. */
      readonly trace: readonly string[];
    };

export interface StateSet {
  readonly verdict: Verdict & { outcome: 'pass' };
  /** Each state as canonical JSON, its variables in the order of their declaration. */
  readonly keys: ReadonlySet<string>;
}

interface RawResult {
  readonly success: boolean;
  readonly error_type: string | null;
  readonly error_message: string | null;
  readonly states_explored: number;
  readonly trace: readonly string[] | null;
  readonly dot: string | null;
  readonly warnings: readonly string[];
}

const MAX_STATES = 2_000_000;
const MAX_DEPTH = 1000;

/** The `spec` folder, seen from the sources as well as from the compiled tools. */
export const SPEC_FOLDER = join(repositoryRoot(), 'spec');

function repositoryRoot(): string {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'spec', 'caspaxos.tla'))) return folder;
    if (folder === dirname(folder)) throw new TlaError('no-spec', 'no folder above has spec/caspaxos.tla');
  }
}

export function readModule(file: string): TlaModule {
  return moduleFrom(readFileSync(join(SPEC_FOLDER, file), 'utf8'));
}

export function readConfiguration(module: TlaModule, file: string): Configuration {
  return configurationFrom(module, file, readFileSync(join(SPEC_FOLDER, file), 'utf8'));
}

export function moduleFrom(source: string): TlaModule {
  const names = namesOf(source);
  for (const name of names.definitions) {
    // Naming a definition where one without parameters is wanted tells whether the parser kept it.
    const probe = run(source, `INIT Init\nNEXT Next\nCONSTRAINT ${name}\n`, 1, false);
    if (probe.error_type === 'ParseError') throw new TlaError('parse', String(probe.error_message));
    if (/not found in spec/.test(probe.error_message ?? '')) {
      throw new TlaError('dropped', `the checker cannot read the definition of ${name}, and dropped it`);
    }
  }
  return { source, ...names };
}

export function configurationFrom(module: TlaModule, name: string, source: string): Configuration {
  const configuration = parseConfiguration(name, source);
  const given = [...configuration.constants.keys()].sort().join(', ');
  const wanted = [...module.constants].sort().join(', ');
  if (given !== wanted) throw new TlaError('constant', `${name} gives ${given}; the module wants ${wanted}`);
  return configuration;
}

export function check(module: TlaModule, configuration: Configuration, maxStates = MAX_STATES): Verdict {
  return verdictOf(configuration, run(module.source, configuration.source, maxStates, false));
}

/** The complete set of reachable states of a configuration that passes. */
export function checkAndCollect(module: TlaModule, configuration: Configuration): StateSet {
  const raw = run(module.source, configuration.source, MAX_STATES, true);
  const verdict = verdictOf(configuration, raw);
  if (verdict.outcome !== 'pass') {
    throw new TlaError('violated', `${configuration.name}: ${verdict.invariant} is violated`);
  }
  const keys = statesOf(module.variables, raw.dot ?? '');
  if (keys.size !== verdict.states) {
    throw new TlaError('dot', `${configuration.name}: ${verdict.states} states, but ${keys.size} exported`);
  }
  return { verdict, keys };
}

/** The invariants that do not hold in a state, which need not be a reachable one. */
export function brokenIn(module: TlaModule, configuration: Configuration, key: string): string[] {
  load();
  const state = JSON.stringify(forChecker(JSON.parse(key)));
  const answer = JSON.parse(explore_invariants(module.source, configuration.source, '{}', state)) as {
    readonly error?: string;
    readonly invariants?: readonly { readonly name: string; readonly holds?: boolean }[];
  };
  if (answer.invariants?.every(({ holds }) => holds !== undefined) !== true) {
    throw new TlaError('state', `${JSON.stringify(answer)} in ${key}`);
  }
  return answer.invariants.filter(({ holds }) => !holds).map(({ name }) => name);
}

/** The checker marks its tuples; of the arrays of a canonical state these are tuples, and all others sets. */
const TUPLES = new Set(['promised', 'accepted', 'value', 'began', 'val', 'aval']);

function forChecker(json: unknown, name = ''): unknown {
  if (Array.isArray(json)) {
    const items = json.map((item) => forChecker(item, name));
    return TUPLES.has(name) ? { __tuple: items } : items;
  }
  if (typeof json !== 'object' || json === null) return json;
  return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, forChecker(value, key)]));
}

let ready = false;

function load(): void {
  if (ready) return;
  const wasm = createRequire(import.meta.url).resolve('tla-checker/tla_checker_bg.wasm');
  initSync({ module: readFileSync(wasm) });
  ready = true;
}

function run(source: string, configuration: string, maxStates: number, exportStates: boolean): RawResult {
  load();
  const result = check_spec_with_cfg(source, configuration, '{}', maxStates, MAX_DEPTH, true, exportStates);
  return JSON.parse(result) as RawResult;
}

function verdictOf({ name, invariants }: Configuration, raw: RawResult): Verdict {
  if (raw.warnings.length > 0) throw new TlaError('warning', `${name}: ${raw.warnings.join('; ')}`);
  if (raw.success) return { outcome: 'pass', states: raw.states_explored };
  if (raw.error_type !== 'InvariantViolation') {
    throw new TlaError(raw.error_type ?? 'unknown', `${name}: ${raw.error_message}`);
  }
  const index = /^Invariant (\d+) violated$/.exec(raw.error_message ?? '')?.[1];
  const invariant = invariants[Number(index)];
  if (invariant === undefined) throw new TlaError('unknown', `${name}: ${raw.error_message}`);
  const trace = (raw.trace ?? []).join('\n').split(/^(?=State \d)/m);
  return { outcome: 'violated', invariant, states: raw.states_explored, trace };
}

const LABEL = ' [label="';

/** The nodes come first, one a line: `  s7 [label="x=1\\ny={}"];`. The edges after them are of no interest. */
function statesOf(variables: readonly string[], dot: string): Set<string> {
  const keys = new Set<string>();
  const known = new Map<string, string>();
  for (let at = dot.indexOf('\n  s'); at >= 0; at = dot.indexOf('\n', at + 1)) {
    const label = dot.indexOf(' ', at + 3);
    if (!dot.startsWith(LABEL, label)) break;
    const from = label + LABEL.length;
    keys.add(keyOf(variables, dot.slice(from, dot.indexOf('"', from)), known));
  }
  return keys;
}

/** `known` spares reading again the value that a variable has in thousands of states. */
function keyOf(variables: readonly string[], label: string, known: Map<string, string>): string {
  const parts = label.split('\\n').map((assignment, index) => {
    const name = variables[index];
    if (name === undefined || !assignment.startsWith(`${name}=`)) {
      throw new TlaError('dot', `not a state: ${label}`);
    }
    const text = assignment.slice(name.length + 1);
    const value = known.get(text) ?? canonicalValue(text);
    known.set(text, value);
    return `"${name}":${value}`;
  });
  return `{${parts.join(',')}}`;
}
