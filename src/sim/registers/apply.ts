/** What each kind of operation asks of the library. */
import {
  type ChangeOptions,
  type ChangeOutcome,
  type Cluster,
  reject,
  type Rejection,
} from '../../caspaxos/index.ts';
import type { RecordedOperation, Value } from './history.ts';

/** Applies an operation, or continues it. */
export function apply(
  cluster: Cluster,
  { kind, key, name, expected }: RecordedOperation,
  options: ChangeOptions,
): Promise<ChangeOutcome<Value>> {
  switch (kind) {
    case 'append':
      return cluster.change<Value>(key, (current) => [...(current ?? []), name], options);
    case 'when': {
      const odd = (current: Value = []): Value | Rejection =>
        current.length % 2 === 1 ? [...current, name] : reject('the list has an even length');
      return cluster.change<Value>(key, odd, options);
    }
    case 'swap': {
      // A register never written is what an empty list was seen as.
      const seen = expected!.length === 0 ? undefined : expected;
      return cluster.compareAndSwap<Value>(key, seen, [...expected!, name], options);
    }
    case 'touch':
      return cluster.change<Value>(key, (current) => current, options);
    case 'put':
      return cluster.change<Value>(key, () => [name], options);
    case 'delete':
      return cluster.delete(key, options) as Promise<ChangeOutcome<Value>>;
    case 'read':
      throw new Error('a read is no change');
  }
}
