/**
 * Linearizability: is there one order of all operations, in keeping with the real time of their calls and answers, in
 * which a plain sequential object would have given those answers? Exact for every model, and in the worst case
 * exponential in the number of operations that overlap; hence the limit and the third verdict. Keys are checked one
 * by one, which is enough since a history is linearizable exactly if its part for each object is.
 *
 * For registers that number their changes, `versioned.ts` decides the same in n log n.
 */
import { formatWhen, type History, type Operation, partitionByKey } from './history.ts';
import type { SequentialModel } from './models.ts';
import { type Impasse, LinearizationSearch } from './search.ts';

export interface LinearizabilityOptions {
  /**
   * How much is done for one key before giving up, in steps of the model and words of memory. The default stands for
   * 64 MB and a few seconds.
   */
  readonly maxWork?: number;
}

export type LinearizabilityVerdict<I, O> =
  | { readonly verdict: 'linearizable' }
  | ({ readonly verdict: 'not linearizable'; readonly key: string } & Impasse<I, O>)
  /** The keys that took too much work; all others are linearizable. */
  | { readonly verdict: 'undecided'; readonly keys: readonly string[]; readonly work: number };

const DEFAULT_MAX_WORK = 2 ** 24;

export function checkLinearizability<S, I, O>(
  model: SequentialModel<S, I, O>,
  history: History<I, O>,
  options: LinearizabilityOptions = {},
): LinearizabilityVerdict<I, O> {
  const undecided: string[] = [];
  let work = 0;
  for (const [key, operations] of partitionByKey(history)) {
    const result = new LinearizationSearch(model, operations).run(options.maxWork ?? DEFAULT_MAX_WORK);
    if (result.found === 'impasse') return { verdict: 'not linearizable', key, ...result.impasse };
    if (result.found === 'limit') {
      undecided.push(key);
      work += result.work;
    }
  }
  return undecided.length === 0
    ? { verdict: 'linearizable' }
    : { verdict: 'undecided', keys: undecided, work };
}

/** The operations at the end of the order that an explanation shows. */
const SHOWN = 8;

/** For people: why there is no order. The model is asked only for its words. */
export function explainLinearizability<I, O>(
  verdict: LinearizabilityVerdict<I, O>,
  model?: Pick<SequentialModel<never, I, O>, 'describe'>,
): string {
  if (verdict.verdict === 'linearizable') return 'linearizable';
  if (verdict.verdict === 'undecided') {
    return `undecided after ${verdict.work} units of work: ${verdict.keys.map(formatKey).join(', ')}`;
  }
  const { key, order, state, stuck, alternatives } = verdict;
  const describe = model?.describe ?? describeAsJson;
  const line = (operation: Operation<I, O>) =>
    `  ${describe(operation.input, operation.output)} (${formatWhen(operation)})`;
  const hidden = Math.max(0, order.length - SHOWN);
  return [
    `not linearizable: ${formatKey(key)}`,
    order.length === 0 ? 'before any operation' : 'after this order, the one that explains the longest time,',
    ...(hidden > 0 ? [`  (${hidden} earlier operations)`] : []),
    ...order.slice(hidden).map(line),
    `the state is ${state}, and nothing that may come next by its time explains`,
    line(stuck),
    ...(alternatives.length > 0 ? ['nor, concurrent with it,', ...alternatives.map(line)] : []),
  ].join('\n');
}

function formatKey(key: string): string {
  return key === '' ? 'the only key' : `key ${JSON.stringify(key)}`;
}

function describeAsJson(input: unknown, output: unknown): string {
  return `${JSON.stringify(input)} -> ${output === undefined ? '?' : JSON.stringify(output)}`;
}
