import { describe, expect, test } from 'vitest';
import { handling, increment, memoryUrls, openAround, openFor } from '../../../test/caspaxos/clusters.ts';
import { formatBallot, type Phase1aMessage, type Phase2aMessage } from '../../protocol/index.ts';
import type { Acceptor } from '../acceptors.ts';
import {
  AcceptorStateMachine,
  BallotSource,
  DEFAULT_PROPOSER_POLICY,
  majority,
  type ProposalResult,
  RegisterProposer,
} from '../core/index.ts';

type Message = Phase1aMessage | Phase2aMessage<string>;

/** A proposer over three acceptors, where the test carries each message. */
function scripted() {
  const acceptors = [0, 1, 2].map((index) => new AcceptorStateMachine<string>(undefined, index));
  const sent: Message[] = [];
  const results: ProposalResult<string>[] = [];
  const proposer = new RegisterProposer<string>(
    new BallotSource({ proposer: 'p', incarnation: 1 }),
    majority(3),
    {
      broadcast: (message) => sent.push(message),
      wait: () => undefined,
      finished: (result) => results.push(result),
    },
    DEFAULT_PROPOSER_POLICY,
  );
  const deliver = (indices: readonly number[], how: 'answered' | 'lost' = 'answered'): void => {
    const message = sent.at(-1)!;
    for (const index of indices) {
      const role = acceptors[index]!;
      const reply = message.type === '1a' ? role.onPhase1a(message) : role.onPhase2a(message);
      proposer.onReply(index, message, how === 'lost' ? { type: 'failed' } : reply);
    }
  };
  return { proposer, acceptors, sent, results, deliver };
}

const append = (text: string) => (current: string | undefined) => (current ?? '') + text;

function prepared() {
  const all = scripted();
  all.proposer.start(append('a'));
  all.deliver([0, 1]);
  all.deliver([0, 1]);
  return all;
}

describe('rule 2: a ballot is used for one value only', () => {
  test('after an accept whose outcome is unknown it is never used again', () => {
    const { proposer, sent, deliver } = scripted();
    proposer.start(append('a'));
    deliver([0, 1, 2]);
    const first = sent.at(-1)!;
    expect(first.type).toBe('2a');
    deliver([0, 1], 'lost');
    expect(proposer.phase).toBe('waiting');
    proposer.retry();
    const ballots = sent.map(({ ballot }) => formatBallot(ballot));
    expect(sent.at(-1)!.type).toBe('1a');
    expect(ballots.filter((ballot) => ballot === formatBallot(first.ballot))).toHaveLength(2);
    expect(ballots.at(-1)).not.toBe(formatBallot(first.ballot));
  });

  test('a prepared ballot is used once, and the next change needs another', () => {
    const { proposer, sent, results, deliver } = prepared();
    proposer.start(append('b'));
    expect(sent.at(-1)).toMatchObject({ type: '2a', value: 'ab' });
    deliver([0, 1]);
    proposer.start(append('c'));
    deliver([0, 1]);
    expect(results.map((result) => result.outcome)).toEqual(['committed', 'committed', 'committed']);
    const used = sent.filter(({ type }) => type === '2a').map(({ ballot }) => formatBallot(ballot));
    expect(new Set(used).size).toBe(3);
  });

  test('a prepared ballot whose accept was lost is gone', () => {
    const { proposer, sent, deliver } = prepared();
    proposer.start(append('b'));
    const used = formatBallot(sent.at(-1)!.ballot);
    deliver([0, 1], 'lost');
    proposer.retry();
    expect(sent.at(-1)!.type).toBe('1a');
    expect(formatBallot(sent.at(-1)!.ballot)).not.toBe(used);
  });

  test('a prepared ballot is gone when the change is cancelled', () => {
    const { proposer, sent } = prepared();
    proposer.start(append('b'));
    proposer.cancel();
    proposer.start(append('c'));
    expect(sent.at(-1)!.type).toBe('1a');
  });

  test('late acknowledgements of a cancelled change do not prepare a ballot again', () => {
    const { proposer, acceptors, sent } = prepared();
    proposer.start(append('b'));
    const cancelled = sent.at(-1) as Phase2aMessage<string>;
    proposer.cancel();
    for (const [index, role] of acceptors.entries())
      proposer.onReply(index, cancelled, role.onPhase2a(cancelled));
    proposer.start(append('c'));
    expect(sent.at(-1)!.type).toBe('1a');
  });

  test('an editor that throws leaves no ballot behind that could carry another value', () => {
    const { proposer, sent } = prepared();
    expect(() =>
      proposer.start(() => {
        throw new Error('no');
      }),
    ).toThrow('no');
    proposer.start(append('c'));
    expect(sent.at(-1)!.type).toBe('1a');
  });

  test('a whole cluster under contention, with an acceptor that loses every third answer, never proposes two values', async () => {
    const proposals = new Map<string, Set<string>>();
    let count = 0;
    const watching = (acceptor: Acceptor): Acceptor =>
      handling(acceptor, async (requests, index) => {
        for (const { key, message } of requests) {
          if (message.type !== '2a') continue;
          const ballot = `${key} ${formatBallot(message.ballot)}`;
          proposals.set(ballot, (proposals.get(ballot) ?? new Set()).add(message.value));
        }
        const replies = await acceptor.handle(requests, index);
        count += 1;
        if (count % 3 === 0) throw new Error('lost');
        return replies;
      });
    const urls = memoryUrls();
    const clusters = await Promise.all([0, 1, 2].map(() => openAround(urls, watching)));
    const outcomes = await Promise.all(
      clusters.flatMap((cluster) => Array.from({ length: 20 }, () => cluster.change('k', increment))),
    );
    expect(outcomes.filter(({ outcome }) => outcome === 'committed').length).toBeGreaterThan(40);
    expect(proposals.size).toBeGreaterThan(50);
    for (const values of proposals.values()) expect(values.size).toBe(1);
    for (const cluster of clusters) expect(cluster.counters.alarms).toBe(0);
  });

  test('an editor that throws once does not spoil the changes after it', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    await cluster.change('k', increment);
    const thrown = await cluster.change('k', () => {
      throw new Error('no');
    });
    expect(thrown).toMatchObject({ outcome: 'rejected', error: { code: 'EDITOR_THREW' } });
    expect(await cluster.change('k', increment)).toMatchObject({
      outcome: 'committed',
      value: 2,
      version: 2,
    });
  });
});
