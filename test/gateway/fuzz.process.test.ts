/**
 * A door that anybody may knock at: requests that are malformed, too large, too slow, cut off, or signed for something else. It
 * keeps running, takes no more memory, never answers with an error of its own, and shows nothing without a good signature.
 */
import { randomBytes } from 'node:crypto';
import { Agent, request as httpRequest } from 'node:http';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Doors } from './doors.ts';
import { exchange, open, type RawAnswer, requestText, residentOf, trickle } from './raw.ts';
import { type Signed, signatureOf, signedHeaders } from './signature.ts';

const SECRET = `secret-${randomBytes(12).toString('hex')}`;
const ITEM: Signed = { method: 'GET', type: 'docs', link: 'dbs/main/colls/items/docs/hidden' };
const PATH = `/${ITEM.link}`;
const KEY_HEADER = { 'x-ms-documentdb-partitionkey': '["hidden"]' };
const KILOBYTE = 1024;
const MEBIBYTE = KILOBYTE * KILOBYTE;
/** What the heap of a process may do by itself. */
const GROWTH_MB = 64;
const SEED = { seed: 8 } as const;

let doors: Doors;
let endpoint: string;
let pid: number;
const agent = new Agent({ keepAlive: true, maxSockets: 16 });

beforeAll(async () => {
  doors = await Doors.open({
    regions: ['west'],
    acceptors: 1,
    partitionSets: 2,
    consistency: 'Session',
  });
  endpoint = doors.endpoint('west');
  pid = doors.pidOf(doors.doorOf('west'));
  await doors.client('west').database('main').container('items').items.upsert({ id: 'hidden', text: SECRET });
}, 280_000);

afterAll(async () => {
  agent.destroy();
  await doors?.close();
});

function expectNothingShown({ text }: Pick<RawAnswer, 'text'>): void {
  expect(text).not.toContain(SECRET);
  for (const name of ['primary', 'secondary', 'primaryReadOnly', 'secondaryReadOnly'] as const)
    expect(text).not.toContain(doors.key(name));
}

/** A refusal that clients can read, or an end of the connection. */
function expectRefusal(answer: RawAnswer): void {
  expectNothingShown(answer);
  expect(
    answer.status === 0 ? answer.isClosed : answer.status >= 400 && answer.status < 500,
    answer.text,
  ).toBe(true);
}

async function expectWell(): Promise<void> {
  const answer = await exchange(
    endpoint,
    requestText('GET', PATH, { ...signedHeaders(ITEM, doors.key()), ...KEY_HEADER }),
  );
  expect(answer.status).toBe(200);
  expect(answer.text).toContain(SECRET);
}

interface Asked {
  readonly method?: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Through one of a few connections that stay. */
function ask({ method = 'GET', path, headers, body }: Asked): Promise<RawAnswer> {
  const { hostname, port } = new URL(endpoint);
  return new Promise((resolve, reject) => {
    const request = httpRequest({ agent, hostname, port, method, path, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode!,
          text: Buffer.concat(chunks).toString('utf8'),
          isClosed: false,
        }),
      );
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** Names and values that a header may have. */
const headerText = fc.string({ maxLength: 200 }).map((text) => text.replaceAll(/[^\x20-\x7e]/g, '~'));
const partitionKeys = fc.oneof(
  headerText,
  fc.json({ maxDepth: 3 }).map((text) => text.replaceAll(/[^\x20-\x7e]/g, '~')),
);

describe('signatures', () => {
  const headersOf = (authorization: string, date = new Date().toUTCString()): Record<string, string> => ({
    authorization,
    'x-ms-date': date,
    ...KEY_HEADER,
  });
  const at = (minutes: number): string => new Date(Date.now() + minutes * 60_000).toUTCString();
  const now = (): string => new Date().toUTCString();
  const signed = (change: Partial<Signed>, date = now()): Record<string, string> =>
    headersOf(signatureOf({ ...ITEM, ...change }, doors.key(), date), date);

  test('that are good open the door', expectWell);

  test.each<[string, number, () => Record<string, string>]>([
    ['of nobody', 401, () => KEY_HEADER],
    ['that are empty', 401, () => headersOf('')],
    [
      'of another account',
      401,
      () => headersOf(signatureOf(ITEM, randomBytes(64).toString('base64'), now())),
    ],
    ['of an empty key', 401, () => headersOf(signatureOf(ITEM, '', now()))],
    ['of twenty minutes ago', 403, () => signed({}, at(-20))],
    ['of twenty minutes ahead', 403, () => signed({}, at(20))],
    ['of another verb', 401, () => signed({ method: 'DELETE' })],
    ['of another item', 401, () => signed({ link: 'dbs/main/colls/items/docs/other' })],
    ['of the container', 401, () => signed({ link: 'dbs/main/colls/items' })],
    ['of another kind', 401, () => signed({ type: 'colls' })],
    ['of the account', 401, () => signed({ type: '', link: '' })],
    ['of another date', 401, () => headersOf(signatureOf(ITEM, doors.key(), at(-1)))],
    ['without a date', 401, () => ({ authorization: signatureOf(ITEM, doors.key(), now()), ...KEY_HEADER })],
    ['with a date that is none', 401, () => signed({}, 'yesterday')],
    ['of a resource token', 401, () => headersOf(encodeURIComponent('type=resource&ver=1.0&sig=abc'))],
    ['of a bearer', 401, () => headersOf(encodeURIComponent('type=aad&ver=1.0&sig=abc'))],
    ['that are cut', 401, () => headersOf(signatureOf(ITEM, doors.key(), now()).slice(0, -8))],
    ['of letters in another case', 401, () => headersOf(signatureOf(ITEM, doors.key(), now()).toLowerCase())],
  ])('%s are refused with %i', async (_, status, headers) => {
    const answer = await ask({ path: PATH, headers: headers() });
    expectNothingShown(answer);
    expect([401, 403]).toContain(answer.status);
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text)).toMatchObject({ code: expect.any(String), message: expect.any(String) });
  });

  test('that anybody makes up are refused', async () => {
    await fc.assert(
      fc.asyncProperty(headerText, async (made) => {
        const answer = await ask({ path: PATH, headers: headersOf(made) });
        expectNothingShown(answer);
        expect([400, 401, 403]).toContain(answer.status);
      }),
      { ...SEED, numRuns: 200 },
    );
  });

  test('of one item open no other path to it', async () => {
    const { link } = { link: 'dbs/main/colls/items/docs/other' };
    const paths = [
      '/dbs/main/colls/items/docs/other/../hidden',
      '/dbs/main/colls/items/docs/other%2f..%2fhidden',
      '/dbs/main/colls/items/docs/%2e%2e/docs/hidden',
      '/dbs/main/colls/items//docs/hidden',
      '//dbs/main/colls/items/docs/hidden',
      '/dbs/main/colls/items/docs/hidden/',
      '/dbs/main/colls/items/docs/hidden?x',
      '/dbs/main/colls/items/docs/hidden%00',
      '/dbs/main/colls/items/docs/%68idden',
      '/dbs/main/colls/items/docs/%2568idden',
      '/DBS/main/COLLS/items/DOCS/hidden',
      '/dbs/main/colls/items/docs/hidden#other',
      `${endpoint}/dbs/main/colls/items/docs/hidden`,
      `http://elsewhere/dbs/main/colls/items/docs/hidden`,
      '/dbs/main/colls/items\\docs\\hidden',
      '*',
      '/%',
      '/%ff%fe',
      `/${'a/'.repeat(5000)}`,
    ];
    for (const path of paths) {
      const headers = { ...signedHeaders({ ...ITEM, link }, doors.key()), ...KEY_HEADER };
      expectRefusal(await exchange(endpoint, requestText('GET', path, headers)));
    }
  });
});

describe('requests', () => {
  test('of any bytes are refused or dropped', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 400 }), async (bytes) => {
        expectRefusal(await exchange(endpoint, bytes, { endAfter: true }));
      }),
      { ...SEED, numRuns: 300 },
    );
    await expectWell();
  });

  test('that were good and are damaged in one place show nothing', async () => {
    const good = requestText('GET', PATH, {
      ...signedHeaders(ITEM, randomBytes(64).toString('base64')),
      ...KEY_HEADER,
    });
    await fc.assert(
      fc.asyncProperty(fc.nat(good.length - 1), fc.nat(255), fc.nat(3), async (place, byte, cut) => {
        const bytes = Buffer.from(good, 'latin1');
        const damaged = Buffer.concat([
          bytes.subarray(0, place),
          Buffer.of(byte),
          bytes.subarray(place + cut),
        ]);
        expectRefusal(await exchange(endpoint, damaged, { endAfter: true }));
      }),
      { ...SEED, numRuns: 300 },
    );
    await expectWell();
  });

  const LINK = 'dbs/main/colls/items';

  test('with any body and any headers get an answer that is none of the server’s faults', async () => {
    const post = { method: 'POST', type: 'docs', link: LINK };
    const bodies = fc.oneof(
      fc.json(),
      fc.string(),
      fc.constant('['),
      fc.constant('{"id":1}'),
      fc.constant('null'),
    );
    const extra = fc.record(
      {
        'x-ms-documentdb-partitionkey': partitionKeys,
        'x-ms-documentdb-partitionkeyrangeid': headerText,
        'x-ms-documentdb-is-upsert': headerText,
        'x-ms-cosmos-is-batch-request': fc.constantFrom('True', 'true', 'false', ''),
        'x-ms-cosmos-batch-atomic': fc.constantFrom('True', 'true', 'false', ''),
        'x-ms-session-token': headerText,
        'x-ms-consistency-level': headerText,
        'if-match': headerText,
        'content-type': headerText,
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(bodies, extra, async (body, more) => {
        const headers = { ...signedHeaders(post, doors.key()), ...more };
        const answer = await ask({ method: 'POST', path: `/${LINK}/docs`, headers, body });
        expect(answer.status, answer.text).toBeLessThan(500);
        if (answer.status >= 400) expect(JSON.parse(answer.text)).toHaveProperty('message');
      }),
      { ...SEED, numRuns: 500 },
    );
  });

  test('for feeds with any headers get an answer that is none of the server’s faults', async () => {
    const get = { method: 'GET', type: 'docs', link: LINK };
    const extra = fc.record(
      {
        'x-ms-documentdb-partitionkey': partitionKeys,
        'x-ms-documentdb-partitionkeyrangeid': headerText,
        'x-ms-max-item-count': headerText,
        'x-ms-continuation': headerText,
        'x-ms-start-epk': headerText,
        'x-ms-end-epk': headerText,
        'a-im': fc.constantFrom('Incremental feed', 'Incremental Feed', 'Full-Fidelity Feed', 'x'),
        'if-none-match': headerText,
        'if-modified-since': headerText,
        'x-ms-session-token': headerText,
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(extra, async (more) => {
        const headers = { ...signedHeaders(get, doors.key()), ...more };
        const answer = await ask({ path: `/${LINK}/docs`, headers });
        expect(answer.status, answer.text).toBeLessThan(500);
      }),
      { ...SEED, numRuns: 300 },
    );
  });

  test('for more consistency than the account has are refused', async () => {
    const headers = { ...signedHeaders(ITEM, doors.key()), ...KEY_HEADER };
    const strong = await ask({ path: PATH, headers: { ...headers, 'x-ms-consistency-level': 'Strong' } });
    expect(strong.status).toBe(400);
    expectNothingShown(strong);
    const eventual = await ask({ path: PATH, headers: { ...headers, 'x-ms-consistency-level': 'Eventual' } });
    expect(eventual.status).toBe(200);
  });

  test('that are too large are refused before they are read', async () => {
    const flood = Object.fromEntries(
      Array.from({ length: 3000 }, (_, n) => [`x-flood-${n}`, 'y'.repeat(20)]),
    );
    expectRefusal(await exchange(endpoint, requestText('GET', PATH, flood)));
    expectRefusal(
      await exchange(endpoint, requestText('GET', PATH, { 'x-long': 'y'.repeat(64 * KILOBYTE) })),
    );
    expectRefusal(await exchange(endpoint, requestText('GET', `/${'p'.repeat(64 * KILOBYTE)}`)));
    const post = signedHeaders({ method: 'POST', type: 'docs', link: LINK }, doors.key());
    const path = `/${LINK}/docs`;
    const declared = await exchange(
      endpoint,
      requestText('POST', path, { ...post, 'content-length': String(64 * MEBIBYTE) }),
    );
    expect(declared.status).toBe(413);
    const piece = `${MEBIBYTE.toString(16)}\r\n${'z'.repeat(MEBIBYTE)}\r\n`;
    const chunked = await exchange(
      endpoint,
      requestText('POST', path, { ...post, 'transfer-encoding': 'chunked' }) + piece.repeat(4),
    );
    expect(chunked.status === 413 || chunked.isClosed).toBe(true);
    await expectWell();
  });
});

describe('time and memory', () => {
  test('the slow are cut off, in their heads and in their bodies', async () => {
    const path = '/dbs/main/colls/items/docs';
    const post = signedHeaders({ method: 'POST', type: 'docs', link: 'dbs/main/colls/items' }, doors.key());
    const head = requestText('POST', path, { ...post, 'content-length': '100000' });
    function* drops(first: string): Generator<string> {
      yield first;
      for (;;) yield 'x';
    }
    const waitMs = 240_000;
    const slow = await Promise.all([
      trickle(endpoint, drops('GET / HTTP/1.1\r\nx: '), 200, waitMs),
      trickle(endpoint, drops(head), 200, waitMs),
    ]);
    for (const answer of slow)
      expect(answer.isClosed || answer.status === 408, JSON.stringify(answer)).toBe(true);
    await expectWell();
  });

  test('thousands of bad requests cost no memory', async () => {
    const bad = requestText('GET', PATH, signedHeaders(ITEM, randomBytes(64).toString('base64')));
    const half = requestText('POST', PATH, { 'content-length': '5000' }, '{"a":').replace(
      'content-length: 5\r\n',
      '',
    );
    const round = async (count: number): Promise<void> => {
      for (let n = 0; n < count; n += 50) {
        const knocks = Array.from({ length: 50 }, async (_, at) => {
          if (at % 5 === 0) {
            const socket = open(endpoint);
            socket.resume();
            socket.end(half);
            await new Promise((resolve) => socket.once('close', resolve));
          } else expectRefusal(await exchange(endpoint, at % 5 === 1 ? `\0${bad}` : bad));
        });
        await Promise.all(knocks);
      }
    };
    await round(1500);
    const before = residentOf(pid);
    await round(4000);
    expect(residentOf(pid) - before).toBeLessThan(GROWTH_MB);
    expect(doors.pidOf(doors.doorOf('west'))).toBe(pid);
    expect(doors.lost).toEqual([]);
    await expectWell();
  });
});
