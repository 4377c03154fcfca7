/** Writes that found no writer anywhere wait for one search that is made for all of them, and go on when it finds one. */
import {
  BatonClient,
  BatonError,
  type ConnectOptions,
  type Container,
  type NodeWriteAnswer,
} from 'baton/client';
import { expect, onTestFinished, test } from 'vitest';
import { until } from '../support/until.ts';
import { CountingHost } from '../transport/rpc-scene.ts';
import { done, FakeAccount, NEVER, PATIENT } from './fake-node.ts';

/** So long that nobody would be asked again in time: only what is found ends the wait. */
const PACING = { ...PATIENT, firstBackoffMs: 600_000, mostSoughtBackoffMs: 600_000 };
const WRITES = 20;

async function scene(
  options: Partial<ConnectOptions> = {},
): Promise<{ account: FakeAccount; client: BatonClient; items: Container }> {
  const account = await FakeAccount.start({ partitionSets: 1 });
  const client = await BatonClient.connect({
    account: 'shop',
    endpoints: account.endpoints,
    pacing: PACING,
    timeoutMs: 120_000,
    ...options,
  });
  onTestFinished(() => client.close());
  return { account, client, items: client.container('items') };
}

/** East refuses until it is told to write; it says that it can when it is asked. */
function elect(account: FakeAccount): { becomesWriter: () => void } {
  let isWriter = false;
  const east = account.node('east').script;
  east.write = (): NodeWriteAnswer => (isWriter ? done() : { outcome: 'refused', code: 'NOT_WRITER' });
  east.look = ({ partitionSets }) =>
    isWriter ? partitionSets.map((partitionSet) => ({ partitionSet, gcn: 2 })) : [];
  return { becomesWriter: () => (isWriter = true) };
}

test('a write that waits goes on as soon as a region says that it can write', async () => {
  const { account, items } = await scene();
  const { becomesWriter } = elect(account);
  const write = items.create({ id: 'a' });
  await until('it is sought', () => account.node('east').count('look') > 2);
  expect(account.node('east').count('write'), 'nobody is asked to write meanwhile').toBe(1);
  becomesWriter();
  const { diagnostics } = await write;
  expect(diagnostics.attempts).toMatchObject([
    { region: 'west', what: 'NOT_WRITER' },
    { region: 'east', what: 'NOT_WRITER' },
    { region: 'north', what: 'NOT_WRITER' },
    { region: 'east', what: 'DONE', why: 'named as the writer' },
  ]);
  const looks = account.node('east').count('look');
  await items.upsert({ id: 'a' });
  expect(account.node('east').count('write')).toBe(3);
  expect(account.node('east').count('look'), 'nothing is sought any more').toBe(looks);
});

test('one search for all that wait, and a silent node holds up nobody', async () => {
  const { account, items } = await scene();
  const { becomesWriter } = elect(account);
  const names: (readonly string[])[] = [];
  account.node('west').script.look = ({ partitionSets }) => {
    names.push(partitionSets);
    return NEVER;
  };
  const writes = Array.from({ length: WRITES }, (_, at) => items.create({ id: `document-${at}` }));
  await until('all wait', () => account.node('north').count('write') === WRITES && names.length > 0);
  becomesWriter();
  await Promise.all(writes);
  // It is asked anew when it has been silent for a second, by one search at a time.
  expect(new Set(names.flat())).toEqual(new Set(['items-0']));
  expect(names.length).toBeLessThan(WRITES);
  expect(account.node('west').count('write')).toBe(WRITES);
  expect(account.node('east').count('write')).toBe(2 * WRITES);
});

test('a region that lost its lease for a moment is found again under the same GCN', async () => {
  const { account, items } = await scene();
  const west = account.node('west').script;
  let mayWrite = true;
  west.write = (): NodeWriteAnswer => (mayWrite ? done() : { outcome: 'refused', code: 'NOT_WRITER' });
  west.look = ({ partitionSets }) =>
    mayWrite ? partitionSets.map((partitionSet) => ({ partitionSet, gcn: 1 })) : [];
  await items.create({ id: 'a' });
  mayWrite = false;
  const write = items.upsert({ id: 'a' });
  await until('it is sought', () => account.node('west').count('look') > 0);
  mayWrite = true;
  expect((await write).diagnostics.region).toBe('west');
});

test('closing ends the search', async () => {
  const host = new CountingHost();
  const { account, client, items } = await scene({ host });
  const failing = items.create({ id: 'a' }).catch((error: unknown) => error);
  await until('it is sought', () => account.node('east').count('look') > 1);
  await client.close();
  const error = await failing;
  expect(error).toBeInstanceOf(BatonError);
  expect(host.timers.size).toBe(0);
  // With no timer and no connection left, nobody can be asked.
  await until('no connection is left', () =>
    [...account.nodes.values()].every(({ listener }) => listener.connections.size === 0),
  );
});
