/**
 * The state explorer: breadth first through every state that a system given as data can reach. Whoever describes a
 * system says where it starts, what can happen next, and which states count as the same (`key`, which may forget
 * what does not matter: the order of a set, the names of interchangeable members).
 *
 * Breadth first, so that the trace of the first violation is a shortest one. Memory is what limits such a search,
 * so only the frontier is kept as states: of every other state there remain its key and the number of its parent. A
 * trace is rebuilt by walking forward from the initial state along the parents' keys, which is why `successors` must
 * be pure. Reaching the limit is an outcome of its own: "nothing wrong was found" is then true and worth nothing.
 */
import { AssertionError, must } from '../protocol/index.ts';

export interface Successor<S> {
  readonly action: string;
  readonly state: S;
}

export type StatePredicate<S> = (state: S) => boolean;

export interface System<S> {
  readonly initial: readonly S[];
  /** Pure: the same state has the same successors in the same order, and no state is changed after it was given. */
  successors(state: S): Iterable<Successor<S>>;
  /** Two states with one key are one state. */
  key(state: S): string;
  /** What must hold in every state. */
  readonly invariants: Readonly<Record<string, StatePredicate<S>>>;
  /** What some state must show, or else the exploration has proved less than it seems. Counted, not enforced. */
  readonly reaches?: Readonly<Record<string, StatePredicate<S>>>;
  readonly maxStates: number;
}

export interface ExplorationCounts {
  readonly states: number;
  /** Steps taken, those to states already known among them. */
  readonly transitions: number;
  /** The steps to the farthest state seen. */
  readonly depth: number;
  /** For each predicate of `reaches`, the number of states that show it. */
  readonly reached: Readonly<Record<string, number>>;
}

export type Exploration<S> =
  | (ExplorationCounts & { readonly outcome: 'complete'; readonly keys: ReadonlySet<string> })
  | (ExplorationCounts & {
      readonly outcome: 'violated';
      readonly invariant: string;
      /** The first step is the initial state, under the action `initial`. */
      readonly trace: readonly Successor<S>[];
    })
  | (ExplorationCounts & { readonly outcome: 'limit reached' });

export function explore<S>(system: System<S>): Exploration<S> {
  return new BreadthFirstSearch(system).run();
}

/** One line for each step. */
export function formatTrace<S>(
  trace: readonly Successor<S>[],
  show: (state: S) => string = (state) => JSON.stringify(state),
): string {
  return trace.map(({ action, state }, index) => `${index}. ${action}: ${show(state)}`).join('\n');
}

/** The names of `reaches` that no state showed. */
export function neverReached(counts: ExplorationCounts): string[] {
  return Object.entries(counts.reached).flatMap(([name, count]) => (count === 0 ? [name] : []));
}

const NO_PARENT = -1;

class BreadthFirstSearch<S> {
  readonly #system: System<S>;
  readonly #invariants: readonly [string, StatePredicate<S>][];
  readonly #reaches: readonly [string, StatePredicate<S>][];
  readonly #reached: number[];

  /** In the order of discovery: the n-th key is that of state n, whose parent is `#parents[n]`. */
  readonly #keys = new Set<string>();
  readonly #parents: number[] = [];
  #found: S[] = [];
  #transitions = 0;
  #depth = 0;

  constructor(system: System<S>) {
    this.#system = system;
    this.#invariants = Object.entries(system.invariants);
    this.#reaches = Object.entries(system.reaches ?? {});
    this.#reached = this.#reaches.map(() => 0);
  }

  run(): Exploration<S> {
    for (const state of this.#system.initial) {
      const ended = this.#discover(state, NO_PARENT);
      if (ended !== undefined) return ended;
    }
    let firstOfLevel = 0;
    while (this.#found.length > 0) {
      const level = this.#found;
      this.#found = [];
      const ended = this.#expand(level, firstOfLevel);
      if (ended !== undefined) return ended;
      firstOfLevel += level.length;
    }
    return { outcome: 'complete', ...this.#counts(), keys: this.#keys };
  }

  #expand(level: readonly S[], firstOfLevel: number): Exploration<S> | undefined {
    let number = firstOfLevel;
    for (const state of level) {
      for (const successor of this.#system.successors(state)) {
        this.#transitions += 1;
        const ended = this.#discover(successor.state, number);
        if (ended !== undefined) return ended;
      }
      number += 1;
    }
    if (this.#found.length > 0) this.#depth += 1;
    return undefined;
  }

  /** Takes note of a state if it is new; the end of the exploration if that state is one too many or a bad one. */
  #discover(state: S, parent: number): Exploration<S> | undefined {
    const key = this.#system.key(state);
    if (this.#keys.has(key)) return undefined;
    if (this.#keys.size >= this.#system.maxStates) return { outcome: 'limit reached', ...this.#counts() };
    this.#keys.add(key);
    this.#parents.push(parent);
    this.#found.push(state);
    for (let index = 0; index < this.#reaches.length; index += 1) {
      if (this.#reaches[index]![1](state)) this.#reached[index]! += 1;
    }
    for (const [invariant, holds] of this.#invariants) {
      if (!holds(state)) return this.#violated(invariant);
    }
    return undefined;
  }

  /** The state found last breaks the invariant. Its level is not finished, so the depth is that of the trace. */
  #violated(invariant: string): Exploration<S> {
    const trace = this.#traceTo(this.#parents.length - 1);
    return { outcome: 'violated', ...this.#counts(), depth: trace.length - 1, invariant, trace };
  }

  #traceTo(last: number): Successor<S>[] {
    const path: number[] = [];
    for (let number = last; number !== NO_PARENT; number = must(this.#parents[number])) path.push(number);
    path.reverse();
    const keys = [...this.#keys];
    const wanted = path.map((number) => must(keys[number]));
    const trace: Successor<S>[] = [];
    for (const key of wanted) trace.push(this.#stepTo(key, trace.at(-1)));
    return trace;
  }

  /** The first way to the key is the one by which it was discovered. */
  #stepTo(key: string, from: Successor<S> | undefined): Successor<S> {
    const steps =
      from === undefined
        ? this.#system.initial.map((state) => ({ action: 'initial', state }))
        : this.#system.successors(from.state);
    for (const step of steps) {
      if (this.#system.key(step.state) === key) return step;
    }
    throw new AssertionError(`successors is not pure: ${key} was found once and now is not`);
  }

  #counts(): ExplorationCounts {
    const reached = this.#reaches.map(([name], index): [string, number] => [name, this.#reached[index]!]);
    return {
      states: this.#keys.size,
      transitions: this.#transitions,
      depth: this.#depth,
      reached: Object.fromEntries(reached),
    };
  }
}
