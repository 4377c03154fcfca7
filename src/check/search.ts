/**
 * The search for a linearization of one key's operations (Wing and Gong 1993, with the memory of Lowe 2017, in the
 * form that the porcupine project gave it). Calls and returns stand in one list in the order of time. Any operation
 * whose call comes before the first return in the list may be the next to take effect: place it, take it out of the
 * list, begin again at the front. Whoever comes to a return has tried all that could be next and goes back one step.
 *
 * Operations of unknown outcome have no return, so nothing ever forces them to be placed, and the search is over when
 * all others are. They stand apart from the list and are tried last: most of them never mattered, and placing them
 * eagerly is what makes a search wander.
 */
import { must } from '../protocol/index.ts';
import { Configurations, hashOfMember } from './configurations.ts';
import { endOf, type History, type Operation } from './history.ts';
import type { SequentialModel } from './models.ts';

const NONE = -1;

/** Where the search came closest to an order of everything, in terms of time. */
export interface Impasse<I, O> {
  /** The order that was found, and where it leads. */
  readonly order: readonly Operation<I, O>[];
  readonly state: string;
  /** The completed operation that would have to come next at the latest. No order of the history gets past it. */
  readonly stuck: Operation<I, O>;
  /** The other completed operations that could have come next by their times and did not fit either. */
  readonly alternatives: readonly Operation<I, O>[];
}

export type SearchResult<I, O> =
  | { readonly found: 'order'; readonly order: readonly Operation<I, O>[] }
  | { readonly found: 'impasse'; readonly impasse: Impasse<I, O> }
  | { readonly found: 'limit'; readonly work: number };

export class LinearizationSearch<S, I, O> {
  readonly #model: SequentialModel<S, I, O>;
  /** By start; first those that completed, which have the numbers 0 to completed-1, then the others. */
  readonly #operations: History<I, O>;
  readonly #completed: number;
  readonly #events: EventList;

  readonly #states: S[] = [];
  readonly #numberOfState = new Map<string, number>();
  readonly #placed: Uint32Array;
  #hashOfPlaced = 0;
  readonly #configurations: Configurations;

  #state = NONE;
  #unplaced: number;
  #work = 0;
  /** The operations placed, in order, each with the state before it and the number of its alternative. */
  readonly #order: number[] = [];
  readonly #statesBefore: number[] = [];
  readonly #alternatives: number[] = [];
  #impasse: { stuck: number; unplaced: number; order: readonly number[]; state: number } | undefined;

  constructor(model: SequentialModel<S, I, O>, history: History<I, O>) {
    this.#model = model;
    const byStart = history.toSorted((a, b) => a.start - b.start);
    const completed = byStart.filter((operation) => endOf(operation) !== Infinity);
    this.#operations = [...completed, ...byStart.filter((operation) => endOf(operation) === Infinity)];
    this.#completed = completed.length;
    this.#events = new EventList(completed);
    this.#placed = new Uint32Array(Math.ceil(history.length / 32));
    this.#configurations = new Configurations(this.#placed.length);
    this.#state = this.#numberOf(model.initial);
    this.#unplaced = completed.length;
  }

  /** `maxWork` counts the steps of the model and the words of memory. */
  run(maxWork: number): SearchResult<I, O> {
    let candidate = this.#candidateAfter(NONE);
    let alternative = 0;
    while (this.#unplaced > 0) {
      if (this.#work > maxWork) return { found: 'limit', work: this.#work };
      if (candidate === NONE) {
        this.#noteImpasse();
        if (this.#order.length === 0) return { found: 'impasse', impasse: this.#describeImpasse() };
        alternative = must(this.#alternatives.at(-1)) + 1;
        candidate = this.#takeBack();
      } else if (this.#place(candidate, alternative)) {
        candidate = this.#candidateAfter(NONE);
        alternative = 0;
      } else {
        candidate = this.#candidateAfter(candidate);
        alternative = 0;
      }
    }
    return { found: 'order', order: this.#order.map((operation) => must(this.#operations[operation])) };
  }

  /** The operation to try after this one has been tried; at first the completed ones, then those without an answer. */
  #candidateAfter(operation: number): number {
    if (operation < this.#completed) {
      const call = this.#events.callAfter(operation);
      if (call !== NONE) return call;
    }
    const firstReturn = this.#events.firstReturn();
    if (firstReturn === NONE) return NONE;
    const deadline = endOf(must(this.#operations[firstReturn]));
    const first = Math.max(operation + 1, this.#completed);
    for (let unknown = first; unknown < this.#operations.length; unknown += 1) {
      if (this.#operations[unknown]!.start > deadline) return NONE;
      if (!this.#isPlaced(unknown)) return unknown;
    }
    return NONE;
  }

  /** Places the operation in the first way, from `alternative` on, that leads to something not yet tried. */
  #place(operation: number, alternative: number): boolean {
    const { input, output } = must(this.#operations[operation]);
    const before = this.#states[this.#state] as S;
    const answered = operation < this.#completed;
    const outcomes = answered
      ? this.#model.step(before, input, output as O)
      : this.#model.effects(before, input);
    this.#work += 1;
    this.#toggle(operation);
    for (let index = alternative; index < outcomes.length; index += 1) {
      const after = this.#numberOf(outcomes[index]!);
      // An operation that nobody needs to have happened and that changes nothing may as well not have happened.
      if (!answered && after === this.#state) continue;
      if (!this.#configurations.add(this.#placed, this.#hashOfPlaced, after)) continue;
      this.#work += this.#placed.length;
      this.#order.push(operation);
      this.#statesBefore.push(this.#state);
      this.#alternatives.push(index);
      this.#state = after;
      if (answered) {
        this.#events.remove(operation);
        this.#unplaced -= 1;
      }
      return true;
    }
    this.#toggle(operation);
    return false;
  }

  #takeBack(): number {
    const operation = must(this.#order.pop());
    this.#state = must(this.#statesBefore.pop());
    this.#alternatives.pop();
    this.#toggle(operation);
    if (operation < this.#completed) {
      this.#events.restore(operation);
      this.#unplaced += 1;
    }
    return operation;
  }

  #numberOf(state: S): number {
    const key = this.#model.key(state);
    const known = this.#numberOfState.get(key);
    if (known !== undefined) return known;
    this.#states.push(state);
    this.#numberOfState.set(key, this.#states.length - 1);
    return this.#states.length - 1;
  }

  #isPlaced(operation: number): boolean {
    return (this.#placed[operation >>> 5]! & (1 << (operation & 31))) !== 0;
  }

  #toggle(operation: number): void {
    this.#placed[operation >>> 5]! ^= 1 << (operation & 31);
    this.#hashOfPlaced ^= hashOfMember(operation);
  }

  /** Keeps the impasse that lies latest in time; of those at one return, the one that left the fewest unplaced. */
  #noteImpasse(): void {
    const stuck = this.#events.firstReturn();
    const best = this.#impasse;
    if (best !== undefined) {
      const later = endOf(must(this.#operations[stuck])) - endOf(must(this.#operations[best.stuck]));
      const better = best.unplaced - this.#unplaced || best.order.length - this.#order.length;
      if (later < 0 || (later === 0 && better <= 0)) return;
    }
    this.#impasse = { stuck, unplaced: this.#unplaced, order: [...this.#order], state: this.#state };
  }

  #describeImpasse(): Impasse<I, O> {
    const { stuck, order, state } = must(this.#impasse);
    const placed = new Set(order);
    const last = must(this.#operations[stuck]);
    const others = this.#operations.slice(0, this.#completed).filter((operation, number) => {
      return number !== stuck && !placed.has(number) && operation.start <= endOf(last);
    });
    return {
      order: order.map((operation) => must(this.#operations[operation])),
      state: this.#model.key(this.#states[state] as S),
      stuck: last,
      alternatives: others,
    };
  }
}

/**
 * The calls and returns of operations 0 to n-1 in the order of time, a doubly linked list: taking an operation out
 * and putting it back, last out first in, costs four links. The call of operation i is node 2i, its return 2i+1.
 */
class EventList {
  readonly #head: number;
  readonly #next: Int32Array;
  readonly #previous: Int32Array;

  constructor(operations: History<unknown, unknown>) {
    const events = operations.flatMap((operation, number) => [
      { node: 2 * number, time: operation.start },
      { node: 2 * number + 1, time: endOf(operation) },
    ]);
    // At one instant calls come before returns: such operations count as concurrent.
    events.sort((a, b) => a.time - b.time || (a.node & 1) - (b.node & 1) || a.node - b.node);
    this.#head = events.length;
    this.#next = new Int32Array(events.length + 1);
    this.#previous = new Int32Array(events.length + 1);
    let last = this.#head;
    for (const { node } of events) {
      this.#link(last, node);
      last = node;
    }
    this.#link(last, this.#head);
  }

  /** The next operation whose call comes after this one's (or first of all) and before any return. */
  callAfter(operation: number): number {
    const node = must(this.#next[operation === NONE ? this.#head : 2 * operation]);
    return (node & 1) === 0 && node !== this.#head ? node >> 1 : NONE;
  }

  firstReturn(): number {
    let node = must(this.#next[this.#head]);
    while ((node & 1) === 0 && node !== this.#head) node = must(this.#next[node]);
    return node === this.#head ? NONE : node >> 1;
  }

  remove(operation: number): void {
    for (const node of [2 * operation, 2 * operation + 1]) {
      this.#link(must(this.#previous[node]), must(this.#next[node]));
    }
  }

  restore(operation: number): void {
    for (const node of [2 * operation + 1, 2 * operation]) {
      this.#next[must(this.#previous[node])] = node;
      this.#previous[must(this.#next[node])] = node;
    }
  }

  #link(before: number, after: number): void {
    this.#next[before] = after;
    this.#previous[after] = before;
  }
}
