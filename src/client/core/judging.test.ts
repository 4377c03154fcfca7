import { describe, expect, test } from 'vitest';
import { type Operation, type RefusalCode, REFUSALS } from '../../engine/core/index.ts';
import { CLIENT_ERRORS, codeOfStatus, failureOf, rejectionIn } from './errors.ts';
import { agreedRefusal, judgeAnswer, judgeFailure, repeatable, type Verdict } from './judging.ts';

const body = new Uint8Array();
const etag = '"1-2"';

describe('a write may be sent again', () => {
  const one = (operation: Operation, conditions = true) =>
    repeatable({ operations: [operation] }, { conditions });

  test('with an operation id', () => {
    expect(repeatable({ operation: 'a', operations: [{ op: 'create', body }] })).toBe('by operation id');
  });

  test('without one only if the caller allows conditions, and one names a version that it replaces', () => {
    const guarded: Operation = { op: 'replace', id: 'a', body, ifMatch: etag };
    expect(one(guarded, false)).toBe('no');
    expect(repeatable({ operations: [guarded] })).toBe('no');
    expect(one(guarded)).toBe('by condition');
    expect(one({ op: 'patch', id: 'a', steps: [], ifMatch: etag })).toBe('by condition');
    expect(one({ op: 'delete', id: 'a', ifMatch: etag })).toBe('by condition');
    expect(repeatable({ operations: [{ op: 'create', body }, guarded] }, { conditions: true })).toBe(
      'by condition',
    );
  });

  test.each<Operation>([
    { op: 'create', body, ifMatch: etag },
    { op: 'create', body, ifNoneMatch: '*' },
    { op: 'upsert', body, ifMatch: etag },
    { op: 'read', id: 'a', ifMatch: etag },
    { op: 'replace', id: 'a', body },
    { op: 'replace', id: 'a', body, ifMatch: '*' },
    { op: 'delete', id: 'a', ifNoneMatch: etag },
  ])('never by the condition of %o', (operation) => {
    expect(one(operation)).toBe('no');
  });
});

describe('what an answer means', () => {
  const expected: Record<RefusalCode, readonly [write: Verdict['type'], read: Verdict['type']]> = {
    NOT_WRITER: ['elsewhere', 'elsewhere'],
    NOT_READY: ['elsewhere', 'elsewhere'],
    TOO_MANY_REQUESTS: ['later', 'elsewhere'],
    DISK_FULL: ['elsewhere', 'elsewhere'],
    DAMAGED: ['later', 'elsewhere'],
    LEVEL_TOO_STRONG: ['final', 'final'],
    SESSION_AHEAD: ['elsewhere', 'elsewhere'],
    SESSION_UNDONE: ['final', 'final'],
    FEED_UNDONE: ['final', 'final'],
    FEED_TRIMMED: ['final', 'final'],
  };

  test.each(Object.keys(REFUSALS) as RefusalCode[])('the refusal %s', (code) => {
    const refused = { outcome: 'refused', code } as const;
    expect([judgeAnswer('write', refused).type, judgeAnswer('read', refused).type]).toEqual(expected[code]);
  });

  test('a refusal that only a newer node knows is evidence against that region', () => {
    expect(judgeAnswer('write', { outcome: 'refused', code: 'ON_FIRE' })).toEqual({ type: 'elsewhere' });
  });

  test('an outcome that is unknown matters to writes only, whatever the code', () => {
    for (const code of ['TIMED_OUT', 'FRAME_TOO_LARGE', 'BUSY', 'SESSION_UNDONE']) {
      expect(judgeFailure('write', { outcome: 'unknown', code })).toEqual({ type: 'doubtful' });
    }
    expect(judgeFailure('read', { outcome: 'unknown', code: 'TIMED_OUT' })).toEqual({ type: 'elsewhere' });
    expect(judgeAnswer('write', { outcome: 'unknown' })).toEqual({ type: 'doubtful' });
    expect(judgeAnswer('read', { outcome: 'unknown' })).toEqual({ type: 'elsewhere' });
  });

  test('what no node can read ends the operation', () => {
    const final = { type: 'final', code: 'BAD_REQUEST', status: 400 };
    for (const kind of ['write', 'read'] as const)
      expect(judgeFailure(kind, { outcome: 'not sent', code: 'MALFORMED' })).toMatchObject(final);
    expect(judgeFailure('write', { outcome: 'unknown', code: 'MALFORMED' })).toEqual({ type: 'doubtful' });
  });

  test('one status of 400 or above rejects the whole write; the operation to blame is named', () => {
    const position = { epoch: 1, lsn: 1 };
    const results = [{ status: 424 }, { status: 412, message: 'no' }, { status: 424 }];
    expect(judgeAnswer('write', { outcome: 'done', position, results })).toEqual({
      type: 'rejected',
      result: { status: 412, message: 'no' },
    });
    expect(judgeAnswer('write', { outcome: 'done', position, results: [{ status: 304 }] }).type).toBe('good');
    expect(rejectionIn([{ status: 424 }])).toEqual({ status: 424 });
  });

  test('all regions have to agree that it is of no use', () => {
    expect(agreedRefusal(['NOT_AUTHORIZED', 'NOT_AUTHORIZED'])).toBe('NOT_AUTHENTICATED');
    expect(agreedRefusal(['CLUSTER_DIFFERENT', 'VERSION_UNSUPPORTED'])).toBe('INCOMPATIBLE');
    expect(agreedRefusal(['NOT_AUTHORIZED', ''])).toBeUndefined();
    expect(agreedRefusal(['UNKNOWN_PARTITION_SET', 'WRONG_PARTITION_SET'])).toBe('PARTITION_SET_UNKNOWN');
    expect(agreedRefusal(['NOT_AUTHORIZED', 'UNKNOWN_PARTITION_SET'])).toBeUndefined();
    expect(agreedRefusal(['NOT_WRITER', 'NOT_WRITER'])).toBeUndefined();
    expect(agreedRefusal([])).toBeUndefined();
  });
});

describe('errors', () => {
  test('are one sentence each', () => {
    for (const { message } of Object.values(CLIENT_ERRORS)) expect(message).toMatch(/^[A-Z][^.]*\.$/);
  });

  test('follow the status of a write', () => {
    expect([400, 404, 409, 412, 413, 418].map(codeOfStatus)).toEqual([
      'BAD_REQUEST',
      'NOT_FOUND',
      'CONFLICT',
      'PRECONDITION_FAILED',
      'TOO_LARGE',
      'REJECTED',
    ]);
  });

  test('say what the server said, if it did', () => {
    expect(failureOf('CONFLICT', 'notApplied', { message: 'Taken.', status: 409 })).toEqual({
      code: 'CONFLICT',
      message: 'Taken.',
      outcome: 'notApplied',
      retryable: false,
      status: 409,
    });
    expect(failureOf('DEADLINE', 'unknown', { last: 'NOT_WRITER' })).toMatchObject({
      message: CLIENT_ERRORS.DEADLINE.message,
      retryable: true,
      last: 'NOT_WRITER',
    });
  });
});
