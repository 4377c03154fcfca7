/** What is sent is what arrives; what was not sent by us is refused. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decodeRead,
  decodeReadAnswer,
  decodeWrite,
  decodeWriteAnswer,
  encodeRead,
  encodeReadAnswer,
  encodeWrite,
  encodeWriteAnswer,
} from './client-wire.ts';

function bytesOf(payload: Uint8Array | readonly Uint8Array[]): Buffer {
  return Buffer.concat(payload instanceof Uint8Array ? [payload] : [...payload]);
}

describe('messages of clients', () => {
  const body = Buffer.from('{"id":"a"}');

  test('writes', () => {
    const write = {
      partitionSet: 'orders-7',
      timeoutMs: 1000,
      request: {
        partitionKey: ['k', 1, true, null, undefined],
        operation: 'op-1',
        operations: [
          { op: 'create' as const, body },
          { op: 'upsert' as const, body, ifMatch: '"1-1"' },
          { op: 'replace' as const, id: 'a', body, ifNoneMatch: '*' },
          { op: 'patch' as const, id: 'a', steps: [{ op: 'set' as const, path: '/x', value: { y: [1] } }] },
          { op: 'delete' as const, id: 'a' },
          { op: 'read' as const, id: 'a' },
        ],
      },
    };
    expect(decodeWrite(bytesOf(encodeWrite(write)))).toEqual(write);
  });

  test('answers to writes', () => {
    const answers = [
      { outcome: 'unknown' as const },
      { outcome: 'refused' as const, code: 'NOT_WRITER' as const },
      { outcome: 'refused' as const, code: 'TOO_MANY_REQUESTS' as const, retryAfterMs: 20 },
      {
        outcome: 'done' as const,
        results: [{ status: 201 }, { status: 409, message: 'There is one.' }],
        position: { epoch: 3_145_729, lsn: 7 },
      },
    ];
    for (const answer of answers)
      expect(decodeWriteAnswer(bytesOf(encodeWriteAnswer(answer)))).toEqual(answer);
  });

  test('reads and their answers', () => {
    const read = { partitionSet: 'orders-7', timeoutMs: 5, partitionKey: ['k'], id: 'a' };
    const session = { epoch: 1_048_577, lsn: 3 };
    for (const one of [
      { ...read, level: 'Strong' as const },
      { ...read, level: 'Session' as const, session },
    ])
      expect(decodeRead(bytesOf(encodeRead(one)))).toEqual(one);
    const version = {
      epk: '0123456789ABCDEF0123456789ABCDEF',
      id: 'a',
      partitionKey: '["k"]',
      body,
      createdLsn: 0,
      previous: 0,
      epoch: 3_145_729,
      lsn: 7,
      at: 1_700_000_000_000,
    };
    for (const answer of [
      { outcome: 'refused' as const, code: 'NOT_READY' as const },
      { outcome: 'done' as const, version: undefined, position: session },
      { outcome: 'done' as const, version, position: session },
      { outcome: 'done' as const, version: { ...version, ttl: 60 }, position: session },
    ])
      expect(decodeReadAnswer(bytesOf(encodeReadAnswer(answer)))).toEqual(answer);
  });

  test('whatever comes is understood or refused', () => {
    const decoders = [decodeWrite, decodeRead, decodeWriteAnswer, decodeReadAnswer];
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.integer({ min: 0, max: 3 }), (bytes, which) => {
        try {
          decoders[which]!(Buffer.from(bytes));
        } catch (error) {
          expect(error).toMatchObject({ code: 'MALFORMED' });
        }
      }),
      { numRuns: 2000 },
    );
  });
});
