import { describe, expect, test } from 'vitest';
import {
  handling,
  increment,
  memoryUrls,
  openAround,
  openFor,
  storeOf,
} from '../../../test/caspaxos/clusters.ts';
import { isAccept, Lines } from '../../../test/caspaxos/lines.ts';
import { until } from '../../../test/support/until.ts';
import { formatBallot } from '../../protocol/index.ts';
import type { Acceptor } from '../acceptors.ts';
import type { Cluster } from '../cluster.ts';
import { reject } from '../editing.ts';
import { decodeRecord } from '../stores/documents.ts';
import { registerKey } from '../stores/keys.ts';

/** What the acceptors hold, with the versions that every write changes. */
async function documentsIn(urls: readonly string[]): Promise<unknown> {
  return Promise.all(
    urls.map(async (url) => {
      const store = storeOf(url);
      return store.read(await store.list('', 100));
    }),
  );
}

/** Under which ballot each acceptor accepted what it holds of the register. */
async function acceptedIn(urls: readonly string[]): Promise<string[]> {
  const documents = await Promise.all(urls.map((url) => storeOf(url).read([registerKey('k')])));
  return documents.map(([document]) =>
    document ? formatBallot(decodeRecord(document.text, 'k').accepted) : 'none',
  );
}

/** Leaves 1 chosen, and 2 on acceptor 0 only: proposed, and given up. */
async function withTentativeValue(urls: readonly string[]): Promise<void> {
  const network = new Lines(3, isAccept);
  const cluster = await openAround(urls, network.wrap);
  await cluster.change('k', increment);
  await until('all acceptors hold it', async () => new Set(await acceptedIn(urls)).size === 1);
  network.set('mute', 'cut', 'cut');
  const abort = new AbortController();
  network.onMet((met) => {
    if (met === 3) abort.abort();
  });
  const outcome = await cluster.change('k', increment, { signal: abort.signal });
  expect(outcome.outcome).toBe('unknown');
  await cluster.close();
}

/** A cluster that can reach all but one acceptor, and counts the messages it sends by kind. */
async function without(
  missing: number,
  urls: readonly string[],
): Promise<{ cluster: Cluster; sent: string[] }> {
  const sent: string[] = [];
  const wrap = (acceptor: Acceptor, at: number): Acceptor =>
    handling(acceptor, async (requests, index) => {
      if (at === missing) throw new Error('not there');
      sent.push(...requests.map(({ message }) => message.type));
      return acceptor.handle(requests, index);
    });
  return { cluster: await openAround(urls, wrap), sent };
}

describe('rule 5: a read', () => {
  test('returns at once when a quorum agrees, and writes nothing', async () => {
    const acceptors = memoryUrls();
    const cluster = await openFor({ acceptors });
    await cluster.change('k', increment);
    const reader = await openFor({ acceptors });
    await until('all acceptors hold it', async () => new Set(await acceptedIn(acceptors)).size === 1);
    const before = await documentsIn(acceptors);
    expect(await reader.read('k')).toEqual({ value: 1, version: 1 });
    expect(await reader.read('never written')).toEqual({ value: undefined, version: 0 });
    expect(await documentsIn(acceptors)).toEqual(before);
    expect(reader.counters).toMatchObject({ reads: 2, slowReads: 0, attempts: 0 });
  });

  test('does not disturb a writer: the prepared ballot survives it', async () => {
    const acceptors = memoryUrls();
    const writer = await openFor({ acceptors });
    const reader = await openFor({ acceptors });
    for (let at = 0; at < 5; at += 1) {
      await writer.change('k', increment);
      await reader.read('k');
    }
    expect(writer.counters).toMatchObject({ committed: 5, oneRoundTrip: 4, conflicts: 0 });
  });

  test('that finds disagreement runs an identity change, and what it returns is chosen', async () => {
    const urls = memoryUrls();
    await withTentativeValue(urls);
    const one = await without(1, urls);
    expect(await one.cluster.read('k')).toEqual({ value: 2, version: 2 });
    expect(one.cluster.counters.slowReads).toBe(1);
    expect(one.sent).toContain('2a');
    // Everybody sees that from now on, also where the tentative value never was.
    const other = await without(0, urls);
    expect(await other.cluster.read('k')).toEqual({ value: 2, version: 2 });
  });

  test('by a quorum that never saw a tentative value does not see it', async () => {
    const urls = memoryUrls();
    await withTentativeValue(urls);
    const { cluster, sent } = await without(0, urls);
    expect(await cluster.read('k')).toEqual({ value: 1, version: 1 });
    expect(new Set(sent)).toEqual(new Set(['query']));
  });

  test('sees every change that was committed before it began, by anybody', async () => {
    const acceptors = memoryUrls();
    const clusters = await Promise.all([0, 1, 2].map(() => openFor({ acceptors })));
    for (let at = 0; at < 30; at += 1) {
      const outcome = await clusters[at % 3]!.change('k', increment);
      expect(outcome.outcome).toBe('committed');
      const { value } = await clusters[(at + 1) % 3]!.read<number>('k');
      expect(value).toBe(at + 1);
    }
  });

  test("with quorums of two and four does not take a minority's tentative value for chosen", async () => {
    const urls = memoryUrls(5);
    const network = new Lines(5, isAccept);
    const quorums = { phase1: 2, phase2: 4 };
    const writer = await openAround(urls, network.wrap, { quorums });
    await writer.change('k', increment);
    network.set('mute', 'mute', 'cut', 'cut', 'cut');
    const abort = new AbortController();
    network.onMet((met) => {
      if (met === 5) abort.abort();
    });
    expect((await writer.change('k', increment, { signal: abort.signal })).outcome).toBe('unknown');
    // One reader hears first from those that hold the tentative value, the next from those that do not.
    const hearing = async (first: readonly number[]): Promise<number> => {
      const late = (acceptor: Acceptor, at: number): Acceptor =>
        handling(acceptor, async (requests, index) => {
          if (!first.includes(at)) await new Promise((resolve) => setTimeout(resolve, 5));
          return acceptor.handle(requests, index);
        });
      const reader = await openAround(urls, late);
      return (await reader.read<number>('k')).value ?? 0;
    };
    const values = [
      await hearing([0, 1]),
      await hearing([2, 3]),
      await hearing([0, 1]),
      await hearing([3, 4]),
    ];
    expect(values).toEqual(values.toSorted((a, b) => a - b));
  });
});

describe('rule 5: a change that changes nothing', () => {
  test('skips phase 2 when the quorum agrees', async () => {
    const acceptors = memoryUrls();
    const cluster = await openFor({ acceptors });
    await cluster.change('k', increment);
    const { cluster: other, sent } = await without(2, acceptors);
    expect(await other.change('k', (value) => value)).toMatchObject({
      outcome: 'committed',
      changed: false,
      value: 1,
    });
    expect(sent).not.toContain('2a');
  });

  test('runs phase 2 when it does not', async () => {
    const urls = memoryUrls();
    await withTentativeValue(urls);
    const { cluster, sent } = await without(1, urls);
    expect(await cluster.change('k', (value) => value)).toMatchObject({
      changed: false,
      value: 2,
      version: 2,
    });
    expect(sent).toContain('2a');
  });
});

describe('rule 5: a refusal', () => {
  test('reports a chosen value, never a tentative one that then vanishes', async () => {
    const urls = memoryUrls();
    await withTentativeValue(urls);
    const { cluster } = await without(1, urls);
    const outcome = await cluster.compareAndSwap<number>('k', 99, 100);
    expect(outcome).toMatchObject({
      outcome: 'rejected',
      error: { code: 'COMPARISON_FAILED' },
      current: { value: 2, version: 2 },
    });
    const elsewhere = await without(0, urls);
    expect(await elsewhere.cluster.read('k')).toEqual({ value: 2, version: 2 });
  });

  test('by an editor likewise', async () => {
    const urls = memoryUrls();
    await withTentativeValue(urls);
    const { cluster } = await without(1, urls);
    const outcome = await cluster.change<number>('k', (value) => (value === 2 ? reject('two is enough') : 7));
    expect(outcome).toMatchObject({
      outcome: 'rejected',
      error: { code: 'REJECTED_BY_EDITOR', message: 'two is enough' },
      current: { value: 2, version: 2 },
    });
    const elsewhere = await without(0, urls);
    expect(await elsewhere.cluster.read('k')).toEqual({ value: 2, version: 2 });
  });
});
