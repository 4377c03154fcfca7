import { describe, expect, test } from 'vitest';
import { increment, memoryUrls, openFor, storeOf } from '../../../test/caspaxos/clusters.ts';
import { type Ballot, compareBallots } from '../../protocol/index.ts';
import { hybrid, sequential } from '../core/index.ts';
import { decodeRecord } from '../stores/documents.ts';
import { registerKey } from '../stores/keys.ts';

/** The highest ballot under which anything was accepted. */
async function acceptedBallot(urls: readonly string[], key: string): Promise<Ballot> {
  const documents = await Promise.all(urls.map((url) => storeOf(url).read([registerKey(key)])));
  const ballots = documents.flatMap(([document]) =>
    document ? [decodeRecord(document.text, key).accepted] : [],
  );
  return ballots.sort(compareBallots).at(-1)!;
}

describe('rule 1: a ballot of a register is unique for ever', () => {
  test('two processes with one name make different ballots', async () => {
    const acceptors = memoryUrls();
    const seen = new Set<number>();
    for (let life = 0; life < 5; life += 1) {
      const cluster = await openFor({ acceptors, proposer: 'same' });
      await cluster.change('k', increment);
      await cluster.close();
      const ballot = await acceptedBallot(acceptors, 'k');
      expect(ballot.proposer).toBe('same');
      seen.add(ballot.incarnation);
    }
    expect(seen.size).toBe(5);
  });

  test.each([
    ['remembers the register', true],
    ['forgets the register in between', false],
  ])('a process that %s never uses one for two changes', async (_, oneRoundTrip) => {
    const acceptors = memoryUrls();
    // A clock that stands still is no help.
    const cluster = await openFor({ acceptors, oneRoundTrip, ballots: hybrid(() => 1_000_000) });
    const seen: string[] = [];
    for (const key of ['a', 'b', 'a', 'b', 'a']) {
      await cluster.change(key, increment);
      seen.push(JSON.stringify([key, await acceptedBallot(acceptors, key)]));
    }
    expect(new Set(seen).size).toBe(5);
  });

  test('a clock that stops, jumps or runs backwards costs no correctness', async () => {
    const acceptors = memoryUrls();
    let now = 1_000_000;
    const cluster = await openFor({ acceptors, ballots: hybrid(() => now) });
    const other = await openFor({ acceptors, ballots: sequential });
    let highest = 0;
    for (const clock of [1_000_000, 1_000_000, 5, -7, 2_000_000, 0]) {
      now = clock;
      expect(await cluster.change('k', increment)).toMatchObject({ outcome: 'committed' });
      expect(await other.change('k', increment)).toMatchObject({ outcome: 'committed' });
      const { counter } = await acceptedBallot(acceptors, 'k');
      expect(counter).toBeGreaterThan(highest);
      highest = counter;
    }
    expect((await cluster.read('k')).value).toBe(12);
  });

  test('a proposer that was idle is not refused merely for being stale, if it follows the clock', async () => {
    const acceptors = memoryUrls();
    let now = 1_000_000;
    const busy = await openFor({ acceptors, ballots: hybrid(() => now) });
    const idle = await openFor({ acceptors, ballots: hybrid(() => now) });
    for (let at = 0; at < 10; at += 1) {
      now += 1000;
      await busy.change('k', increment);
    }
    now += 1000;
    await idle.change('k', increment);
    expect(idle.counters).toMatchObject({ attempts: 1, conflicts: 0 });
  });
});
