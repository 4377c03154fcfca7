import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  casRegister,
  checkLinearizability,
  checkStrong,
  type Choose,
  type ClientOperation,
  type ClientRead,
  type ClientWrite,
  Evidence,
  type LogRow,
  type Operation,
  type RegisterInput,
  type RegisterOutput,
  type RunRecord,
  seededChoose,
  type SequentialModel,
} from 'baton/check';

type Input = { readonly kind: 'write' | 'read' };
/** Version `absent`: a read that found nothing, and nobody said since when. */
type Output = { readonly version: number | 'absent' };

/** The general checker's view: a document whose versions are those of the final log, one after the other. */
function documentOf(isAbsent: (version: number) => boolean): SequentialModel<number, Input, Output> {
  return {
    initial: 0,
    step(state, input, { version }) {
      if (input.kind === 'write') return version === state + 1 ? [state + 1] : [];
      return version === state || (version === 'absent' && isAbsent(state)) ? [state] : [];
    },
    effects: (state) => [state],
    key: String,
  };
}

const OF_ALL = { client: 'c', session: 's', region: 'east', key: 'x', level: 'Strong' } as const;

/**
 * A log of one document, and calls at random times: each write of the log acknowledged (one or two attempts) or of unknown outcome,
 * each read of any version. Most are wrong, some are right; `kindness` draws the times together in the order of the log.
 */
function randomRecord(choose: Choose, kindness: number): RunRecord {
  const size = 1 + choose(4);
  const log = Array.from({ length: size }, (_, index): LogRow => {
    const value = choose(4) === 0 ? undefined : `v${index}`;
    return { epoch: 1 + (index >> 1), lsn: index + 1, key: 'x', value, operation: `o${index}` };
  });
  const timesAt = (index: number) => {
    const start = index * kindness + choose(8);
    return { start, end: start + choose(8) };
  };
  const writes = log.flatMap(({ epoch, lsn, value, operation }, index): ClientWrite[] => {
    const isAcked = choose(3) > 0;
    const told = isAcked
      ? { outcome: 'ok' as const, position: { epoch, lsn } }
      : { outcome: 'unknown' as const };
    const { start, end } = timesAt(index);
    const write: ClientWrite = {
      ...OF_ALL,
      id: `w${index}`,
      kind: value === undefined ? 'delete' : 'write',
      operation: operation!,
      value,
      start,
      end: isAcked ? end : undefined,
      ...told,
    };
    if (choose(4) > 0) return [write];
    const first: ClientWrite = {
      ...write,
      id: `${write.id}'`,
      start: start - 3,
      end: undefined,
      outcome: 'unknown',
    };
    return [{ ...first, position: undefined }, write];
  });
  const reads = Array.from({ length: choose(5) }, (_, index): ClientRead => {
    const version = choose(size + 1);
    const { value } = log[version - 1] ?? {};
    const isTold = value !== undefined || choose(2) === 0;
    const { epoch, lsn } = log[version - 1] ?? { epoch: 0, lsn: 0 };
    const position = isTold ? { epoch, lsn } : undefined;
    const times = timesAt(version);
    return { ...OF_ALL, id: `r${index}`, kind: 'read', outcome: 'ok', ...times, value, version: position };
  });
  return { operations: [...writes, ...reads], log, undone: [] };
}

/** One operation for all attempts of a write. */
function asHistory({ operations, log }: RunRecord): Operation<Input, Output>[] {
  const writes = log.map(({ operation, lsn }): Operation<Input, Output> => {
    const attempts = operations.filter((one) => one.kind !== 'read' && one.operation === operation);
    const start = Math.min(...attempts.map((one) => one.start));
    const end = Math.min(Number.MAX_VALUE, ...attempts.map((one) => one.end ?? Infinity));
    return { process: 'c', start, end, input: { kind: 'write' }, output: { version: lsn } };
  });
  const reads = operations.flatMap((one): Operation<Input, Output>[] => {
    if (one.kind !== 'read') return [];
    const output: Output = { version: one.version === undefined ? 'absent' : one.version.lsn };
    return [{ process: 'c', start: one.start, end: one.end, input: { kind: 'read' }, output }];
  });
  return [...writes, ...reads];
}

const verdictOfStrong = (record: RunRecord) => checkStrong(new Evidence(record)).length === 0;

describe('strong', () => {
  test('gives the verdict of the general checker', () => {
    const seen = { true: 0, false: 0 };
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 0, max: 12 }), (seed, kindness) => {
        const record = randomRecord(seededChoose(seed), kindness);
        const model = documentOf((version) => version === 0 || record.log[version - 1]!.value === undefined);
        const { verdict } = checkLinearizability(model, asHistory(record));
        const isStrong = verdictOfStrong(record);
        seen[`${isStrong}`] += 1;
        expect(isStrong).toBe(verdict === 'linearizable');
      }),
      { numRuns: 4000, seed: 11 },
    );
    expect(Math.min(seen.true, seen.false)).toBeGreaterThan(500);
  });

  test('is never kinder than a register that only looks at values', () => {
    let refused = 0;
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 0, max: 12 }), (seed, kindness) => {
        const record = randomRecord(seededChoose(seed), kindness);
        if (
          checkLinearizability(casRegister<string>(), asRegister(record.operations)).verdict ===
          'linearizable'
        )
          return;
        refused += 1;
        expect(verdictOfStrong(record)).toBe(false);
      }),
      { numRuns: 2000, seed: 12 },
    );
    expect(refused).toBeGreaterThan(200);
  });
});

/** Without positions and log: deletions write a value of their own, which reads that find nothing may not tell from the first. */
function asRegister(
  operations: readonly ClientOperation[],
): Operation<RegisterInput<string>, RegisterOutput<string>>[] {
  const attempts = new Map<string, ClientWrite[]>();
  for (const one of operations) {
    if (one.kind !== 'read') attempts.set(one.operation, [...(attempts.get(one.operation) ?? []), one]);
  }
  const writes = [...attempts.values()].map((ofOne) => {
    const { value = 'nothing', operation } = ofOne[0]!;
    const start = Math.min(...ofOne.map((one) => one.start));
    const end = Math.min(...ofOne.map((one) => one.end ?? Infinity));
    return {
      process: operation,
      start,
      end,
      input: { kind: 'write', value } as const,
      output: { kind: 'done' } as const,
    };
  });
  const reads = operations.flatMap((one) => {
    if (one.kind !== 'read') return [];
    const value = one.value ?? 'nothing';
    const { start, end } = one;
    return [
      {
        process: one.id,
        start,
        end,
        input: { kind: 'read' } as const,
        output: { kind: 'value', value } as const,
      },
    ];
  });
  const beginning = {
    process: 'beginning',
    start: -100,
    end: -99,
    input: { kind: 'write', value: 'nothing' } as const,
    output: { kind: 'done' } as const,
  };
  return [beginning, ...writes, ...reads];
}
