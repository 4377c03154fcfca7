import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Ballot, BALLOT_ZERO } from '../../protocol/index.ts';
import {
  EMPTY_RECORD,
  QUERY,
  type RegisterRecord,
  type RegisterReply,
  type RegisterRequest,
} from '../core/index.ts';
import {
  flattenEntries,
  flattenReplies,
  flattenRequests,
  pack,
  replayEntries,
  unflattenReplies,
  unflattenRequests,
  unpack,
} from './codec.ts';

const ballots = fc.record({
  counter: fc.integer({ min: 1, max: 2 ** 52 - 1 }),
  proposer: fc.string({ minLength: 1, maxLength: 64 }),
  incarnation: fc.integer({ min: 1, max: 2 ** 48 - 1 }),
});
const texts = fc.string({ unit: 'grapheme', maxLength: 40 });

const messages: fc.Arbitrary<RegisterRequest['message']> = fc.oneof(
  fc.constant(QUERY),
  fc.record({ type: fc.constant('1a' as const), ballot: ballots }),
  fc.record({ type: fc.constant('2a' as const), ballot: ballots, value: texts }),
  fc.record({ ballot: ballots, value: texts }).map(({ ballot, value }) => ({
    type: '2a' as const,
    ballot,
    value,
    next: { ...ballot, counter: ballot.counter + 1 },
  })),
);
const requests = fc.array(fc.record({ key: texts, set: fc.nat(), message: messages }), { maxLength: 10 });

/** A reply that fits the request. */
function replyTo({ message }: RegisterRequest, at: number, found: Ballot): RegisterReply {
  const acceptor = 5;
  if (at % 4 === 0) return { type: 'stale-set', acceptor, set: at + 1 };
  if (at % 4 === 1) return { type: 'failed', acceptor, code: 'CORRUPT_RECORD', message: 'why' };
  if (message.type === 'query') return { type: 'state', acceptor, accepted: found, value: 'v' };
  const { ballot } = message;
  if (at % 4 === 2) return { type: 'nak', acceptor, ballot, promised: found };
  if (message.type === '1a') return { type: '1b', acceptor, ballot, accepted: BALLOT_ZERO, value: undefined };
  return message.next === undefined
    ? { type: '2b', acceptor, ballot, value: message.value }
    : { type: '2b', acceptor, ballot, value: message.value, next: message.next };
}

describe('the wire', () => {
  test('requests arrive as they were sent', () => {
    fc.assert(
      fc.property(requests, (list) => {
        expect(unflattenRequests(unpack(pack(flattenRequests(list))))).toEqual(list);
      }),
      { seed: 12, numRuns: 200 },
    );
  });

  test('replies arrive as they were sent', () => {
    fc.assert(
      fc.property(requests, ballots, (list, found) => {
        const replies = list.map((request, at) => replyTo(request, at, found));
        expect(unflattenReplies(unpack(pack(flattenReplies(replies))), list, 5)).toEqual(replies);
      }),
      { seed: 12, numRuns: 200 },
    );
  });

  const good = flattenRequests([
    {
      key: 'k',
      set: 1,
      message: { type: '2a', ballot: { counter: 1, proposer: 'p', incarnation: 1 }, value: 'v' },
    },
  ]);

  test.each([
    ['nothing', null],
    ['an object', {}],
    ['a field too few', good.slice(1)],
    ['a kind that is not known', [9, ...good.slice(1)]],
    ['a key that is no text', [2, 7, ...good.slice(2)]],
    ['a set that is no number', [2, 'k', 'x', ...good.slice(3)]],
    ['a ballot of zero', [2, 'k', 1, 0, ...good.slice(4)]],
    ['a ballot beyond counting', [2, 'k', 1, 2 ** 53, ...good.slice(4)]],
    ['a value that is no text', [...good.slice(0, 6), 7, 0]],
    ['a next ballot that is not higher', [...good.slice(0, 7), 1]],
  ])('requests of %s are refused', (_, flat) => {
    expect(() => unflattenRequests(flat)).toThrow('malformed');
  });

  test.each([
    ['nothing', null],
    ['too few', []],
  ])('replies of %s are refused', (_, flat) => {
    expect(() => unflattenReplies(flat, [{ key: 'k', set: 1, message: QUERY }], 0)).toThrow('malformed');
  });

  test.each([
    ['a promise for a question', [1, 0, '', 0, null]],
    ['a kind that is not known', [99, 0, '', 0, null]],
    ['a state with a broken ballot', [6, -1, '', 0, null]],
    ['a failure without words', [8, 0, [[]], 0, {}]],
  ])('%s is no answer for its register, and nothing to the others', (_, flat) => {
    const request = { key: 'k', set: 1, message: QUERY };
    const sound = [6, 0, '', 0, null];
    expect(unflattenReplies([...flat, ...sound], [request, request], 0)).toMatchObject([
      { type: 'failed', code: 'PROTOCOL_MISMATCH' },
      { type: 'state' },
    ]);
  });

  test('an alarm can only answer an accept', () => {
    const alarm = flattenReplies([{ type: 'alarm', acceptor: 0, ballot: BALLOT_ZERO }]);
    expect(unflattenReplies(alarm, [{ key: 'k', set: 1, message: QUERY }], 0)).toMatchObject([
      { type: 'failed', code: 'PROTOCOL_MISMATCH' },
    ]);
  });
});

describe('a journal record', () => {
  const ballot = (counter: number): Ballot => ({ counter, proposer: 'p', incarnation: 1 });
  const accepted: RegisterRecord = { set: 2, promised: ballot(5), accepted: ballot(4), value: 'v' };

  function replay(entries: Parameters<typeof flattenEntries>[0], before: RegisterRecord): RegisterRecord {
    let after = before;
    replayEntries(
      unpack(pack(flattenEntries(entries))),
      () => before,
      (_, record) => {
        after = record;
      },
    );
    return after;
  }

  test('of an accepted value holds all of it', () => {
    expect(replay(new Map([['k', { record: accepted, isAccepted: true }]]), EMPTY_RECORD)).toEqual(accepted);
  });

  test('of a promise leaves the value that was there', () => {
    const promised = { ...accepted, promised: ballot(9), set: 3 };
    const entry = new Map([['k', { record: promised, isAccepted: false }]]);
    expect(JSON.stringify(flattenEntries(entry))).not.toContain('"v"');
    expect(replay(entry, accepted)).toEqual(promised);
    expect(replay(entry, EMPTY_RECORD)).toEqual({ ...EMPTY_RECORD, promised: ballot(9), set: 3 });
  });

  test('of a promise never takes back a later one', () => {
    const entry = new Map([['k', { record: { ...accepted, promised: ballot(6) }, isAccepted: false }]]);
    const later = { set: 7, promised: ballot(20), accepted: ballot(20), value: 'w' };
    expect(replay(entry, later)).toEqual(later);
  });

  test('that nobody wrote is refused', () => {
    const ignore = (): void => undefined;
    expect(() => replayEntries([1, 2, 3], () => EMPTY_RECORD, ignore)).toThrow('malformed');
    expect(() => replayEntries('x', () => EMPTY_RECORD, ignore)).toThrow('malformed');
  });
});
