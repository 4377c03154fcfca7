import { describe, expect, test } from 'vitest';
import { handling, increment, memoryUrls, openAround, openFor } from '../../../test/caspaxos/clusters.ts';
import { Lines } from '../../../test/caspaxos/lines.ts';
import type { Ballot, Phase2bMessage } from '../../protocol/index.ts';
import {
  AcceptorStateMachine,
  BallotSource,
  DEFAULT_PROPOSER_POLICY,
  LearnerStateMachine,
  majority,
  type QuorumSystem,
  RegisterProposer,
} from '../core/index.ts';

const ballot = (counter: number, proposer = 'p'): Ballot => ({ counter, proposer, incarnation: 1 });
const acknowledge = (acceptor: number, at: Ballot, value = 'x'): Phase2bMessage<string> => ({
  type: '2b',
  acceptor,
  ballot: at,
  value,
});

describe('rule 6: the learner', () => {
  test('learns from a quorum of acknowledgements of one ballot', () => {
    const learner = new LearnerStateMachine<string>(majority(3));
    expect(learner.learn(acknowledge(0, ballot(1)))).toBeUndefined();
    expect(learner.learn(acknowledge(2, ballot(1)))).toEqual({ ballot: ballot(1), value: 'x' });
  });

  test('does not add up different ballots, though the value is the same', () => {
    const learner = new LearnerStateMachine<string>(majority(5));
    expect(learner.learn(acknowledge(0, ballot(1)))).toBeUndefined();
    expect(learner.learn(acknowledge(1, ballot(1)))).toBeUndefined();
    expect(learner.learn(acknowledge(2, ballot(2)))).toBeUndefined();
    expect(learner.learn(acknowledge(3, ballot(2)))).toBeUndefined();
    expect(learner.learn(acknowledge(4, ballot(2)))).toEqual({ ballot: ballot(2), value: 'x' });
  });

  test('does not add up two proposers with the same counter, or two lives of one', () => {
    const learner = new LearnerStateMachine<string>(majority(3));
    learner.learn(acknowledge(0, ballot(1, 'a')));
    expect(learner.learn(acknowledge(1, ballot(1, 'b')))).toBeUndefined();
    expect(learner.learn(acknowledge(2, { ...ballot(1, 'b'), incarnation: 2 }))).toBeUndefined();
  });

  test('counts an acceptor once, and takes lower ballots for old news', () => {
    const learner = new LearnerStateMachine<string>(majority(3));
    learner.learn(acknowledge(0, ballot(2)));
    expect(learner.learn(acknowledge(0, ballot(2)))).toBeUndefined();
    expect(learner.learn(acknowledge(1, ballot(1)))).toBeUndefined();
    expect(learner.state).toEqual({ ballot: ballot(2), acknowledged: 0b001 });
  });
});

describe('rule 6: flexible quorums', () => {
  test('two of five promise, four accept: reads of what is chosen go on with any two', async () => {
    const acceptors = memoryUrls(5);
    const network = new Lines(5);
    const quorums = { phase1: 2, phase2: 4 };
    const cluster = await openAround(acceptors, network.wrap, { quorums });
    expect(cluster.configuration.quorums).toEqual(quorums);
    network.set('open', 'open', 'open', 'open', 'cut');
    expect(await cluster.change('k', increment)).toMatchObject({ outcome: 'committed', value: 1 });
    network.set('open', 'open', 'open', 'cut', 'cut');
    expect(await cluster.change('k', increment, { timeoutMs: 100 })).not.toMatchObject({
      outcome: 'committed',
    });
  });

  test('four of five promise, two accept: a change in one round trip needs two', async () => {
    const acceptors = memoryUrls(5);
    const network = new Lines(5);
    const cluster = await openAround(acceptors, network.wrap, { quorums: { phase1: 4, phase2: 2 } });
    // Twice, so that all have heard of the second before any is cut off.
    await cluster.change('k', increment);
    await cluster.change('k', increment);
    await cluster.read('k');
    network.set('cut', 'cut', 'cut', 'open', 'open');
    expect(await cluster.change('k', increment)).toMatchObject({ outcome: 'committed', value: 3 });
    const other = await openFor({ acceptors });
    expect((await other.read('k')).value).toBe(3);
  });

  test('are the same for everybody: they come from the acceptors, not from the options', async () => {
    const acceptors = memoryUrls(5);
    await openFor({ acceptors, quorums: { phase1: 2, phase2: 4 } });
    const other = await openFor({ acceptors, quorums: { phase1: 4, phase2: 2 } });
    expect(other.configuration.quorums).toEqual({ phase1: 2, phase2: 4 });
  });

  test.each([
    { phase1: 2, phase2: 3 },
    { phase1: 0, phase2: 5 },
    { phase1: 6, phase2: 5 },
    { phase1: 1.5, phase2: 4 },
  ])('that need not meet are refused before anything is written: %o', async (quorums) => {
    const acceptors = memoryUrls(5);
    await expect(openFor({ acceptors, quorums })).rejects.toMatchObject({ code: 'QUORUMS_INVALID' });
    const later = await openFor({ acceptors });
    expect(later.configuration).toMatchObject({ number: 1 });
    expect(later.configuration.quorums).toBeUndefined();
  });
});

describe("rule 6: a quorum checker of one's own", () => {
  /** Two acceptors in each of two regions, and one that breaks ties; a change needs a quorum in both regions, or the tie. */
  const regions: QuorumSystem = {
    size: 5,
    isPhase1Quorum: (mask) => (mask & 0b00011) !== 0 && (mask & 0b01100) !== 0 && (mask & 0b10000) !== 0,
    isPhase2Quorum: (mask) =>
      (mask & 0b00011) === 0b00011 || (mask & 0b01100) === 0b01100 || (mask & 0b10000) !== 0,
    description: 'one of each region and the tie breaker, then a region or the tie breaker',
  };

  test('decides what a proposer waits for', () => {
    const acceptors = [0, 1, 2, 3, 4].map((index) => new AcceptorStateMachine<string>(undefined, index));
    const results: unknown[] = [];
    const sent: Parameters<ConstructorParameters<typeof RegisterProposer<string>>[2]['broadcast']>[0][] = [];
    const proposer = new RegisterProposer<string>(
      new BallotSource({ proposer: 'p', incarnation: 1 }),
      regions,
      {
        broadcast: (message) => sent.push(message),
        wait: () => undefined,
        finished: (result) => results.push(result),
      },
      DEFAULT_PROPOSER_POLICY,
    );
    const deliver = (index: number): void => {
      const message = sent.at(-1)!;
      const role = acceptors[index]!;
      proposer.onReply(
        index,
        message,
        message.type === '1a' ? role.onPhase1a(message) : role.onPhase2a(message),
      );
    };
    proposer.start((current) => `${current ?? ''}a`);
    deliver(0);
    deliver(1);
    deliver(4);
    expect(sent).toHaveLength(1);
    deliver(2);
    expect(sent.at(-1)).toMatchObject({ type: '2a', value: 'a' });
    deliver(2);
    expect(results).toEqual([]);
    deliver(3);
    expect(results).toMatchObject([{ outcome: 'committed', value: 'a' }]);
  });
});

test('rule 6: an answer that claims to come from another acceptor is not counted twice', async () => {
  const urls = memoryUrls();
  // Acceptor 1 is cut off; acceptor 0 answers twice as fast, but it is still one acceptor.
  const cluster = await openAround(urls, (acceptor, at) =>
    handling(acceptor, async (requests, index) => {
      if (at > 0) throw new Error('not there');
      return acceptor
        .handle([...requests, ...requests], index)
        .then((replies) => replies.slice(0, requests.length));
    }),
  );
  expect(await cluster.change('k', increment, { timeoutMs: 50 })).toMatchObject({ outcome: 'rejected' });
});
