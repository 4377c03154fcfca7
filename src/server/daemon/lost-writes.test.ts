import { describe, expect, test } from 'vitest';
import type { NodeWriteAnswer } from '../../client/index.ts';
import type { EnginePartition, UndoneEntry, WriteRequest } from '../../engine/index.ts';
import { FORMS } from './forms.ts';
import {
  dismiss,
  listLostWrites,
  lostWriteIn,
  type LostWritePage,
  lostWriteQueryIn,
  reapply,
} from './lost-writes.ts';

const EPOCH = 3_145_729;
const NAME = { partitionSet: 'items-00', epoch: EPOCH, lsn: 7, force: false };
const DONE: NodeWriteAnswer = {
  outcome: 'done',
  results: [{ status: 200 }],
  position: { epoch: EPOCH, lsn: 9 },
};

function undone(closed?: UndoneEntry['closed']): UndoneEntry {
  const change = {
    epk: '0A',
    partitionKey: '["a"]',
    createdLsn: 7,
    previous: 0,
    body: Buffer.from('{"id":"a"}'),
  };
  const entry = {
    epoch: EPOCH,
    lsn: 7,
    at: 0,
    statuses: [201, 201],
    changes: [
      { ...change, id: 'a' },
      { ...change, id: 'b' },
    ],
  };
  return { entry, undoneAt: 1000, ...(closed && { closed }) };
}

/** A copy that has undone this, and what was closed in it. */
function copyWith(...list: readonly UndoneEntry[]): { partition: EnginePartition; closed: unknown[] } {
  const closed: unknown[] = [];
  const partition = {
    partitionSet: 'items-00',
    undone: () => list,
    core: { store: { notes: { table: [] } } },
    closeUndone: (position: unknown, how: string) => {
      closed.push([position, how]);
      return Promise.resolve();
    },
  };
  return { partition: partition as unknown as EnginePartition, closed };
}

describe('lost writes', () => {
  test('are listed with their documents', () => {
    const { partition } = copyWith(undone(), undone('returned'));
    const page: unknown = JSON.parse(JSON.stringify(listLostWrites([partition])));
    expect(FORMS.lostWrites.answer.parse(page)).toEqual(page);
    expect(page).toMatchObject({
      hasMore: false,
      lostWrites: [
        {
          partitionSet: 'items-00',
          epoch: EPOCH,
          lsn: 7,
          documents: [{ id: 'a', body: { id: 'a' } }, { id: 'b' }],
        },
        { closed: 'returned' },
      ],
    });
  });

  /** Many, each a position after the one before. */
  function many(count: number, partitionSet: string): EnginePartition {
    const { entry } = undone();
    const list = Array.from({ length: count }, (_, at) => ({
      entry: { ...entry, lsn: at + 1 },
      undoneAt: 1000,
      ...(at % 2 === 1 && { closed: 'returned' as const }),
    }));
    return Object.assign(copyWith(...list).partition, { partitionSet });
  }

  /** Every page, as whoever follows `next` sees them. */
  function pagesOf(partitions: readonly EnginePartition[], query = ''): LostWritePage[] {
    const pages: LostWritePage[] = [];
    for (let next: string | undefined = ''; next !== undefined; next = pages.at(-1)!.next) {
      const asked = new URLSearchParams(query);
      if (next !== '') asked.set('after', next);
      pages.push(listLostWrites(partitions, lostWriteQueryIn(asked)));
    }
    return pages;
  }

  test('come page by page, each once, over partition-sets', () => {
    const partitions = [many(1500, 'items-00'), many(3, 'items-01'), many(1100, 'items-02')];
    const pages = pagesOf(partitions);
    expect(pages.map(({ lostWrites, hasMore }) => [lostWrites.length, hasMore])).toEqual([
      [1000, true],
      [1000, true],
      [603, false],
    ]);
    expect(pages[0]!.next).toBe(`items-00/${EPOCH}/1000`);
    const ids = pages.flatMap(({ lostWrites }) =>
      lostWrites.map(({ partitionSet, lsn }) => `${partitionSet}/${lsn}`),
    );
    expect(new Set(ids).size).toBe(2603);
    expect(pagesOf(partitions, 'limit=700').map(({ lostWrites }) => lostWrites.length)).toEqual([
      700, 700, 700, 503,
    ]);
    expect(pagesOf(partitions, 'limit=100000')).toHaveLength(3);
    const open = pagesOf(partitions, 'open=1').flatMap(({ lostWrites }) => lostWrites);
    expect(open).toHaveLength(750 + 2 + 550);
    expect(open.every(({ closed }) => closed === undefined)).toBe(true);
  });

  test('a page is not too large for one answer', () => {
    const small = listLostWrites([many(10, 'items-00')], { maxBytes: 70 });
    expect(small).toMatchObject({ lostWrites: { length: 3 }, hasMore: true });
    expect(listLostWrites([many(10, 'items-00')], { maxBytes: 1 }).lostWrites).toHaveLength(1);
  });

  test.each(['after=x', 'after=items-00/1', 'after=other/1/1', 'limit=0', 'limit=1.5', 'limit=x'])(
    'refuses %s',
    (query) => {
      expect(() => pagesOf([many(1, 'items-00')], query)).toThrow(/^The field (?:after|limit) is wrong/);
    },
  );

  test('one that is written once more is closed, when all of it was written', async () => {
    const { partition, closed } = copyWith(undone());
    const written: WriteRequest[] = [];
    await reapply(partition, NAME, (request) => {
      written.push(request);
      return Promise.resolve(DONE);
    });
    expect(written.map(({ operations }) => operations[0]!.op)).toEqual(['create', 'create']);
    expect(closed).toEqual([[NAME, 'reapplied']]);
    await reapply(copyWith(undone()).partition, { ...NAME, force: true }, (request) => {
      written.push(request);
      return Promise.resolve(DONE);
    });
    expect(written.at(-1)!.operations[0]!.op).toBe('upsert');
  });

  test.each([
    [{ outcome: 'refused', code: 'NOT_WRITER' }, 'No region takes writes'],
    [{ outcome: 'refused', code: 'DISK_FULL' }, 'DISK_FULL'],
    [{ outcome: 'unknown' }, 'not known yet'],
    [{ ...DONE, results: [{ status: 409, message: 'There is one.' }] }, 'There is one.'],
  ] as const)('%j leaves it open', async (answer, sentence) => {
    const { partition, closed } = copyWith(undone());
    const outcome = reapply(partition, NAME, () => Promise.resolve(answer));
    await expect(outcome).rejects.toMatchObject({ status: 409, code: 'LOST_WRITE_NOT_APPLIED' });
    await expect(outcome).rejects.toThrow(sentence);
    expect(closed).toEqual([]);
  });

  test('one that is dismissed is closed; one that is closed stays as it is', async () => {
    const { partition, closed } = copyWith(undone());
    await dismiss(partition, NAME);
    expect(closed).toEqual([[NAME, 'dismissed']]);
    for (const how of ['returned', 'reapplied', 'dismissed'] as const)
      await expect(dismiss(copyWith(undone(how)).partition, NAME)).rejects.toMatchObject({
        code: 'LOST_WRITE_CLOSED',
      });
    await expect(dismiss(partition, { ...NAME, lsn: 8 })).rejects.toMatchObject({ status: 404 });
  });

  test('a name has all its parts and no others', () => {
    const { force: _, ...name } = NAME;
    expect(lostWriteIn(name)).toEqual(NAME);
    for (const wrong of [null, {}, { ...name, lsn: -1 }, { ...name, epoch: 'x' }, { ...name, more: 1 }])
      expect(() => lostWriteIn(wrong)).toThrow(/is wrong/);
  });
});
