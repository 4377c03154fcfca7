/**
 * Rule 4 where a change loses sight of its own work: three ways of forgetting that the first runs of the mutants by seeds
 * found no other test for.
 */
import { describe, expect, test } from 'vitest';
import type { Batcher } from '../../src/caspaxos/batcher.ts';
import {
  answer,
  BallotSources,
  DEFAULT_PROPOSER_POLICY,
  EMPTY_RECORD,
  majority,
  Pace,
  RegisterChange,
  type RegisterReply,
  type RegisterRequest,
  takeTurns,
} from '../../src/caspaxos/core/index.ts';
import { newCounters, newLatencies } from '../../src/caspaxos/counters.ts';
import { asCasPaxosError } from '../../src/caspaxos/errors.ts';
import { NODE_HOST } from '../../src/caspaxos/node-host.ts';
import { type Job, Register, type View } from '../../src/caspaxos/register.ts';

const OPERATION = { origin: 'west/1', sequence: 1 };

function increment(): RegisterChange {
  return new RegisterChange((json) => ({ type: 'set', json: String(Number(json ?? '0') + 1) }), OPERATION);
}

/** A register before three acceptors, of which the first two answer phase 1 and nobody anything else. */
function register() {
  const view = (set: number): View => ({
    set,
    quorum: majority(3),
    batchers: [0, 1, 2].map(
      (index) => ({ send: promising(index), isUrgent: true }) as Partial<Batcher> as Batcher,
    ),
  });
  let current = view(1);
  const subject = new Register('k', {
    host: NODE_HOST,
    ballots: new BallotSources({ proposer: 'p', incarnation: 1 }),
    policy: DEFAULT_PROPOSER_POLICY,
    backoff: takeTurns,
    counters: newCounters(),
    latencies: newLatencies(),
    pace: new Pace(),
    view: () => current,
    onReply: () => {},
    onUnavailable: () => {},
    onIdle: () => {},
    onDoubt: () => {},
    onError: (_, error) => asCasPaxosError(error, 'REGISTER_FAILED', 'failed'),
  });
  const changeSet = (): void => {
    current = view(2);
    subject.adopt();
  };
  return { subject, changeSet };
}

function promising(index: number): Batcher['send'] {
  return (request: RegisterRequest, onReply: (index: number, reply: RegisterReply) => void) => {
    if (index < 2 && request.set === 1 && request.message.type === '1a')
      onReply(index, answer(EMPTY_RECORD, request, index).reply);
  };
}

function job(outcomes: string[], uncertain = false): Job {
  const finish: Job['finish'] = ({ outcome }) => outcomes.push(outcome);
  return { change: increment(), force: false, uncertain, startedAt: 0, finish };
}

describe('a change keeps sight of its own work', () => {
  test('a retry that ends before its turn comes is as unknown as it was', () => {
    const { subject } = register();
    const outcomes: string[] = [];
    const waiting = [job([]), job(outcomes, true), job(outcomes)] as const;
    for (const one of waiting) subject.run(one);
    subject.cancel(waiting[1]);
    subject.cancel(waiting[2]);
    expect(outcomes).toEqual(['unknown', 'rejected']);
    subject.cancel(waiting[0]);
  });

  test('an attempt that may have been accepted by one set of acceptors is not forgotten under the next', () => {
    const { subject, changeSet } = register();
    const outcomes: string[] = [];
    const proposed = job(outcomes);
    subject.run(proposed);
    changeSet();
    subject.cancel(proposed);
    expect(outcomes).toEqual(['unknown']);
  });

  test('an earlier attempt that is found after a later one was proposed gives what the earlier one made', () => {
    const change = increment();
    const first = change.edit(undefined, false);
    change.edit('5 0\n5', true);
    expect(change.verdict).toEqual({ type: 'changed', version: 6, json: '6' });
    expect(change.edit(first, true)).toBe(first);
    expect(change.verdict).toEqual({ type: 'changed', version: 1, json: '1' });
  });
});
