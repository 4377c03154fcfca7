import { describe, expect, test } from 'vitest';
import type { Ballot } from '../../protocol/index.ts';
import { answer, EMPTY_RECORD, QUERY, type RegisterRecord } from './record.ts';

const ballot = (counter: number): Ballot => ({ counter, proposer: 'p', incarnation: 1 });
const promise = (counter: number) => ({ type: '1a', ballot: ballot(counter) }) as const;
const accept = (counter: number, value = 'x') => ({ type: '2a', ballot: ballot(counter), value }) as const;

function accepted(set: number): RegisterRecord {
  return answer(EMPTY_RECORD, { key: 'k', set, message: accept(3) }, 0).record;
}

describe('a register on one acceptor', () => {
  test('remembers the set under which it was touched (rule 9)', () => {
    expect(answer(EMPTY_RECORD, { key: 'k', set: 2, message: promise(1) }, 0).record.set).toBe(2);
    expect(accepted(2).set).toBe(2);
    expect(answer(accepted(2), { key: 'k', set: 5, message: promise(9) }, 0).record.set).toBe(5);
  });

  test.each([promise(9), accept(9), QUERY])('refuses an older set and stays as it is: $type', (message) => {
    const record = accepted(4);
    const answered = answer(record, { key: 'k', set: 3, message }, 1);
    expect(answered.reply).toEqual({ type: 'stale-set', acceptor: 1, set: 4 });
    expect(answered.record).toBe(record);
  });

  test('answers a question without promising or changing anything (rule 5)', () => {
    const record = accepted(1);
    const answered = answer(record, { key: 'k', set: 7, message: QUERY }, 2);
    expect(answered.reply).toEqual({ type: 'state', acceptor: 2, accepted: ballot(3), value: 'x' });
    expect(answered.record).toBe(record);
  });

  test('is the very same object when nothing changed, so that nothing is written', () => {
    const record = accepted(1);
    expect(answer(record, { key: 'k', set: 1, message: accept(3) }, 0).record).toBe(record);
    expect(answer(record, { key: 'k', set: 1, message: promise(2) }, 0).record).toBe(record);
    expect(answer(record, { key: 'k', set: 1, message: accept(3, 'other') }, 0)).toMatchObject({
      record,
      reply: { type: 'alarm' },
    });
  });
});
