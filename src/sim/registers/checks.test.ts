import { describe, expect, test } from 'vitest';
import { Ancestry } from './ancestry.ts';
import { type Evidence, judge } from './checks.ts';
import type { RecordedCall, RecordedOperation } from './history.ts';

function call(start: number, end: number, rest: Partial<RecordedCall> = {}): RecordedCall {
  return {
    client: 'client-0',
    start,
    end,
    outcome: undefined,
    changed: false,
    version: undefined,
    value: undefined,
    dueBy: end,
    ...rest,
  };
}

function operation(
  name: string,
  calls: RecordedCall[],
  kind: RecordedOperation['kind'] = 'append',
): RecordedOperation {
  return { name, kind, key: 'x', client: 'client-0', cluster: 'c', calls, token: undefined };
}

const appended = (name: string, start: number, value: readonly string[]): RecordedOperation =>
  operation(name, [
    call(start, start + 1, { outcome: 'committed', changed: true, version: value.length, value }),
  ]);

const seen = (
  name: string,
  start: number,
  value: readonly string[],
  version = value.length,
): RecordedOperation =>
  operation(name, [call(start, start + 1, { outcome: 'read', version, value })], 'read');

function verdict(
  operations: readonly RecordedOperation[],
  evidence: Partial<Evidence> = {},
): string | undefined {
  return judge({
    operations,
    ancestry: new Ancestry([], () => true),
    alarms: [],
    misused: [],
    mixture: undefined,
    unrecovered: [],
    due: [],
    ...evidence,
  })?.check;
}

describe('a run', () => {
  test('in which all is as it should be passes', () => {
    const rejected = operation(
      'c',
      [call(4, 5, { outcome: 'rejected', version: 2, value: ['a', 'b'] })],
      'swap',
    );
    const unknown = operation('d', [call(6, 7, { outcome: 'unknown' })]);
    const history = [appended('a', 0, ['a']), appended('b', 2, ['a', 'b']), rejected, unknown];
    expect(verdict([...history, seen('r', 8, ['a', 'b'])])).toBeUndefined();
    expect(verdict([...history, seen('r', 8, ['a', 'b', 'd'])])).toBeUndefined();
  });

  test('in which a read goes back in time is not linearizable', () => {
    const history = [appended('a', 0, ['a']), appended('b', 2, ['a', 'b']), seen('r', 4, ['a'])];
    expect(verdict(history)).toBe('linearizability');
  });

  test('in which an operation was applied twice fails', () => {
    const twice = operation('b', [call(2, 3, { outcome: 'unknown' }), call(4, 5, { outcome: 'unknown' })]);
    const other = operation('c', [call(2, 3, { outcome: 'unknown' })]);
    expect(verdict([appended('a', 0, ['a']), twice, other, seen('r', 6, ['a', 'b', 'b'])])).toBe('once');
  });

  test('in which two continuations were told different versions fails', () => {
    const told = (start: number, version: number) =>
      call(start, start + 1, { outcome: 'committed', changed: true, version });
    const history = [appended('a', 0, ['a']), operation('b', [told(2, 2), told(4, 3)])];
    expect(verdict(history)).toBe('once');
  });

  test('in which an acknowledged change is missing fails', () => {
    const lost = operation('b', [call(2, 3, { outcome: 'committed', changed: true, version: 2 })]);
    const unknown = operation('c', [call(2, 3)]);
    expect(verdict([appended('a', 0, ['a']), lost, unknown, seen('r', 4, ['a', 'c'])])).toBe('once');
  });

  test('in which a rejected change is seen fails', () => {
    const rejected = operation('b', [call(2, 3, { outcome: 'rejected' })]);
    const unknown = operation('c', [call(2, 3, { outcome: 'unknown' })]);
    expect(verdict([appended('a', 0, ['a']), rejected, unknown, seen('r', 4, ['a', 'b'])])).toBe(
      'rejected-means-not-applied',
    );
  });

  test('in which most of what could be expected was not done fails', () => {
    const failed = Array.from({ length: 9 }, () => call(0, 10, { outcome: 'failed' }));
    const unknown = call(0, 10, { outcome: 'unknown' });
    const read = call(0, 10, { outcome: 'read', version: 0, value: [] });
    const touched = call(0, 10, { outcome: 'committed' });
    expect(verdict([], { due: [...failed, unknown, read] })).toBe('progress');
    expect(verdict([], { due: [...failed, read, touched, read] })).toBeUndefined();
    expect(verdict([], { due: failed })).toBeUndefined();
  });

  test('that raised an alarm or did not come back fails', () => {
    expect(verdict([], { alarms: ['two values under one ballot'] })).toBe('alarm');
    expect(verdict([], { unrecovered: ['client-0 on x'] })).toBe('recovery');
  });
});
