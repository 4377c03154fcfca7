/**
 * Asks the checker for the successors of a state of `spec/failover.tla`, and finds the steps that explain an update of the
 * real machine. One update does several things that are steps of their own in the spec: it takes a report down and elects;
 * adds and removes members; takes the final report and switches. So a sequence of up to three steps may explain it.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { explore_next, initSync } from 'tla-checker';
import type { Observation, Question } from './conformance-projection.ts';
import { SPEC_FOLDER } from './tla.ts';
import { TlaError, withoutComments } from './tla-syntax.ts';

const MOST_STEPS = 3;

interface Tuple {
  readonly __tuple: readonly unknown[];
}

/** A state, as the checker writes it. */
interface SpecState {
  readonly st: Omit<Observation, 'progress' | 'final' | 'silence'> & {
    readonly progress: { readonly __tuple: readonly { readonly __tuple: readonly number[] }[] };
    readonly final: { readonly __tuple: readonly number[] };
  };
  readonly clock: { readonly silence: number };
  readonly reg: Tuple;
}

interface Successor {
  readonly action: string;
  readonly state: SpecState;
  readonly seen: Observation;
}

interface Answer {
  readonly ok: boolean;
  readonly error?: string;
  readonly transitions?: readonly {
    readonly action: string | null;
    readonly state: { readonly json: SpecState };
  }[];
}

export class SpecSteps {
  /** How often the checker was asked. */
  asked = 0;
  readonly #source: string;
  readonly #known = new Map<string, readonly Successor[]>();
  readonly #explained = new Map<string, readonly string[] | undefined>();

  constructor() {
    const require = createRequire(import.meta.url);
    initSync({ module: readFileSync(require.resolve('tla-checker/tla_checker_bg.wasm')) });
    const source = readFileSync(join(SPEC_FOLDER, 'failover.tla'), 'utf8');
    // The checker reads the module anew for every question: what follows the next-state relation would only cost time.
    const end = source.indexOf('\nSpec ==');
    if (end < 0) throw new TlaError('no-spec', 'the module has no Spec');
    this.#source = `${withoutComments(source.slice(0, end))}\n====\n`;
  }

  get distinct(): number {
    return this.#explained.size;
  }

  /** The steps of the spec that make this of the register; undefined: it allows none. */
  explain(question: Question): readonly string[] | undefined {
    const { constants, state, to } = question;
    const key = JSON.stringify([constants, state, to]);
    if (!this.#explained.has(key)) this.#explained.set(key, this.#search(question));
    return this.#explained.get(key);
  }

  #search(question: Question): readonly string[] | undefined {
    const { from, isWeak } = question;
    const goal = keyOf(question.to, isWeak);
    let front = [{ state: question.state, seen: from, path: [] as readonly string[] }];
    for (let depth = 0; depth < MOST_STEPS; depth += 1) {
      const next = new Map<string, (typeof front)[number]>();
      for (const { state, seen, path } of front) {
        for (const step of this.#successors(question, state)) {
          const said = [...path, nameOf(step.action, seen, step.seen, question.by)];
          if (keyOf(step.seen, isWeak) === goal) return said;
          if (!leadsOn(question, seen, step)) continue;
          const key = JSON.stringify(step.state);
          if (!next.has(key)) next.set(key, { state: step.state, seen: step.seen, path: said });
        }
      }
      front = [...next.values()];
    }
    return undefined;
  }

  #successors({ constants, by }: Question, state: unknown): readonly Successor[] {
    const json = JSON.stringify(state);
    const key = `${constants} ${json}`;
    let successors = this.#known.get(key);
    if (successors === undefined) {
      this.asked += 1;
      const configuration = `INIT Init\nNEXT Next\nCONSTANTS\n${constants}\n`;
      const answer = JSON.parse(explore_next(this.#source, configuration, '{}', json)) as Answer;
      if (!answer.ok || answer.transitions === undefined)
        throw new TlaError('next', `${answer.error} in ${json}`);
      const from = observationOf(state as SpecState);
      successors = answer.transitions
        .map(({ action, state: { json: next } }) => ({
          action: action ?? '',
          state: next,
          seen: observationOf(next),
        }))
        .filter(({ seen }) => isBy(by, from, seen));
      this.#known.set(key, successors);
    }
    return successors;
  }
}

/** Who has stopped, and who writes, is left out of who has reported. */
function observationOf({ st, clock }: SpecState): Observation {
  const { gcn, writer, phase, target, cause } = st;
  return {
    gcn,
    writer,
    phase,
    target,
    lset: inOrder(st.lset),
    reported: inOrder(st.reported).filter((name) => name !== writer && !st.stops.includes(name)),
    progress: st.progress.__tuple.map(({ __tuple }) => __tuple),
    final: st.final.__tuple,
    cause,
    stops: inOrder(st.stops),
    silence: clock.silence,
  };
}

function keyOf(seen: Observation, isWeak: boolean): string {
  return JSON.stringify(isWeak ? { ...seen, lset: [] } : seen);
}

/** Whether nothing changes that is compared. */
export function isStutter({ from, to, isWeak }: Question): boolean {
  return keyOf(from, isWeak) === keyOf(to, isWeak);
}

function inOrder(numbers: readonly number[]): number[] {
  return [...numbers].sort((one, other) => one - other);
}

/** Under one GCN a report, and a stop mark, come and go with an update of their own region alone. */
function isBy(by: number, from: Observation, to: Observation): boolean {
  if (to.silence > from.silence) return false;
  if (to.gcn !== from.gcn) return true;
  const others = (names: readonly number[]): string =>
    names.filter((name) => name !== by && name !== from.writer && name !== to.writer).join();
  return others(from.reported) === others(to.reported) && others(from.stops) === others(to.stops);
}

function leadsOn({ to: goal }: Question, from: Observation, { action, seen }: Successor): boolean {
  if (seen.gcn > goal.gcn) return false;
  return action === 'Update' || JSON.stringify(seen) !== JSON.stringify(from);
}

/** The checker does not name every action, nor what the writer asked for. */
function nameOf(action: string, from: Observation, to: Observation, by: number): string {
  if (action === 'Switch' && to.writer !== by) return 'SwitchByOther';
  if (action === '') return nameless(from, to);
  if (action !== 'Update') return action;
  if (to.lset.length !== from.lset.length)
    return to.lset.length > from.lset.length ? 'Update add' : 'Update remove';
  if (to.phase !== from.phase) return 'Update abort';
  return to.final.length > from.final.length ? 'Update final' : 'Update beat';
}

function nameless(from: Observation, to: Observation): string {
  if (to.gcn > from.gcn) return 'Force';
  if (to.writer !== from.writer) return 'Elect';
  return to.phase === 'Ungraceful' ? 'Report' : 'Hello';
}
