/** What is sent is what arrives; what was not sent by us is refused. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Entry, NodeMessage, PartitionMessage } from '../../engine/index.ts';
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
  { type: 'ready', ...SAID, epoch: 3_145_729, base: 2, lsn: 4 },
  { type: 'entries', ...SAID, after: 6, entries: [ENTRY], marks: { gclsn: 6, safe: 5, everywhere: 4 } },
  { type: 'entries', ...SAID, after: 7, entries: [], marks: { gclsn: 7, safe: 7, everywhere: 4 } },
  { type: 'ack', ...SAID, durable: 6, received: 7, gclsn: 5, safe: 4 },
  { type: 'ack', ...SAID, durable: 6, received: 7, gclsn: 5, safe: 4, gap: true },
  { type: 'ask', ...SAID, number: 4, incarnation: 2 },
  { type: 'grant', ...SAID, number: 4, ms: 1000 },
  { type: 'damaged', epoch: 3_145_729, lsn: 7 },
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

  test('an entry whose bytes were changed is refused', () => {
    const bytes = bytesOf(encodePeerMessage(MESSAGES.at(-1)!));
    bytes[bytes.length - 3]! ^= 1;
    expect(() => decodePeerMessage(bytes)).toThrow(expect.objectContaining({ code: 'MALFORMED' }));
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
