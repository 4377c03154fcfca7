/** What is sent is what arrives; what was not sent by us is refused. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Entry, NodeMessage, PartitionMessage } from '../../engine/index.ts';
import { packed } from '../../client/index.ts';
import { decodePeerMessage, encodePeerMessage, type PeerMessage } from './node-wire.ts';

const EPK = '0123456789ABCDEF0123456789ABCDEF';

function bytesOf(payload: Uint8Array | readonly Uint8Array[]): Buffer {
  return Buffer.concat(payload instanceof Uint8Array ? [payload] : [...payload]);
}

const ENTRY: Entry = {
  epoch: 3_145_729,
  lsn: 7,
  at: 1_700_000_000_000,
  operation: 'op-1',
  statuses: [201],
  changes: [
    { epk: EPK, id: 'a', partitionKey: '["k"]', body: Buffer.from('{"id":"a"}'), createdLsn: 0, previous: 0 },
    { epk: EPK, id: 'b', partitionKey: '["k"]', createdLsn: 2, previous: 5 },
  ],
};

const SAID = { gcn: 3, session: 2_097_153 };
const PARTITION_MESSAGES: readonly PartitionMessage[] = [
  { type: 'invite', gcn: 3 },
  { type: 'follow', ...SAID },
  { type: 'follow', ...SAID, copies: true },
  { type: 'refuse', ...SAID },
  {
    type: 'welcome',
    ...SAID,
    epoch: 3_145_729,
    table: [
      { epoch: 1_048_577, lsn: 1 },
      { epoch: 3_145_729, lsn: 5 },
    ],
    tail: { epoch: 3_145_729, lsn: 7 },
    base: 2,
  },
  {
    type: 'welcome',
    ...SAID,
    epoch: 3_145_729,
    table: [
      { epoch: 1_048_577, lsn: 1 },
      { epoch: 3_145_729, lsn: 5 },
    ],
    tail: { epoch: 3_145_729, lsn: 7 },
    base: 2,
    whole: false,
  },
  { type: 'ready', ...SAID, epoch: 3_145_729, base: 2, lsn: 4 },
  { type: 'entries', ...SAID, after: 6, entries: [ENTRY], marks: { gclsn: 6, safe: 5, everywhere: 4 } },
  { type: 'entries', ...SAID, after: 7, entries: [], marks: { gclsn: 7, safe: 7, everywhere: 4 } },
  { type: 'ack', ...SAID, durable: 6, received: 7, gclsn: 5, safe: 4 },
  { type: 'ack', ...SAID, durable: 6, received: 7, gclsn: 5, safe: 4, gap: true },
  { type: 'ask', ...SAID, number: 4, incarnation: 2 },
  { type: 'grant', ...SAID, number: 4, ms: 1000 },
  { type: 'grant', ...SAID, number: 4, ms: 1000, level: 'BoundedStaleness' },
  { type: 'damaged', epoch: 3_145_729, lsn: 7 },
  { type: 'damaged', epoch: 3_145_729, lsn: 7, rest: true },
  { type: 'repair', entry: ENTRY, upTo: { epoch: 3_145_729, lsn: 8 } },
  { type: 'survey', ...SAID },
  {
    type: 'standing',
    ...SAID,
    table: [{ epoch: 1_048_577, lsn: 1 }],
    tail: { epoch: 1_048_577, lsn: 7 },
    base: 2,
    gclsn: 6,
    building: false,
  },
  {
    type: 'standing',
    ...SAID,
    table: [],
    tail: { epoch: 0, lsn: 0 },
    base: 1,
    gclsn: 0,
    building: true,
  },
  { type: 'fetch', ...SAID, after: 6, maxBytes: 1_048_576 },
  { type: 'fetched', ...SAID, after: 6, entries: [ENTRY] },
  { type: 'short', ...SAID, epoch: 3_145_729, lsn: 7 },
  { type: 'repair', entry: ENTRY },
];

const MESSAGES: readonly PeerMessage[] = [
  { type: 'pulse', isWell: true },
  { type: 'pulse', isWell: false },
  { type: 'hint', partitionSet: 'orders-7', hint: { hint: 'beat', gcn: 3, writer: 'west', beat: 12 } },
  ...PARTITION_MESSAGES.map((message): NodeMessage => ({
    type: 'partition',
    partitionSet: 'orders-7',
    message,
  })),
];

/** Entries come back with their bytes. */
function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, item: unknown) =>
      key === 'encoded' ? undefined : key === 'body' ? Buffer.from(item as Uint8Array).toString() : item,
    ),
  );
}

describe('messages between nodes', () => {
  test.each(MESSAGES.map((message) => [JSON.stringify(message).slice(0, 60), message] as const))(
    '%s',
    (_, message) => {
      expect(plain(decodePeerMessage(bytesOf(encodePeerMessage(message))))).toEqual(plain(message));
    },
  );

  test('a message that is cut off, or has something added, is refused', () => {
    for (const message of MESSAGES) {
      const bytes = bytesOf(encodePeerMessage(message));
      for (const cut of [0, 3, 4, bytes.length - 1])
        expect(() => decodePeerMessage(bytes.subarray(0, cut)), `${message.type} ${cut}`).toThrow(
          expect.objectContaining({ code: 'MALFORMED' }),
        );
      expect(() => decodePeerMessage(Buffer.concat([bytes, Buffer.from([0])]))).toThrow(
        expect.objectContaining({ code: 'MALFORMED' }),
      );
    }
  });

  test('every message has its bytes for ever', () => {
    const hex = MESSAGES.map((message) => bytesOf(encodePeerMessage(message)).toString('hex'));
    expect(hex).toMatchInlineSnapshot(`
      [
        "040000009300c390",
        "040000009300c290",
        "300000009401a86f72646572732d37de0004a468696e74a462656174a367636e03a6777269746572a477657374a4626561740c90",
        "0d0000009402a86f72646572732d370390",
        "120000009503a86f72646572732d3703ce0020000190",
        "130000009603a86f72646572732d3703ce00200001c390",
        "12000000950aa86f72646572732d3703ce0020000190",
        "2b0000009a04a86f72646572732d3703ce00200001ce0030000194ce0010000101ce0030000105ce00300001070290",
        "2c0000009b04a86f72646572732d3703ce00200001ce0030000194ce0010000101ce0030000105ce003000010702c290",
        "190000009805a86f72646572732d3703ce00200001ce00300001020490",
        "180000009906a86f72646572732d3703ce002000010606050491ccb101d4426ea000000080000048410000000000001c4000008056febc7842010002000400c9006f702d3101010005000a000000000000000000000000000000000000003031323334353637383941424344454630313233343536373839414243444546615b226b225d7b226964223a2261227d000100050000000000000000000000004000000000000014403031323334353637383941424344454630313233343536373839414243444546625b226b225d",
        "160000009906a86f72646572732d3703ce002000010707070490",
        "170000009a07a86f72646572732d3703ce0020000106070504c290",
        "170000009a07a86f72646572732d3703ce0020000106070504c390",
        "140000009708a86f72646572732d3703ce00200001040290",
        "160000009709a86f72646572732d3703ce0020000104cd03e890",
        "270000009809a86f72646572732d3703ce0020000104cd03e8b0426f756e6465645374616c656e65737390",
        "12000000950ba86f72646572732d37ce003000010790",
        "13000000960ba86f72646572732d37ce0030000107c390",
        "14000000950ca86f72646572732d37ce003000010891ccb101d4426ea000000080000048410000000000001c4000008056febc7842010002000400c9006f702d3101010005000a000000000000000000000000000000000000003031323334353637383941424344454630313233343536373839414243444546615b226b225d7b226964223a2261227d000100050000000000000000000000004000000000000014403031323334353637383941424344454630313233343536373839414243444546625b226b225d",
        "12000000950da86f72646572732d3703ce0020000190",
        "220000009b0ea86f72646572732d3703ce0020000192ce0010000101ce00100001070206c290",
        "180000009b0ea86f72646572732d3703ce002000019000000100c390",
        "18000000970fa86f72646572732d3703ce0020000106ce0010000090",
        "150000009610a86f72646572732d3703ce002000010691ccb101d4426ea000000080000048410000000000001c4000008056febc7842010002000400c9006f702d3101010005000a000000000000000000000000000000000000003031323334353637383941424344454630313233343536373839414243444546615b226b225d7b226964223a2261227d000100050000000000000000000000004000000000000014403031323334353637383941424344454630313233343536373839414243444546625b226b225d",
        "180000009711a86f72646572732d3703ce00200001ce003000010790",
        "0e000000930ca86f72646572732d3791ccb101d4426ea000000080000048410000000000001c4000008056febc7842010002000400c9006f702d3101010005000a000000000000000000000000000000000000003031323334353637383941424344454630313233343536373839414243444546615b226b225d7b226964223a2261227d000100050000000000000000000000004000000000000014403031323334353637383941424344454630313233343536373839414243444546625b226b225d",
      ]
    `);
  });

  test('an entry whose bytes were changed is refused', () => {
    const bytes = bytesOf(encodePeerMessage(MESSAGES.at(-1)!));
    bytes[bytes.length - 3]! ^= 1;
    expect(() => decodePeerMessage(bytes)).toThrow(expect.objectContaining({ code: 'MALFORMED' }));
  });

  test('whatever structure comes is understood or refused', () => {
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom(null, undefined, true, 'a', 'beat', 'phase', 0, 1, 2.5, NaN, -1),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(fc.constantFrom('hint', 'gcn', 'step', 'writer', 'beat'), tie('value')),
      ),
    }));
    const bodies = fc.array(fc.uint8Array({ maxLength: 30 }), { maxLength: 2 });
    fc.assert(
      fc.property(fc.nat(14), fc.array(value, { maxLength: 9 }), bodies, (type, fields, parts) => {
        try {
          decodePeerMessage(bytesOf(packed([type, ...fields], parts)));
          decodePeerMessage(bytesOf(packed([type, 'orders-7', ...fields], parts)));
        } catch (error) {
          expect(error).toMatchObject({ code: 'MALFORMED' });
        }
      }),
      { numRuns: 3000, seed: 1 },
    );
  });

  test('whatever comes is understood or refused', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          decodePeerMessage(Buffer.from(bytes));
        } catch (error) {
          expect(error).toMatchObject({ code: 'MALFORMED' });
        }
      }),
      { numRuns: 2000 },
    );
  });
});
