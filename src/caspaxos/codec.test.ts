import { describe, expect, test } from 'vitest';
import { errorOf, increment, memoryUrls, openAround, openFor } from '../../test/caspaxos/clusters.ts';
import { Lines } from '../../test/caspaxos/lines.ts';
import { type Codec, reject } from './editing.ts';

/** What a JSON number cannot hold, as its digits. */
const BIG: Codec<bigint> = {
  decode: (json) => BigInt(JSON.parse(json) as string),
  encode: (value) => JSON.stringify(String(value)),
};

const REFUSAL = new Error('this is not ours');
/** Reads nothing that anybody has written. */
const STRICT: Codec<string> = {
  decode: () => {
    throw REFUSAL;
  },
  encode: (value) => JSON.stringify(value),
};

/** Texts as they are. */
const TEXT: Codec<string> = {
  decode: (json) => JSON.parse(json) as string,
  encode: (value) => JSON.stringify(value),
};

const HUGE = 2n ** 80n;

describe('a change with a codec', () => {
  test('edits what the codec has read, and leaves in the register what it writes', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    expect(await cluster.change('k', (value) => value ?? HUGE, { codec: BIG })).toMatchObject({
      outcome: 'committed',
      value: HUGE,
      changed: true,
    });
    const given: unknown[] = [];
    const add = (value: bigint | undefined): bigint => {
      given.push(value);
      return value! + 1n;
    };
    expect(await cluster.change('k', add, { codec: BIG })).toMatchObject({ value: HUGE + 1n, version: 2 });
    expect(given).toEqual([HUGE]);
    expect(await cluster.read('k', { codec: BIG })).toEqual({ value: HUGE + 1n, version: 2 });
    expect(await cluster.read('k')).toEqual({ value: String(HUGE + 1n), version: 2 });
  });

  test('that leaves the value, deletes it or rejects says so as ever', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    const options = { codec: BIG };
    expect(await cluster.read('k', options)).toEqual({ value: undefined, version: 0 });
    await cluster.change('k', () => HUGE, options);
    expect(await cluster.change('k', (value) => value, options)).toMatchObject({
      value: HUGE,
      changed: false,
    });
    expect(await cluster.change('k', () => reject('no'), options)).toMatchObject({
      outcome: 'rejected',
      error: { code: 'REJECTED_BY_EDITOR' },
      current: { value: HUGE, version: 1 },
    });
    expect(await cluster.change('k', () => undefined, options)).toMatchObject({
      outcome: 'committed',
      value: undefined,
      version: 2,
    });
  });

  test('that cannot read the register leaves it as it is, and the cluster goes on', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    await cluster.change('k', () => 'theirs');
    let edits = 0;
    const edit = (): string => {
      edits += 1;
      return 'ours';
    };
    const outcome = await cluster.change('k', edit, { codec: STRICT });
    expect(outcome).toMatchObject({
      outcome: 'rejected',
      error: { code: 'EDITOR_THREW', message: 'The editor threw: this is not ours' },
    });
    expect(outcome).not.toHaveProperty('current');
    expect(edits).toBe(0);
    expect(await cluster.read('k')).toEqual({ value: 'theirs', version: 1 });
    expect(await cluster.change<string>('k', (value) => `${value}!`)).toMatchObject({
      value: 'theirs!',
      version: 2,
    });
    expect(await cluster.change('other', increment)).toMatchObject({ value: 1 });
  });

  test('that cannot write a value stores nothing', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    const encode = (): string => {
      throw new Error('no words');
    };
    expect(await cluster.change('k', () => 1, { codec: { decode: Number, encode } })).toMatchObject({
      outcome: 'rejected',
      error: { code: 'VALUE_NOT_SERIALISABLE' },
    });
    expect(await cluster.read('k')).toEqual({ value: undefined, version: 0 });
  });

  test('that cannot read what it has written fails its caller; the change is committed, and the next has its turn', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    const [error, next] = await Promise.all([
      errorOf(cluster.change('k', () => 'ours', { codec: STRICT })),
      cluster.change<string>('k', (value) => `${value}!`),
    ]);
    expect(error).toBe(REFUSAL);
    expect(next).toMatchObject({ outcome: 'committed', value: 'ours!', version: 2 });
    expect(cluster.counters).toMatchObject({ committed: 2, rejected: 0, unknown: 0 });
  });

  test('that reads a value once and then no more fails its caller only', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    await cluster.change('k', () => 'theirs');
    let reads = 0;
    const once: Codec<string> = {
      ...TEXT,
      decode: (json) => {
        reads += 1;
        return reads === 1 ? TEXT.decode(json) : STRICT.decode(json);
      },
    };
    expect(await errorOf(cluster.change('k', (value) => value, { codec: once }))).toBe(REFUSAL);
    expect(reads).toBe(2);
    expect(await cluster.change<string>('k', (value) => `${value}!`)).toMatchObject({ value: 'theirs!' });
  });

  test('leaves what only it can read; a change of the set carries that over', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    const codec: Codec<string> = { decode: (text) => text.slice(1), encode: (value) => `#${value}` };
    await cluster.change('k', () => 'ours', { codec });
    const acceptors = memoryUrls();
    await cluster.changeAcceptors(acceptors);
    expect(await cluster.read('k', { codec })).toEqual({ value: 'ours', version: 1 });
    expect(await errorOf(cluster.read('k'))).toMatchObject({ code: 'CORRUPT_RECORD' });
  });

  test.each([
    ['as long as it may be', 'x'.repeat(98), 'committed'],
    ['one byte too long', 'x'.repeat(99), 'rejected'],
    ['few letters, many bytes', '鍵'.repeat(33), 'rejected'],
    ['not one byte too many', '鍵'.repeat(32), 'committed'],
  ])('is held to the largest value that there may be: %s', async (_, text, outcome) => {
    const cluster = await openFor({ acceptors: memoryUrls(), maxValueBytes: 100 });
    const ended = await cluster.change('k', () => text, { codec: TEXT });
    expect(ended).toMatchObject(
      outcome === 'committed' ? { outcome, value: text } : { outcome, error: { code: 'VALUE_TOO_LARGE' } },
    );
    expect((await cluster.read('k')).value).toBe(outcome === 'committed' ? text : undefined);
  });
});

describe('a read with a codec', () => {
  test('ends with what the codec says of the value, as it is', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    await cluster.change('k', () => 'theirs');
    expect(await errorOf(cluster.read('k', { codec: STRICT }))).toBe(REFUSAL);
    expect(await cluster.read('k')).toEqual({ value: 'theirs', version: 1 });
  });

  test('calls what is no text of the kind a corrupt record', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    await cluster.change('k', () => 'no digits');
    expect(await errorOf(cluster.read('k', { codec: BIG }))).toMatchObject({ code: 'CORRUPT_RECORD' });
  });

  test('reads the same by way of a change, when asking is not enough', async () => {
    const cluster = await openWithoutQueries();
    await cluster.change('k', () => HUGE, { codec: BIG });
    expect(await cluster.read('k', { codec: BIG })).toEqual({ value: HUGE, version: 1 });
  });

  test('by way of a change ends with what the codec says too, and the register goes on', async () => {
    const cluster = await openWithoutQueries();
    await cluster.change('k', () => 'theirs');
    expect(await errorOf(cluster.read('k', { codec: STRICT }))).toBe(REFUSAL);
    expect(await cluster.change<string>('k', (value) => `${value}!`)).toMatchObject({
      value: 'theirs!',
      version: 2,
    });
  });
});

describe('without a codec', () => {
  test('everybody gets a copy of his own', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    const list = ['a'];
    const outcome = await cluster.change('k', () => list);
    list.push('the editor');
    if (outcome.outcome === 'committed') outcome.value!.push('whoever changed it');
    const first = await cluster.read<string[]>('k');
    first.value!.push('whoever read it');
    const refused = await cluster.change<string[]>('k', (value) => {
      value!.push('whoever refused it');
      return reject('no');
    });
    expect(refused).toMatchObject({ current: { value: ['a'] } });
    expect(await cluster.read('k')).toEqual({ value: ['a'], version: 1 });
    expect(await cluster.change<string[]>('k', (value) => value)).toMatchObject({
      value: ['a'],
      changed: false,
    });
  });
});

/** Its acceptors answer no questions, so that every read has to be a change that changes nothing. */
function openWithoutQueries() {
  const lines = new Lines(3, ({ message }) => message.type === 'query');
  lines.set('cut', 'cut', 'cut');
  return openAround(memoryUrls(), lines.wrap);
}
