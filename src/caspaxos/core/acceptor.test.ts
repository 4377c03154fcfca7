import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Ballot,
  compareBallots,
  type Phase1aMessage,
  type Phase2aMessage,
} from '../../protocol/index.ts';
import { AcceptorStateMachine } from './acceptor.ts';

const ballot = (counter: number, proposer = 'p'): Ballot => ({ counter, proposer, incarnation: 1 });

const ballots = fc.record({
  counter: fc.integer({ min: 1, max: 6 }),
  proposer: fc.constantFrom('a', 'b'),
  incarnation: fc.constant(1),
});

/** One value per ballot, as proposers that keep rule 2 send them. */
const messages = fc.oneof(
  ballots.map((one): Phase1aMessage => ({ type: '1a', ballot: one })),
  fc.tuple(ballots, fc.boolean()).map(([one, ahead]): Phase2aMessage<string> => ({
    type: '2a',
    ballot: one,
    value: `${one.counter}${one.proposer}`,
    next: ahead ? { ...one, counter: one.counter + 1 } : undefined,
  })),
);

function apply(role: AcceptorStateMachine<string>, message: Phase1aMessage | Phase2aMessage<string>) {
  return message.type === '1a' ? role.onPhase1a(message) : role.onPhase2a(message);
}

describe('an acceptor, whatever it is sent', () => {
  const sequences = fc.array(messages, { maxLength: 30 });

  test('never takes a step back, and never promises less than it accepted', () => {
    fc.assert(
      fc.property(sequences, (list) => {
        const role = new AcceptorStateMachine<string>();
        for (const message of list) {
          const before = role.state;
          apply(role, message);
          expect(compareBallots(role.state.promised, before.promised)).toBeGreaterThanOrEqual(0);
          expect(compareBallots(role.state.accepted, before.accepted)).toBeGreaterThanOrEqual(0);
          expect(compareBallots(role.state.promised, role.state.accepted)).toBeGreaterThanOrEqual(0);
        }
      }),
      { seed: 3, numRuns: 400 },
    );
  });

  test('is idempotent: a message repeated at once changes nothing, and is not refused if it was granted', () => {
    fc.assert(
      fc.property(sequences, messages, (list, repeated) => {
        const role = new AcceptorStateMachine<string>();
        for (const message of list) apply(role, message);
        const first = apply(role, repeated);
        const { state } = role;
        expect(apply(role, repeated)).toEqual(first);
        expect(role.state).toBe(state);
      }),
      { seed: 3, numRuns: 400 },
    );
  });

  test('accepts nothing below what it promised', () => {
    fc.assert(
      fc.property(sequences, messages, (list, message) => {
        const role = new AcceptorStateMachine<string>();
        for (const earlier of list) apply(role, earlier);
        const { promised, accepted } = role.state;
        const reply = apply(role, message);
        if (compareBallots(message.ballot, promised) >= 0) return;
        const isRepeated = compareBallots(message.ballot, accepted) === 0 && message.type === '2a';
        expect(reply.type).toBe(isRepeated ? '2b' : 'nak');
      }),
      { seed: 3, numRuns: 400 },
    );
  });

  test('a refusal names the ballot that must be exceeded', () => {
    const role = new AcceptorStateMachine<string>(undefined, 2);
    role.onPhase1a({ type: '1a', ballot: ballot(7) });
    expect(role.onPhase1a({ type: '1a', ballot: ballot(6) })).toEqual({
      type: 'nak',
      acceptor: 2,
      ballot: ballot(6),
      promised: ballot(7),
    });
    expect(role.onPhase2a({ type: '2a', ballot: ballot(6), value: 'x' }).type).toBe('nak');
    expect(role.state.value).toBeUndefined();
  });
});

describe('the promise of the next ballot', () => {
  test('is given with the acceptance, and keeps everybody in between out', () => {
    const role = new AcceptorStateMachine<string>();
    const accept = { type: '2a', ballot: ballot(3), value: 'x', next: ballot(9) } as const;
    expect(role.onPhase2a(accept)).toMatchObject({ type: '2b', next: ballot(9) });
    expect(role.onPhase1a({ type: '1a', ballot: ballot(5, 'z') }).type).toBe('nak');
    expect(role.onPhase2a({ type: '2a', ballot: ballot(9), value: 'y' }).type).toBe('2b');
  });

  test('is not given again once somebody else was promised', () => {
    const role = new AcceptorStateMachine<string>();
    const accept = { type: '2a', ballot: ballot(3), value: 'x', next: ballot(4) } as const;
    role.onPhase2a(accept);
    role.onPhase1a({ type: '1a', ballot: ballot(5, 'z') });
    const again = role.onPhase2a(accept);
    expect(again.type).toBe('2b');
    expect(again).not.toHaveProperty('next');
  });
});

describe('rule 3: one ballot, two values', () => {
  test('raises an alarm, is not acknowledged, and changes nothing', () => {
    const role = new AcceptorStateMachine<string>(undefined, 1);
    role.onPhase2a({ type: '2a', ballot: ballot(3), value: 'x' });
    const { state } = role;
    const reply = role.onPhase2a({ type: '2a', ballot: ballot(3), value: 'y' });
    expect(reply).toEqual({ type: 'alarm', acceptor: 1, ballot: ballot(3) });
    expect(role.state).toBe(state);
  });

  test('compares values as it was told to', () => {
    const same = (a: { x: number }, b: { x: number }): boolean => a.x === b.x;
    const role = new AcceptorStateMachine<{ x: number }>(undefined, 0, same);
    role.onPhase2a({ type: '2a', ballot: ballot(3), value: { x: 1 } });
    expect(role.onPhase2a({ type: '2a', ballot: ballot(3), value: { x: 1 } }).type).toBe('2b');
    expect(role.onPhase2a({ type: '2a', ballot: ballot(3), value: { x: 2 } }).type).toBe('alarm');
  });
});
