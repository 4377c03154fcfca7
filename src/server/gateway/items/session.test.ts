/** Consistency levels and session tokens. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { BatonError } from '../../../client/index.ts';
import { ItemsStage, type Seen } from './testing/items-stage.ts';

let stage: ItemsStage;

beforeEach(async () => {
  stage = await ItemsStage.open({ level: 'Session', partitionSets: 2 });
});
afterEach(() => stage.close());

const create = (id: string): Promise<Seen> =>
  stage.ask('POST', 'docs', { key: ['a'], body: { id, pk: 'a' } });
const read = (headers: Record<string, string>): Promise<Seen> =>
  stage.ask('GET', 'docs/x', { key: ['a'], headers });
const tokenIn = ({ headers }: Seen): string => headers['x-ms-session-token']!;

describe('a session token', () => {
  test('is the range, the epoch and the place in its log', async () => {
    const token = tokenIn(await create('x'));
    expect(token).toMatch(/^[12]:1048\d{3}#1$/);
    expect(tokenIn(await create('y'))).toBe(token.replace(/#1$/, '#2'));
  });

  test('of the range counts, others do not', async () => {
    const token = tokenIn(await create('x'));
    const other = token.startsWith('1') ? '2' : '1';
    for (const session of [token, `${other}:99#99,${token}`, `${token}#1=5#2=6`, ` ${token}`, `${other}:9#9`])
      expect((await read({ 'x-ms-session-token': session })).status).toBe(200);
  });

  test('that a client put together from two, of a place that never was, is answered with what there is', async () => {
    const token = tokenIn(await create('x'));
    const answer = await read({ 'x-ms-session-token': token.replace('#1', '#7') });
    expect(answer.status).toBe(200);
    expect(tokenIn(answer)).toBe(token);
  });

  test('that was undone by a failover is answered with what there is, and a token of that', async () => {
    const token = tokenIn(await create('x'));
    const range = token.split(':')[0]!;
    const answer = await read({ 'x-ms-session-token': `${range}:17#4` });
    expect(answer.status).toBe(200);
    expect(tokenIn(answer)).toBe(token);
    const reads = stage.asked.filter(({ method }) => method === 'read');
    expect(reads).toHaveLength(2);
  });

  test('that was undone is answered by the region that knows it: others may not have got as far', async () => {
    const token = tokenIn(await create('x'));
    const tried = { startedAtMs: 0, durationMs: 1, why: 'nearest', hedge: false } as const;
    const attempts = [
      { ...tried, attempt: 1, region: 'west', what: 'SESSION_AHEAD' },
      { ...tried, attempt: 2, region: 'north', what: 'SESSION_UNDONE' },
      { ...tried, attempt: 3, region: 'east', what: 'CANCELLED' },
    ];
    const reads = vi.spyOn(stage.context.partitions, 'read');
    reads.mockRejectedValueOnce(
      new BatonError('SESSION_UNDONE', { diagnostics: { operation: 'read', durationMs: 1, attempts } }),
    );
    expect((await read({ 'x-ms-session-token': token })).status).toBe(200);
    const [first, second] = reads.mock.calls.map(([call]) => call);
    expect(first).toMatchObject({ session: { lsn: 1 }, preferred: undefined });
    expect(second).toMatchObject({ session: undefined, preferred: 'north' });
  });

  test.each(['x', '1', '1:', '1:2', '1:2#x', '1:2#-3', '1:2#3,', ':2#3', `1:${'9'.repeat(20)}#1`])(
    'that is damaged is refused: %s',
    async (session) => {
      await create('x');
      expect(await read({ 'x-ms-session-token': session })).toMatchObject({ status: 400 });
    },
  );
});

describe('a level', () => {
  test('may be weaker than that of the account, not stronger', async () => {
    await create('x');
    for (const [level, status] of [
      ['Strong', 400],
      ['BoundedStaleness', 400],
      ['Session', 200],
      ['ConsistentPrefix', 200],
      ['eventual', 200],
      ['Perfect', 400],
    ] as const)
      expect((await read({ 'x-ms-consistency-level': level })).status).toBe(status);
  });
});
