import { describe, expect, test } from 'vitest';
import type { PartitionEvent } from '../../engine/index.ts';
import type { Logger } from '../../failover/index.ts';
import { logEngineEvent } from './engine-log.ts';

function logged(event: PartitionEvent): readonly unknown[] {
  const lines: unknown[] = [];
  const logger = {
    warn: (fields: { code?: string }) => lines.push(['warn', fields.code]),
    error: (fields: { code?: string }) => lines.push(['error', fields.code]),
  } as unknown as Logger;
  logEngineEvent(logger, 'orders-7', event);
  return lines;
}

describe('what is undone', () => {
  test('although it was known to be committed is an error, never a warning', () => {
    const event = { event: 'undone', count: 3, after: 7, committed: true } as const;
    expect(logged(event)).toEqual([['error', 'COMMITTED_UNDONE']]);
  });

  test('otherwise is a warning', () => {
    expect(logged({ event: 'undone', count: 3, after: 7, committed: false })).toEqual([['warn', undefined]]);
  });
});

test('a write region that lacks committed writes is an error on both sides', () => {
  expect(logged({ event: 'refused', writer: 'west', lsn: 9 })).toEqual([['error', 'WRITER_DAMAGED']]);
  expect(logged({ event: 'short', by: 'east', lsn: 9 })).toEqual([['error', 'WRITER_DAMAGED']]);
});

test('a write region that nobody could tell what is committed has a code of its own', () => {
  expect(logged({ event: 'unconfirmed', asked: ['east', 'north'] })).toEqual([['warn', 'RECOVERED_ALONE']]);
});

test('everything else is a warning', () => {
  expect(logged({ event: 'recovered', count: 2 })).toEqual([['warn', undefined]]);
  expect(logged({ event: 'damaged', lsn: 2 })).toEqual([['warn', undefined]]);
});
