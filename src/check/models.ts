/**
 * Models for the linearizability checker: what an object does when operations come one at a time. A model says which
 * states an operation with a given answer can lead to; the checker looks for an order of the operations in which
 * every answer is possible.
 */
import { unreachable } from '../protocol/index.ts';
import type { Operation } from './history.ts';
import type { VersionedOperation } from './versioned.ts';

export interface SequentialModel<S, I, O> {
  readonly initial: S;
  /** The states in which the operation can leave the object if this was its answer; none if it cannot have been. */
  step(state: S, input: I, output: O): readonly S[];
  /** The states in which it can leave the object if nobody heard the answer. It is also free never to happen. */
  effects(state: S, input: I): readonly S[];
  /** Two states with one key are one state. Also how a state is shown to people. */
  key(state: S): string;
  /** How an operation is shown to people; JSON when absent. */
  describe?(input: I, output: O | undefined): string;
}

export type RegisterInput<V> =
  | { readonly kind: 'read' }
  | { readonly kind: 'write'; readonly value: V }
  | { readonly kind: 'cas'; readonly from: V; readonly to: V };

/** `null` is the value of a register never written. A write is `done`; a compare-and-set is `done` or `refused`. */
export type RegisterOutput<V> =
  | { readonly kind: 'value'; readonly value: V | null }
  | { readonly kind: 'done' }
  | { readonly kind: 'refused' };

/** A register with read, write and compare-and-set. A refused compare-and-set has seen another value than its own. */
export function casRegister<V extends string | number>(
  initial: V | null = null,
): SequentialModel<V | null, RegisterInput<V>, RegisterOutput<V>> {
  return {
    initial,
    step(state, input, output) {
      switch (input.kind) {
        case 'read':
          return output.kind === 'value' && output.value === state ? [state] : [];
        case 'write':
          return output.kind === 'done' ? [input.value] : [];
        case 'cas':
          if (output.kind === 'done') return state === input.from ? [input.to] : [];
          return output.kind === 'refused' && state !== input.from ? [state] : [];
        default:
          return unreachable(input);
      }
    },
    effects(state, input) {
      if (input.kind === 'write') return [input.value];
      return input.kind === 'cas' && state === input.from ? [input.to] : [];
    },
    key: (state) => JSON.stringify(state),
    describe: describeRegister,
  };
}

function describeRegister<V>(input: RegisterInput<V>, output: RegisterOutput<V> | undefined): string {
  const answer =
    output === undefined ? '?' : output.kind === 'value' ? JSON.stringify(output.value) : output.kind;
  switch (input.kind) {
    case 'read':
      return `read -> ${answer}`;
    case 'write':
      return `write ${JSON.stringify(input.value)} -> ${answer}`;
    case 'cas':
      return `cas ${JSON.stringify(input.from)} to ${JSON.stringify(input.to)} -> ${answer}`;
    default:
      return unreachable(input);
  }
}

/** A change may leave its value to the register (an increment): then only its answer tells it. */
export type VersionedInput =
  | { readonly kind: 'read' }
  | { readonly kind: 'change'; readonly value?: string | undefined };

export interface VersionedOutput {
  readonly version: number;
  readonly value?: string | undefined;
}

/** A register that numbers its changes. The value is undefined as long as nothing has told it. */
export const versionedRegister: SequentialModel<VersionedOutput, VersionedInput, VersionedOutput> = {
  initial: { version: 0 },
  step(state, input, output) {
    if (input.kind === 'change') {
      if (output.version !== state.version + 1) return [];
      const agrees = input.value === undefined || output.value === undefined || input.value === output.value;
      return agrees ? [{ version: output.version, value: input.value ?? output.value }] : [];
    }
    if (output.version !== state.version) return [];
    if (state.value === undefined) return [{ version: state.version, value: output.value }];
    return output.value === undefined || output.value === state.value ? [state] : [];
  },
  effects(state, input) {
    return input.kind === 'change' ? [{ version: state.version + 1, value: input.value }] : [];
  },
  key: ({ version, value }) => (value === undefined ? `version ${version}` : `version ${version}: ${value}`),
};

/**
 * The same history for the general checker. What did nothing drops out: rejected changes and reads without a version.
 * A version that is known although the answer never came (from a later look at the register, say) is no reason to
 * leave the operation open: it has happened, at whatever time.
 */
export function operationsOfVersioned(
  operations: readonly VersionedOperation[],
): Operation<VersionedInput, VersionedOutput>[] {
  return operations.flatMap((operation): Operation<VersionedInput, VersionedOutput>[] => {
    const { process, key, kind, start, end, version, value } = operation;
    if (kind === 'rejected' || (kind === 'read' && version === undefined)) return [];
    const input: VersionedInput = kind === 'read' ? { kind } : { kind, value };
    if (version === undefined) return [{ process, key, start, input }];
    const known = Math.min(end ?? Infinity, Number.MAX_VALUE);
    return [{ process, key, start, end: known, input, output: { version, value } }];
  });
}
