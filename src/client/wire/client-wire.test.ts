/** What is sent is what arrives; what was not sent by us is refused; and what is sent stays the same, byte for byte. */
import * as fc from 'fast-check';
import { pack } from 'msgpackr';
import { describe, expect, test } from 'vitest';
import type { Payload } from '../../transport/index.ts';
import {
  decodeRead,
  decodeReadAnswer,
  decodeWrite,
  decodeWriteAnswer,
  encodeRead,
  encodeReadAnswer,
  encodeWrite,
  encodeWriteAnswer,
  METHODS,
} from './client-wire.ts';
import { decodeMap, encodeMap } from './map-wire.ts';
import { packed, unpacked } from './packing.ts';
import {
  decodeFeed,
  decodeFeedAnswer,
  decodeScan,
  decodeScanAnswer,
  encodeFeed,
  encodeFeedAnswer,
  encodeScan,
  encodeScanAnswer,
} from './scan-wire.ts';
import { isPlainData } from '../../protocol/index.ts';

function bytesOf(payload: Payload): Buffer {
  return Buffer.concat(payload instanceof Uint8Array ? [payload] : [...payload]);
}

const body = Buffer.from('{"id":"a"}');
const session = { epoch: 1_048_577, lsn: 3 };
const version = {
  epk: '0123456789ABCDEF0123456789ABCDEF',
  id: 'a',
  partitionKey: '["k"]',
  body,
  createdLsn: 0,
  previous: 0,
  epoch: 3_145_729,
  lsn: 7,
  at: 1_700_000_000_000,
};
const write = {
  partitionSet: 'orders-7',
  timeoutMs: 1000,
  request: {
    partitionKey: ['k', 1, true, null, undefined],
    operation: 'op-1',
    operations: [
      { op: 'create' as const, body },
      { op: 'upsert' as const, body, ifMatch: '"1-1"' },
      { op: 'replace' as const, id: 'a', body, ifNoneMatch: '*' },
      { op: 'patch' as const, id: 'a', steps: [{ op: 'set' as const, path: '/x', value: { y: [1] } }] },
      { op: 'delete' as const, id: 'a' },
      { op: 'read' as const, id: 'a' },
    ],
  },
};
/** A patch with a condition, whose client wants to see what comes of it. */
const conditional = {
  ...write,
  request: {
    partitionKey: ['k'],
    operations: [
      {
        op: 'patch' as const,
        id: 'a',
        steps: [{ op: 'incr' as const, path: '/n', value: 1 }],
        filter: 'from c where c.n < 3',
      },
    ],
    returning: true,
  },
};

const read = {
  partitionSet: 'orders-7',
  timeoutMs: 5,
  partitionKey: ['k'],
  id: 'a',
  level: 'Strong' as const,
};
const scan = {
  partitionSet: 'orders-7',
  timeoutMs: 5,
  from: '',
  to: 'FF',
  limit: 10,
  maxBytes: 1000,
  level: 'Eventual' as const,
};
const entry = {
  epoch: 3_145_729,
  lsn: 7,
  at: 1_700_000_000_000,
  statuses: [201],
  changes: [{ epk: version.epk, id: 'a', partitionKey: '["k"]', body, createdLsn: 7, previous: 0 }],
};
const feed = { partitionSet: 'orders-7', after: { epoch: 0, lsn: 0 }, maxBytes: 1000, waitMs: 20 };
const map = {
  version: 7,
  cluster: 'demo',
  account: { name: 'demo', consistency: 'Strong' as const },
  regions: [
    { name: 'west', nodes: [{ name: 'west-1', address: '127.0.0.1:4101', http: '127.0.0.1:4201' }] },
    { name: 'east', nodes: [{ name: 'east-1', address: '127.0.0.1:4102' }] },
  ],
  containers: [
    {
      name: 'items',
      rid: 'AAAAAYAAAAI=',
      partitionKey: ['/id'],
      partitionSets: [{ name: 'items-0', rangeId: '1', from: '', to: 'FF', column: 0 }],
    },
  ],
};
const refusals = [
  { outcome: 'refused' as const, code: 'NOT_READY' as const },
  { outcome: 'refused' as const, code: 'TOO_MANY_REQUESTS' as const, retryAfterMs: 20 },
  { outcome: 'refused' as const, code: 'NOT_WRITER' as const, writer: { region: 'east', gcn: 9 } },
  { outcome: 'refused' as const, code: 'FROM_THE_FUTURE' },
];

const LIMITS = { depth: 200, values: 2 ** 20 };

describe('messages of clients', () => {
  test('writes and their answers', () => {
    for (const one of [write, conditional]) expect(decodeWrite(bytesOf(encodeWrite(one)))).toEqual(one);
    const { body: _, ...asSent } = version;
    const answers = [
      {
        outcome: 'done' as const,
        results: [{ status: 201 }, { status: 200 }, { status: 204 }],
        position: { epoch: 3_145_729, lsn: 7 },
        shown: [asSent, { ...version, ttl: 60 }, undefined],
      },
      { outcome: 'unknown' as const },
      ...refusals,
      {
        outcome: 'done' as const,
        results: [{ status: 201 }, { status: 409, message: 'There is one.' }],
        position: { epoch: 3_145_729, lsn: 7 },
      },
    ];
    for (const answer of answers)
      expect(decodeWriteAnswer(bytesOf(encodeWriteAnswer(answer)))).toEqual(answer);
  });

  test('reads and their answers', () => {
    for (const one of [read, { ...read, level: 'Session' as const, session }])
      expect(decodeRead(bytesOf(encodeRead(one)))).toEqual(one);
    for (const answer of [
      ...refusals,
      { outcome: 'done' as const, version: undefined, position: session },
      { outcome: 'done' as const, version, position: session },
      { outcome: 'done' as const, version: { ...version, ttl: 60 }, position: session },
    ])
      expect(decodeReadAnswer(bytesOf(encodeReadAnswer(answer)))).toEqual(answer);
  });

  test('scans and their answers', () => {
    for (const one of [scan, { ...scan, session, after: { epk: '0A', id: 'x' } }])
      expect(decodeScan(bytesOf(encodeScan(one)))).toEqual(one);
    for (const answer of [
      ...refusals,
      { outcome: 'done' as const, versions: [], hasMore: false, position: session },
      {
        outcome: 'done' as const,
        versions: [version, { ...version, ttl: 3 }],
        hasMore: true,
        position: session,
      },
    ])
      expect(decodeScanAnswer(bytesOf(encodeScanAnswer(answer)))).toEqual(answer);
  });

  test('the feed and its answers', () => {
    for (const one of [feed, { ...feed, after: { epoch: 5, lsn: 6, base: 9 } }])
      expect(decodeFeed(bytesOf(encodeFeed(one)))).toEqual(one);
    for (const answer of [
      ...refusals,
      { outcome: 'done' as const, entries: [], position: { ...session, base: 4 } },
    ])
      expect(decodeFeedAnswer(bytesOf(encodeFeedAnswer(answer)))).toEqual(answer);
    const done = { outcome: 'done' as const, entries: [entry], position: session };
    expect(decodeFeedAnswer(bytesOf(encodeFeedAnswer(done)))).toMatchObject({
      entries: [{ ...entry, changes: [{ id: 'a' }] }],
      position: session,
    });
  });

  test('the map', () => {
    expect(decodeMap(bytesOf(encodeMap(map)))).toEqual(map);
    const older = unpacked(bytesOf(encodeMap(map))).header.with(5, [
      ['items', ['/id'], [['items-0', '', 'FF', 0]]],
    ]);
    const [container] = decodeMap(bytesOf(packed(older))).containers;
    expect(container).toEqual({
      ...map.containers[0],
      rid: 'xdT-Uc0v2hQ=',
      partitionSets: [{ name: 'items-0', rangeId: 'items-0', from: '', to: 'FF', column: 0 }],
    });
  });
});

const DECODERS = [
  decodeWrite,
  decodeRead,
  decodeWriteAnswer,
  decodeReadAnswer,
  decodeScan,
  decodeScanAnswer,
  decodeFeed,
  decodeFeedAnswer,
  decodeMap,
];

/** It is understood, and is what it should be; or it is refused as MALFORMED. */
function survives(bytes: Buffer): void {
  for (const decode of DECODERS) {
    try {
      const found: object = decode(bytes);
      for (const name of ['partitionSet', 'code', 'cluster', 'from', 'id'])
        if (name in found) expect(found[name as never]).toBeTypeOf('string');
    } catch (error) {
      expect(error).toMatchObject({ code: 'MALFORMED' });
    }
  }
}

describe('messages of anybody', () => {
  test('whatever bytes come are understood or refused', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => survives(Buffer.from(bytes))),
      { numRuns: 2000, seed: 1 },
    );
  });

  const leaf = fc.oneof(
    fc.constantFrom(null, true, false, '', 'done', 'refused', 'unknown', 'a', 0, 1, 2, -1, 0.5, NaN, 2 ** 53),
    fc.constant(undefined),
  );
  const { value: anything } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc.array(tie('value'), { maxLength: 5 }),
      fc.dictionary(fc.constantFrom('op', 'path', 'from', 'value', '__proto__', 'length'), tie('value')),
    ),
  }));

  test('whatever structure comes is understood or refused', () => {
    const header = fc.array(anything, { maxLength: 12 });
    const bodies = fc.array(fc.uint8Array({ maxLength: 20 }), { maxLength: 3 });
    fc.assert(
      fc.property(header, bodies, (fields, parts) => survives(bytesOf(packed(fields, parts)))),
      { numRuns: 3000, seed: 1 },
    );
  });

  test('a good message with one field replaced is understood or refused', () => {
    const headers: readonly (readonly unknown[])[] = [
      ['orders-7', 1000, ['k'], 'op-1', [[0, null, null, null, null]]],
      ['orders-7', 1000, ['k'], null, [[3, 'a', null, null, [{ op: 'set', path: '/x', value: 1 }]]]],
      ['orders-7', 5, ['k'], 'a', 0, null, null],
      ['orders-7', 1000, ['k'], null, [[6, 'a', null, null, [], 'from c where true']], true],
      ['done', 1, 1, [200, [409, 'There is one.']]],
      ['done', 1, 1, [200], [['0A', 'a', '["k"]', 0, null, 0, 1, 1, 5, true]]],
      ['refused', 'NOT_WRITER', 20, 'east', 9],
      ['done', 1, 1, '0A', 'a', '["k"]', 0, null, 0, 1, 1, 5],
      ['orders-7', 5, '', 'FF', ['0A', 'x'], 10, 1000, 4, [1, 1]],
      ['done', 1, 1, true, [['0A', 'a', '["k"]', 0, null, 0, 1, 1, 5]]],
      ['orders-7', 0, 0, null, 1000, 20],
      [
        7,
        'demo',
        'demo',
        0,
        [['west', [['west-1', 'x', null]]]],
        [['items', ['/id'], [['items-0', '', 'FF', 0]]]],
      ],
    ];
    const replaced = (value: unknown, path: readonly number[], by: unknown): unknown => {
      const [at, ...rest] = path;
      if (at === undefined || !Array.isArray(value) || value.length === 0) return by;
      const place = at % value.length;
      return value.map((item, index) => (index === place ? replaced(item, rest, by) : (item as unknown)));
    };
    fc.assert(
      fc.property(
        fc.constantFrom(...headers),
        fc.array(fc.nat(12), { minLength: 1, maxLength: 4 }),
        anything,
        fc.constantFrom<Buffer[]>([], [body]),
        (header, path, by, bodies) => {
          const changed = replaced(header, path, by) as readonly unknown[];
          if (Array.isArray(changed)) survives(bytesOf(packed(changed, bodies)));
        },
      ),
      { numRuns: 5000, seed: 1 },
    );
  });

  test('what the answer to a write holds is looked at', () => {
    const bytes = bytesOf(packed(['done', 1, 1, [null]]));
    expect(() => decodeWriteAnswer(bytes)).toThrow(expect.objectContaining({ code: 'MALFORMED' }) as Error);
  });

  test('bodies and what they belong to must agree', () => {
    const fields = ['0A', 'a', '["k"]', 0, null, 0, 1, 1, 5];
    for (const [shown, bodies] of [
      [[[...fields, true]], []],
      [[[...fields, false]], [body]],
      [[null], [body]],
    ] as const)
      expect(() => decodeWriteAnswer(bytesOf(packed(['done', 1, 1, [200], shown], bodies)))).toThrow(
        expect.objectContaining({ code: 'MALFORMED' }) as Error,
      );
  });

  test('a node that knows no conditions refuses a patch that has one', () => {
    const known = 6;
    const { request } = decodeWrite(bytesOf(encodeWrite(conditional)));
    expect(request.operations[0]).toMatchObject({ filter: 'from c where c.n < 3' });
    const bytes = bytesOf(encodeWrite(conditional));
    const { header } = unpacked(bytes);
    const [[number]] = header[4] as [[number]];
    expect(number).toBeGreaterThanOrEqual(known);
  });

  test('lists that are announced and do not come cost nothing', () => {
    const list = [0xdd, 0x01, 0xff, 0xff, 0xff];
    const nested = Buffer.from(Array.from({ length: 60 }, () => list).flat());
    expect(isPlainData(nested, LIMITS)).toBe(false);
    const message = Buffer.alloc(4 + nested.length);
    message.writeUInt32LE(nested.length, 0);
    message.set(nested, 4);
    const before = process.memoryUsage().rss;
    survives(message);
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
  });

  test('what is packed by us is plain data; types of msgpackr alone are not', () => {
    for (const value of [
      [1, -1, 1e300, 'é'.repeat(300), { a: [undefined, null] }],
      Array.from({ length: 70_000 }, () => 200),
    ])
      expect(isPlainData(pack(value), LIMITS)).toBe(true);
    expect(isPlainData(pack([new Date()]), LIMITS)).toBe(false);
    let deep: unknown = 1;
    for (let at = 0; at < 1000; at += 1) deep = [deep];
    expect(isPlainData(pack(deep), LIMITS)).toBe(false);
  });

  test('no value in a patch is anything but JSON', () => {
    for (const value of [2n ** 60n, NaN]) {
      const steps = [{ op: 'set', path: '/x', value }];
      const bytes = bytesOf(packed(['s', 1, ['k'], null, [[3, 'a', null, null, steps]]]));
      expect(() => decodeWrite(bytes)).toThrow('The message cannot be understood.');
    }
  });
});

describe('the schema', () => {
  test('methods have their numbers for ever', () => {
    expect(METHODS).toEqual({ write: 1, read: 2, scan: 3, feed: 4, map: 5, look: 6 });
  });

  test('every message has its bytes for ever', () => {
    const hex = (payload: Payload): string => bytesOf(payload).toString('hex');
    expect({
      write: hex(encodeWrite(write)),
      'write done': hex(
        encodeWriteAnswer({ outcome: 'done', results: [{ status: 201 }], position: session }),
      ),
      'write returning': hex(encodeWrite(conditional)),
      'write shown': hex(
        encodeWriteAnswer({
          outcome: 'done',
          results: [{ status: 200 }, { status: 204 }],
          position: session,
          shown: [version, undefined],
        }),
      ),
      'write unknown': hex(encodeWriteAnswer({ outcome: 'unknown' })),
      refused: hex(encodeWriteAnswer(refusals[2]!)),
      read: hex(encodeRead({ ...read, level: 'Session', session })),
      'read done': hex(encodeReadAnswer({ outcome: 'done', version, position: session })),
      'read none': hex(encodeReadAnswer({ outcome: 'done', version: undefined, position: session })),
      scan: hex(encodeScan({ ...scan, session, after: { epk: '0A', id: 'x' } })),
      'scan done': hex(
        encodeScanAnswer({ outcome: 'done', versions: [version], hasMore: true, position: session }),
      ),
      feed: hex(encodeFeed(feed)),
      'feed done': hex(encodeFeedAnswer({ outcome: 'done', entries: [entry], position: session })),
      map: hex(encodeMap(map)),
    }).toMatchInlineSnapshot(`
      {
        "feed": "1200000097a86f72646572732d370000c0cd03e81490",
        "feed done": "0f00000095a4646f6e65ce0010000103c0916e013280e4fe00000080000048410000000000001c4000008056febc784201000100ffffc90001010005000a0000000000000000001c4000000000000000003031323334353637383941424344454630313233343536373839414243444546615b226b225d7b226964223a2261227d",
        "map": "860000009707a464656d6fa464656d6f009292a4776573749193a6776573742d31ae3132372e302e302e313a34313031ae3132372e302e302e313a3432303192a4656173749193a6656173742d31ae3132372e302e302e313a34313032c09194a56974656d7391a32f69649195a76974656d732d30a0a2464600a131ac41414141415941414141493d90",
        "read": "1800000098a86f72646572732d370591a16ba16102ce001000010390",
        "read done": "4a0000009da4646f6e65ce0010000103d9203031323334353637383941424344454630313233343536373839414243444546a161a55b226b225d00c000ce0030000107cb4278bcfe56800000910a7b226964223a2261227d",
        "read none": "0d00000094a4646f6e65ce001000010390",
        "refused": "1c00000096a772656675736564aa4e4f545f575249544552c0a4656173740990",
        "scan": "220000009aa86f72646572732d3705a0a2464692a23041a1780acd03e80492ce001000010390",
        "scan done": "4d00000096a4646f6e65ce0010000103c39199d9203031323334353637383941424344454630313233343536373839414243444546a161a55b226b225d00c000ce0030000107cb4278bcfe56800000910a7b226964223a2261227d",
        "write": "6b00000096a86f72646572732d37cd03e895a16b01c3c090a46f702d31969500c0c0c0c09501c0a522312d3122c0c09502a161c0a12ac09503a161c0c091de0003a26f70a3736574a470617468a22f78a576616c7565de0001a17991019504a161c0c0c09505a161c0c0c0930a0a0a7b226964223a2261227d7b226964223a2261227d7b226964223a2261227d",
        "write done": "1000000095a4646f6e65ce001000010391ccc990",
        "write returning": "4a00000097a86f72646572732d37cd03e891a16bc0919606a161c0c091de0003a26f70a4696e6372a470617468a22f6ea576616c756501b466726f6d206320776865726520632e6e203c2033c390",
        "write shown": "5300000096a4646f6e65ce001000010392ccc8cccc929ad9203031323334353637383941424344454630313233343536373839414243444546a161a55b226b225d00c000ce0030000107cb4278bcfe56800000c3c0910a7b226964223a2261227d",
        "write unknown": "0a00000092a7756e6b6e6f776e90",
      }
    `);
  });
});
