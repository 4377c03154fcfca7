import { describe, expect, test } from 'vitest';
import {
  handling,
  increment,
  memoryUrls,
  openAround,
  openFor,
  storeOf,
} from '../../../test/caspaxos/clusters.ts';
import { until } from '../../../test/support/until.ts';
import { type Ballot, compareBallots } from '../../protocol/index.ts';
import type { Cluster } from '../cluster.ts';
import type { RegisterReply, RegisterRequest } from '../core/index.ts';
import type { CasPaxosError } from '../errors.ts';
import { decodeRecord, encodeRecord } from '../stores/documents.ts';
import { registerKey } from '../stores/keys.ts';
import { StoreAcceptor } from '../stores/store-acceptor.ts';

type Lie = (reply: RegisterReply, request: RegisterRequest) => unknown;

const HIGH: Ballot = { counter: 2 ** 52 - 1, proposer: 'zulu', incarnation: 1 };

/** Five acceptors, the first of which says of register `k` what `lie` makes of the truth. */
async function openWithLiar(
  lie: Lie,
): Promise<{ cluster: Cluster; warnings: CasPaxosError[]; alarms: string[] }> {
  const acceptors = memoryUrls(5);
  const honest = await openFor({ acceptors });
  await honest.change('k', increment);
  const cluster = await openAround(acceptors, (acceptor, index) => {
    if (index > 0) return acceptor;
    return handling(acceptor, async (requests, at) => {
      const replies = await acceptor.handle(requests, at);
      return replies.map((reply, place) =>
        requests[place]!.key === 'k' ? (lie(reply, requests[place]!) as RegisterReply) : reply,
      );
    });
  });
  const warnings: CasPaxosError[] = [];
  const alarms: string[] = [];
  cluster.on('warning', (error) => warnings.push(error));
  cluster.on('alarm', ({ message }) => alarms.push(message));
  return { cluster, warnings, alarms };
}

function nakOf(promised: Ballot): Lie {
  return (reply, { message }) => ({
    type: 'nak',
    acceptor: reply.acceptor,
    ballot: message.type === 'query' ? promised : message.ballot,
    promised,
  });
}

const promising =
  (change: object): Lie =>
  (reply) =>
    reply.type === '1b' || reply.type === 'state' ? { ...reply, ...change } : reply;

const LIES: readonly (readonly [string, Lie])[] = [
  ['has promised a ballot at the end of the first band', nakOf(HIGH)],
  ['has promised a ballot at the end of all numbers', nakOf({ ...HIGH, counter: Number.MAX_SAFE_INTEGER })],
  ['has promised a ballot a thousand years ahead', nakOf({ ...HIGH, counter: 2 ** 45 })],
  ['has promised a ballot below the one that it refuses', nakOf({ ...HIGH, counter: 1 })],
  ['has promised a ballot of no number', nakOf({ ...HIGH, counter: Number.NaN })],
  ['has accepted a ballot without a value', promising({ value: undefined })],
  ['has a value without a ballot', promising({ accepted: { counter: 0, proposer: '', incarnation: 0 } })],
  ['has accepted an absurd ballot', promising({ accepted: HIGH })],
  ['holds a value that is none', promising({ value: 'no header' })],
  ['holds a value that is not even text', promising({ value: { a: 1 } })],
  ['holds another value under the same ballot', promising({ value: '1 0 p/1 1 1 1\n666' })],
  ['speaks of another ballot', (reply) => ({ ...reply, ballot: HIGH })],
  ['speaks for another acceptor', (reply) => ({ ...reply, acceptor: 3 })],
  [
    'answers a promise with an acknowledgement',
    (reply) => ({ ...reply, type: '2b', next: HIGH, value: 'x' }),
  ],
  ['answers with a promise whatever it is asked', (reply) => ({ ...reply, type: '1b' })],
  [
    'knows of a set that nobody else knows',
    (reply) => ({ type: 'stale-set', acceptor: reply.acceptor, set: 1e9 }),
  ],
  ['answers in words of its own', () => ({ type: 'boo' })],
  ['answers nothing', () => undefined],
];

describe('rule 11: an acceptor that', () => {
  test.each(LIES)('%s stops nothing', async (_, lie) => {
    const { cluster, alarms } = await openWithLiar(lie);
    for (let value = 2; value <= 6; value += 1) {
      expect(await cluster.change('k', increment)).toMatchObject({ outcome: 'committed', value });
      expect(await cluster.read('k')).toEqual({ value, version: value });
    }
    expect(await cluster.change('other', increment)).toMatchObject({ outcome: 'committed', value: 1 });
    expect(alarms).toEqual([]);
  });

  test('invents a rival with every answer delays a change by no more than a wait', async () => {
    let at = 0;
    const { cluster } = await openWithLiar((reply, { message }) => {
      if (message.type !== '1a') return reply;
      at += 1;
      const promised = { counter: message.ballot.counter + 1, proposer: `rival-${at}`, incarnation: at };
      return { type: 'nak', acceptor: reply.acceptor, ballot: message.ballot, promised };
    });
    for (let value = 2; value <= 20; value += 1)
      expect(await cluster.change('k', increment)).toMatchObject({ outcome: 'committed', value });
  });

  test('is not believed is counted each time and told of once', async () => {
    const { cluster, warnings } = await openWithLiar(nakOf(HIGH));
    for (let times = 0; times < 5; times += 1) await cluster.change('k', increment);
    await until('it is told', () => warnings.length > 0);
    await until('it is counted', () => cluster.counters.doubts >= 5);
    expect(warnings.map(({ code }) => code)).toEqual(['ACCEPTOR_DOUBTED']);
  });

  test('answers fewer messages than it was asked counts as down', async () => {
    const acceptors = memoryUrls(3);
    const cluster = await openAround(acceptors, (acceptor, index) =>
      index > 0 ? acceptor : handling(acceptor, async () => []),
    );
    expect(await cluster.change('k', increment)).toMatchObject({ outcome: 'committed', value: 1 });
    await until('it is down', () => cluster.acceptors[0]!.state === 'down');
    expect(cluster.acceptors[0]!.error).toMatchObject({ code: 'PROTOCOL_MISMATCH' });
  });
});

/** Makes acceptors hold a promise that an earlier release took. */
async function poison(urls: readonly string[], key: string, counter: number): Promise<void> {
  for (const url of urls) {
    const store = storeOf(url);
    const [document] = await store.read([registerKey(key)]);
    const record = decodeRecord(document!.text, key);
    const text = encodeRecord({ ...record, promised: { ...HIGH, counter } });
    await store.write([{ key: registerKey(key), text, expected: document!.version }]);
  }
}

async function promisedBy(url: string, key: string): Promise<Ballot> {
  const [document] = await storeOf(url).read([registerKey(key)]);
  return decodeRecord(document!.text, key).promised;
}

describe('rule 11: a register that has an absurd ballot from an earlier release', () => {
  test.each([2 ** 47, 2 ** 52 - 1, 2 ** 52])('%d on one acceptor goes on without it', async (counter) => {
    const acceptors = memoryUrls(5);
    const before = await openFor({ acceptors });
    await before.change('k', increment);
    await poison(acceptors.slice(0, 1), 'k', counter);
    const cluster = await openFor({ acceptors });
    for (let value = 2; value <= 5; value += 1)
      expect(await cluster.change('k', increment)).toMatchObject({ outcome: 'committed', value });
    expect((await promisedBy(acceptors[1]!, 'k')).counter).toBeLessThan(2 ** 42);
  });

  test.each([2 ** 47, 2 ** 52 - 1, 2 ** 52])(
    '%d on a quorum goes on in the second band, and takes the healthy ones along',
    async (counter) => {
      const acceptors = memoryUrls(5);
      const before = await openFor({ acceptors });
      await before.change('k', increment);
      await before.change('other', increment);
      await poison(acceptors.slice(0, 3), 'k', counter);
      const clusters = [await openFor({ acceptors }), await openFor({ acceptors, oneRoundTrip: false })];
      for (let value = 2; value <= 9; value += 1)
        expect(await clusters[value % 2]!.change('k', increment)).toMatchObject({
          outcome: 'committed',
          value,
        });
      for (const url of acceptors) {
        await until('all have followed', async () => (await promisedBy(url, 'k')).counter > 2 ** 52);
        expect(compareBallots(await promisedBy(url, 'k'), { ...HIGH, counter: 2 ** 52 + 2 ** 42 })).toBe(-1);
      }
      // What one register needed is nothing to another of the same process.
      for (const cluster of clusters) await cluster.change('other', increment);
      expect((await promisedBy(acceptors[0]!, 'other')).counter).toBeLessThan(2 ** 42);
    },
  );

  test('on an acceptor that a quorum needs, because others are down, goes on too', async () => {
    const acceptors = memoryUrls(3);
    const before = await openFor({ acceptors });
    await before.change('k', increment);
    await poison(acceptors.slice(0, 1), 'k', HIGH.counter);
    let isDown = true;
    const cluster = await openAround(acceptors, (acceptor, index) =>
      handling(acceptor, (requests, at) => {
        if (index === 2 && isDown) return Promise.reject(new Error('down'));
        return acceptor.handle(requests, at);
      }),
    );
    expect(await cluster.change('k', increment)).toMatchObject({ outcome: 'committed', value: 2 });
    isDown = false;
    expect(await cluster.change('k', increment)).toMatchObject({ outcome: 'committed', value: 3 });
  });
});

describe('rule 11: an acceptor refuses', () => {
  test('a ballot that no clock can have made, promises nothing, and remembers nothing', async () => {
    const acceptors = memoryUrls(3);
    const cluster = await openFor({ acceptors });
    const hostile = await openFor({
      acceptors,
      ballots: (floor) => Math.max(floor + 1, 2 ** 51),
      timeoutMs: 300,
    });
    expect(await hostile.change('k', increment)).toMatchObject({
      outcome: 'rejected',
      error: { message: expect.stringContaining('further ahead than anything can be') },
    });
    expect(await cluster.change('k', increment)).toMatchObject({ outcome: 'committed', value: 1 });
    expect((await promisedBy(acceptors[0]!, 'k')).counter).toBeLessThan(2 ** 42);
  });
});

test('rule 11: an acceptor refuses a set that nobody can have slept through', async () => {
  const acceptors = memoryUrls(3);
  const cluster = await openFor({ acceptors });
  const ballot = { counter: 1, proposer: 'p', incarnation: 1 };
  for (const url of acceptors) {
    const acceptor = new StoreAcceptor(storeOf(url));
    const request = { key: 'k', set: Number.MAX_SAFE_INTEGER, message: { type: '1a', ballot } } as const;
    expect(await acceptor.handle([request], 0)).toMatchObject([{ type: 'failed', code: 'BALLOT_ABSURD' }]);
  }
  expect(await cluster.change('k', increment)).toMatchObject({ outcome: 'committed', value: 1 });
});

describe('rule 11: an error in the work on a register', () => {
  test('ends its change with a code, and nothing else', async () => {
    const acceptors = memoryUrls(3);
    let isBroken = true;
    // A source of ballots that stands still breaks an assertion of the proposer, in a call, a timer or an answer.
    const ballots = (floor: number): number => (isBroken ? floor : Math.max(floor + 1, Date.now()));
    const cluster = await openFor({ acceptors, ballots });
    const alarms: string[] = [];
    cluster.on('alarm', ({ code }) => alarms.push(code));
    expect(await cluster.change('k', increment)).toMatchObject({
      outcome: 'rejected',
      error: { code: 'REGISTER_FAILED', message: expect.stringContaining('must grow') },
    });
    await until('it is told', () => alarms.length > 0);
    expect(alarms).toEqual(['REGISTER_FAILED']);
    expect(cluster.counters.errors).toBe(1);
    isBroken = false;
    expect(await cluster.change('k', increment)).toMatchObject({ outcome: 'committed', value: 1 });
  });
});

describe('rule 11: an acceptor that tells of a set of its own', () => {
  async function liarAmong(acceptors: readonly string[], isLying: () => boolean): Promise<Cluster> {
    return openAround(acceptors, (acceptor, index) => {
      if (index > 0) return acceptor;
      return {
        ...handling(acceptor, async (requests, at) => {
          const replies = await acceptor.handle(requests, at);
          if (!isLying()) return replies;
          return replies.map(() => ({ type: 'stale-set', acceptor: at, set: 1e6 }) as const);
        }),
        describe: async () => {
          const truth = await acceptor.describe();
          const { configuration } = truth;
          if (!isLying() || configuration === undefined) return truth;
          const [own] = configuration.acceptors;
          return { ...truth, configuration: { ...configuration, number: 1e6, acceptors: [own!] } };
        },
      };
    });
  }

  test.each([
    ['from the start', true],
    ['later', false],
  ])('%s takes nobody along', async (_, fromTheStart) => {
    const acceptors = memoryUrls(3);
    await openFor({ acceptors });
    let isLying = fromTheStart;
    const cluster = await liarAmong(acceptors, () => isLying);
    const warnings: string[] = [];
    cluster.on('warning', ({ code }) => warnings.push(code));
    isLying = true;
    for (let value = 1; value <= 3; value += 1)
      expect(await cluster.change('k', increment)).toMatchObject({ outcome: 'committed', value });
    await until('it is told', () => warnings.length > 0);
    expect(warnings).toEqual(['ACCEPTOR_DOUBTED']);
    expect(cluster.configuration).toMatchObject({ number: 1, acceptors: { length: 3 } });
  });
});
