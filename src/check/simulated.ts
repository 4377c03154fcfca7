/**
 * Histories that are linearizable by construction, to try checkers on. A real sequential object serves a few clients
 * whose calls, effects and answers are interleaved at random; what is written down is only what the clients saw. Some
 * answers are lost on their way, and some requests are delayed past the moment their client gave up: they take effect
 * later or never.
 */
import { must } from '../protocol/index.ts';
import type { Operation } from './history.ts';
import type { VersionedInput, VersionedOutput } from './models.ts';
import type { VersionedOperation } from './versioned.ts';

/** A whole number from 0 up to, and without, the bound. The randomness comes from the caller. */
export type Choose = (bound: number) => number;

/** The same choices for the same seed, on every machine. */
export function seededChoose(seed: number): Choose {
  let state = seed | 0;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  };
}

export interface SequentialObject<S, I, O> {
  readonly initial: S;
  apply(state: S, input: I): { readonly state: S; readonly output: O };
  /** What a client asks for next; `count` is the number of calls before this one. */
  nextInput(choose: Choose, count: number): I;
}

export interface SimulationOptions {
  readonly processes: number;
  readonly operations: number;
  readonly keys?: number;
  /** How many of a hundred operations lose their answer. */
  readonly unknownPercent: number;
}

interface Call<I, O> {
  readonly process: number;
  readonly key: string;
  readonly start: number;
  readonly input: I;
  applied?: { readonly output: O };
}

/** In the order of the calls. */
export function simulateHistory<S, I, O>(
  object: SequentialObject<S, I, O>,
  options: SimulationOptions,
  choose: Choose,
): Operation<I, O>[] {
  const history: Operation<I, O>[] = [];
  const states = new Map<string, S>();
  const calls: (Call<I, O> | undefined)[] = Array.from({ length: options.processes });
  const delayed: Call<I, O>[] = [];
  let clock = 0;
  let count = 0;

  const apply = (call: Call<I, O>) => {
    const before = states.has(call.key) ? (states.get(call.key) as S) : object.initial;
    const { state, output } = object.apply(before, call.input);
    states.set(call.key, state);
    call.applied = { output };
  };
  // Two chances to lose an answer: before the effect and after it.
  const isLost = () => choose(200) < options.unknownPercent;
  const begin = (process: number): Call<I, O> => {
    const key = `key ${choose(options.keys ?? 1)}`;
    return { process, key, start: (clock += 1), input: object.nextInput(choose, count++) };
  };
  const advance = (process: number) => {
    const call = calls[process];
    if (call === undefined) {
      calls[process] = begin(process);
      return;
    }
    const { key, start, input, applied } = call;
    const lost = isLost();
    if (lost || applied !== undefined) calls[process] = undefined;
    if (lost) {
      history.push({ process, key, start, input });
      if (applied === undefined) delayed.push(call);
    } else if (applied === undefined) apply(call);
    else history.push({ process, key, start, end: (clock += 1), input, output: applied.output });
  };

  for (;;) {
    const able = [...calls.keys()].filter(
      (process) => calls[process] !== undefined || count < options.operations,
    );
    if (able.length === 0) break;
    const actor = choose(able.length + (delayed.length > 0 ? 1 : 0));
    if (actor < able.length) advance(must(able[actor]));
    else apply(must(delayed.splice(choose(delayed.length), 1)[0]));
  }
  return history.sort((a, b) => a.start - b.start);
}

/** Values that are all different, that repeat, or that the client of a lost change does not know. */
export type SimulatedValues = 'unique' | 'repeated' | 'counter';

/** A register that numbers its changes; three operations of five are changes. */
export function simulateVersioned(
  options: SimulationOptions & { readonly values: SimulatedValues },
  choose: Choose,
): VersionedOperation[] {
  const register: SequentialObject<Required<VersionedOutput>, VersionedInput, VersionedOutput> = {
    initial: { version: 0, value: 'nothing' },
    apply(state, input) {
      if (input.kind === 'read') return { state, output: state };
      const version = state.version + 1;
      const after = { version, value: input.value ?? `count ${version}` };
      return { state: after, output: after };
    },
    nextInput(pick, count) {
      if (pick(5) < 2) return { kind: 'read' };
      if (options.values === 'counter') return { kind: 'change' };
      return { kind: 'change', value: `value ${options.values === 'unique' ? count : pick(3)}` };
    },
  };
  return simulateHistory(register, options, choose).map(({ process, key, start, end, input, output }) => ({
    process,
    key,
    kind: input.kind,
    start,
    end,
    version: output?.version,
    value: input.kind === 'change' ? (input.value ?? output?.value) : output?.value,
  }));
}
