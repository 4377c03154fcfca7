import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Daemons, type Region } from '../../../test/server/daemons.ts';
import { until } from '../../../test/support/until.ts';
import type { AgentEvent, FailoverState, HistoryEntry } from '../../failover/index.ts';
import { HistoryKeeper, type HistoryOptions } from './history.ts';

let directory: string;
let file: string;
const warned: string[] = [];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'baton-history-'));
  file = join(directory, 'history.jsonl');
  warned.length = 0;
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

function keeper(options: HistoryOptions = {}): HistoryKeeper {
  return new HistoryKeeper({ file, warn: (sentence) => void warned.push(sentence), ...options });
}

function entry(to: number): HistoryEntry {
  const at = new Date(Date.UTC(2030, 0, 1, 0, 0, to)).toISOString();
  return { at, what: 'raised', who: 'east', why: 'silence', from: to - 1, to, region: 'west' };
}

/** As an agent sees it: a state with the last three. */
function stateAt(last: number): FailoverState {
  const history = [last - 2, last - 1, last].filter((to) => to > 1).map(entry);
  return { history, step: last, phase: 'Ungraceful' } as unknown as FailoverState;
}

function see(into: HistoryKeeper, set: string, last: number, before?: number): void {
  const event = {
    event: 'state',
    state: stateAt(last),
    ...(before !== undefined && { before: stateAt(before) }),
  };
  into.onEvent(set, event as unknown as AgentEvent);
}

const BOTH = new Set(['a', 'b']);

function seenBy(one: HistoryKeeper, sets: ReadonlySet<string> = BOTH): [string, number][] {
  return one.page(sets, { limit: 1000 }).entries.map(({ partitionSet, to }) => [partitionSet, to]);
}

describe('what a node keeps', () => {
  test('outlives it, and is told once', async () => {
    const first = keeper();
    see(first, 'a', 3);
    see(first, 'b', 2);
    see(first, 'a', 4, 3);
    await first.close();
    const second = keeper();
    expect(seenBy(second)).toEqual([
      ['a', 2],
      ['a', 3],
      ['b', 2],
      ['a', 4],
    ]);
    // What happened while it was away: as much of it as the state still has.
    see(second, 'a', 5);
    see(second, 'b', 2);
    await second.close();
    const third = keeper();
    expect(seenBy(third, new Set(['a']))).toEqual([
      ['a', 2],
      ['a', 3],
      ['a', 4],
      ['a', 5],
    ]);
    expect(seenBy(third, new Set(['b']))).toEqual([['b', 2]]);
    expect(third.of('a', stateAt(6)).map(({ to }) => to)).toEqual([2, 3, 4, 5, 6]);
    expect(third.of('a', undefined)[0]).toEqual(entry(2));
    expect(warned).toEqual([]);
  });

  test('is read page by page, the last page first, over a restart too', async () => {
    const first = keeper();
    for (let to = 2; to <= 11; to += 1) see(first, to % 2 === 0 ? 'a' : 'b', to, to - 1);
    const page = first.page(BOTH, { limit: 4 });
    expect(page.entries.map(({ to }) => to)).toEqual([8, 9, 10, 11]);
    await first.close();
    const second = keeper();
    const older = second.page(BOTH, { limit: 4, before: page.next });
    expect(older.entries.map(({ to }) => to)).toEqual([4, 5, 6, 7]);
    const oldest = second.page(BOTH, { limit: 4, before: older.next });
    expect(oldest.entries.map(({ to }) => to)).toEqual([2, 3]);
    expect(oldest.next).toBeUndefined();
    const ofA = second.page(new Set(['a']), { limit: 3 });
    expect(ofA.entries.map(({ to }) => to)).toEqual([6, 8, 10]);
    expect(second.page(new Set(['a']), { limit: 3, before: ofA.next }).entries.map(({ to }) => to)).toEqual([
      2, 4,
    ]);
  });

  test('is told onwards from a number', async () => {
    const first = keeper();
    for (let to = 2; to <= 6; to += 1) see(first, 'a', to, to - 1);
    const since = (one: HistoryKeeper, after: number, limit = 100): number[] =>
      one.since(after, limit).map(({ n }) => n);
    expect(since(first, 0)).toEqual([1, 2, 3, 4, 5]);
    expect(since(first, 3)).toEqual([4, 5]);
    expect(since(first, 0, 2)).toEqual([4, 5]);
    expect(since(first, 5)).toEqual([]);
    await first.close();
    expect(since(keeper(), 4)).toEqual([5]);
  });

  test('does not grow without end', async () => {
    const maxBytes = 2000;
    const first = keeper({ maxBytes });
    for (let to = 2; to <= 200; to += 1) see(first, 'a', to, to - 1);
    const seen = seenBy(first);
    expect(seen.at(-1)).toEqual(['a', 200]);
    expect(seen.length).toBeGreaterThan(10);
    expect(seen.length).toBeLessThan(40);
    await first.close();
    expect(statSync(file).size).toBeLessThanOrEqual(maxBytes);
    expect(statSync(`${file}.old`).size).toBeLessThanOrEqual(maxBytes);
    const second = keeper({ maxBytes });
    expect(seenBy(second)).toEqual(seen);
    see(second, 'a', 201, 200);
    expect(second.page(BOTH, { limit: 2 }).entries.map(({ n }) => n)).toEqual([199, 200]);
    await second.close();
  });

  test('passes over what is damaged, and goes on on a line of its own', async () => {
    const first = keeper();
    see(first, 'a', 2);
    await first.close();
    appendFileSync(file, 'no json\n{"n":7}\n{"n":8,"partitionSet":"a","at":"20');
    const second = keeper();
    expect(seenBy(second)).toEqual([['a', 2]]);
    see(second, 'a', 3, 2);
    await second.close();
    expect(seenBy(keeper())).toEqual([
      ['a', 2],
      ['a', 3],
    ]);
  });

  test('what a newer version wrote is kept', () => {
    appendFileSync(file, `${JSON.stringify({ n: 1, partitionSet: 'a', ...entry(2), what: 'rerouted' })}\n`);
    expect(keeper().page(BOTH, { limit: 1 }).entries).toMatchObject([{ what: 'rerouted' }]);
  });

  test('that it cannot be written is said, and stops nothing', async () => {
    const gone = keeper({ file: join(directory, 'none', 'history.jsonl') });
    see(gone, 'a', 2);
    await gone.close();
    expect(warned).toEqual([expect.stringMatching(/history\.jsonl cannot be written: ENOENT\.$/)]);
    expect(seenBy(gone)).toEqual([['a', 2]]);
    mkdirSync(file);
    keeper();
    expect(warned[1]).toMatch(/cannot be read: EISDIR\.$/);
  });

  test('without a file it is in memory', () => {
    const one = new HistoryKeeper();
    see(one, 'a', 2);
    expect(seenBy(one)).toEqual([['a', 2]]);
    expect(() => readFileSync(file)).toThrow();
  });
});

test('a node that is started again still knows what it saw before', async () => {
  const there = await Daemons.running();
  try {
    const changes = async (query = ''): Promise<{ history: { to: number; n: number }[]; next?: number }> =>
      (await there.get('north', `/v1/history?partitionSet=items-00${query}`)).json as never;
    for (const target of ['east', 'west']) {
      await there.wish('north', 'items-00', { intent: { kind: 'switchover', target } });
      await until(
        `the writes are in ${target}`,
        async () => (await there.get(target as Region, '/primary?partitionSet=items-00')).status === 200,
      );
    }
    await until('all of it is known', async () => (await changes()).history.length >= 4);
    const before = await changes('&limit=1000');
    await there.stop('north');
    await there.start('north');
    const after = await changes('&limit=1000');
    expect(after.history.slice(0, before.history.length)).toEqual(before.history);
    // More than the state alone would have told.
    expect(before.history.length).toBeGreaterThan(3);

    const last = await changes('&limit=1');
    expect(last).toEqual({ history: after.history.slice(-1), next: after.history.at(-1)!.n });
    const earlier = await changes(`&limit=2&before=${last.next}`);
    expect(earlier.history).toEqual(after.history.slice(-3, -1));
    expect((await there.get('north', '/v1/history?partitionSet=none')).status).toBe(404);
    for (const wrong of ['before=x', 'limit=0'])
      expect((await there.get('north', `/v1/history?${wrong}`)).status).toBe(400);
  } finally {
    await there.end();
  }
});
