import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { EngineSet } from '../../test/engine/engine-set.ts';
import { until } from '../../test/support/until.ts';
import { epkOf, exportLostWrites, type LostWrite, lostWrite, nodeJson } from './index.ts';

const REGIONS = ['west', 'east'];

describe('writes that a failover lost', () => {
  let set: EngineSet;

  beforeEach(async () => {
    set = new EngineSet({ regions: REGIONS, consistency: { level: 'Session' } });
    for (const region of REGIONS) {
      await set.partition(region).incarnation();
      set.partition(region).attach({ mayWrite: () => true, grant: () => 0, changed: () => {} });
    }
    await set
      .partition('east')
      .assume({ role: 'reader', serves: { level: 'Session' }, epoch: 1, writer: 'west' });
    await set.partition('west').assume({
      role: 'writer',
      serves: { level: 'Session' },
      keeps: { level: 'Session' },
      epoch: 1,
      accepts: true,
      commitSet: REGIONS,
    });
    await set.put('west', 'kept', 'first');
    await until('the east has it', () => set.log('east').length === 1);
    set.connect('west', 'east', false);
    await set.put('west', 'kept', 'second');
    await set.put('west', 'new', 'only here');
    await set.partition('east').assume({
      role: 'writer',
      serves: { level: 'Session' },
      keeps: { level: 'Session' },
      epoch: 2,
      accepts: true,
      commitSet: ['east'],
    });
    await set
      .partition('west')
      .assume({ role: 'reader', serves: { level: 'Session' }, epoch: 2, writer: 'east' });
    set.connect('west', 'east', true);
    await until('the west has undone both', () => set.partition('west').undone().length === 2);
  });

  afterEach(() => set.close());

  async function read(region: string, id: string): Promise<unknown> {
    const answer = await set.partition(region).read({ key: { epk: epkOf(['k']), id }, level: 'Eventual' });
    const body = answer.outcome === 'done' ? answer.version?.body : undefined;
    return body && (nodeJson.parse(body) as { value: string }).value;
  }

  test('are listed with document, epoch, LSN and times, and exported as lines of JSON', async () => {
    expect(await read('west', 'kept')).toBe('first');
    expect(await read('west', 'new')).toBeUndefined();
    const lost = set.partition('west').undone().map(lostWrite);
    expect(lost).toMatchObject([
      { lsn: 2, documents: [{ id: 'kept', partitionKey: ['k'], body: { value: 'second' } }] },
      { lsn: 3, documents: [{ id: 'new', partitionKey: ['k'], body: { value: 'only here' } }] },
    ]);
    for (const { writtenAt, undoneAt, epoch } of lost) {
      expect(Date.parse(undoneAt)).toBeGreaterThanOrEqual(Date.parse(writtenAt));
      expect(epoch).toBe(lost[0]!.epoch);
    }
    const lines = [...exportLostWrites(set.partition('west').undone())];
    expect(lines.map((line) => JSON.parse(line) as LostWrite)).toEqual(lost);
  });

  test('can be written once more, once however often it is tried, and are then closed', async () => {
    const undone = set.partition('west').undone();
    for (const attempt of ['first', 'second']) {
      for (const [at, lost] of undone.entries()) {
        const answers = await set.partition('east').rewrite(lost);
        expect(answers, attempt).toMatchObject([
          { outcome: 'done', results: [{ status: at === 0 ? 200 : 201 }] },
        ]);
      }
    }
    expect(set.log('east')).toHaveLength(3);
    expect(await read('east', 'kept')).toBe('second');
    expect(await read('east', 'new')).toBe('only here');
    for (const { entry } of undone) await set.partition('west').closeUndone(entry, 'reapplied');
    expect(
      set
        .partition('west')
        .undone()
        .map(({ closed }) => closed),
    ).toEqual(['reapplied', 'reapplied']);
  });

  test('leave alone what was changed since, unless they are forced', async () => {
    await set.put('east', 'kept', 'newer');
    await set.put('east', 'new', 'newer');
    const [kept, created] = set.partition('west').undone();
    const refused = [
      await set.partition('east').rewrite(kept!),
      await set.partition('east').rewrite(created!),
    ];
    expect(refused).toMatchObject([[{ results: [{ status: 412 }] }], [{ results: [{ status: 409 }] }]]);
    expect(await read('east', 'kept')).toBe('newer');
    await set.partition('east').rewrite(kept!, { force: true });
    expect(await read('east', 'kept')).toBe('second');
  });
});
