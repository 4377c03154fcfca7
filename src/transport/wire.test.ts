/**
 * The bytes on the wire, pinned. If a test here fails, nodes of two releases would misread each other: give the change a
 * new PROTOCOL_VERSION in `wire.ts`, keep speaking the old one down to OLDEST_PROTOCOL_VERSION, and only then pin anew.
 */
import { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { NODE_HOST } from '../../test/transport/rpc-scene.ts';
import { RpcError } from './errors.ts';
import { FrameWriter } from './frame-writer.ts';
import { encodeHello, encodeRefusal, encodeWelcome } from './handshake.ts';
import {
  KIND,
  OLDEST_PROTOCOL_VERSION,
  PROTOCOL_VERSION,
  readFailure,
  readGoodbye,
  writeAnswer,
  writeFailure,
  writeGoodbye,
  writeMessage,
  writeNumber,
  writeRequest,
} from './wire.ts';

const busy = new RpcError('BUSY', 'Später.', { retryAfterMs: 20 });
const failed = new RpcError('HANDLER_FAILED', 'No.', { outcome: 'unknown' });
const self = { role: 'node', cluster: 'c1', node: 'n1', region: 'r1', incarnation: 2 ** 40 + 1 } as const;
const appetite = { maxFrameBytes: 16 * 1024 * 1024, maxRequests: 2048 };

/** What is written, with its four bytes of length. */
async function written(write: (writer: FrameWriter) => void): Promise<Buffer> {
  const chunks: Buffer[] = [];
  const socket = new Socket();
  socket._write = (chunk: Buffer, _encoding, done) => {
    chunks.push(Buffer.from(chunk));
    done();
  };
  write(new FrameWriter(socket, NODE_HOST, 1000, () => undefined));
  await new Promise((resolve) => {
    setImmediate(() => setImmediate(resolve));
  });
  return Buffer.concat(chunks);
}

const PINNED: readonly [string, (writer: FrameWriter) => void, string][] = [
  ['MESSAGE', (w) => writeMessage(w, 0x0102, Buffer.from([0xaa, 0xbb])), '00000005 01 0102 aabb'],
  [
    'MESSAGE in parts',
    (w) => writeMessage(w, 7, [Buffer.from([1]), Buffer.from([2, 3])]),
    '00000006 01 0007 010203',
  ],
  [
    'REQUEST',
    (w) => writeRequest(w, 0xfffefdfc, 0x0a0b, 5000, Buffer.from([0xcc])),
    '0000000c 02 fffefdfc 0a0b 00001388 cc',
  ],
  ['ANSWER', (w) => writeAnswer(w, 3, Buffer.from([0xdd])), '00000006 03 00000003 dd'],
  ['ANSWER of nothing', (w) => writeAnswer(w, 3, []), '00000005 03 00000003'],
  [
    'FAILURE, rejected',
    (w) => writeFailure(w, 4, busy),
    '00000017 04 00000004 01 00000014 04 42555359 5370c3a47465722e',
  ],
  [
    'FAILURE, unknown',
    (w) => writeFailure(w, 5, failed),
    '0000001c 04 00000005 00 00000000 0e 48414e444c45525f4641494c4544 4e6f2e',
  ],
  ['CANCEL', (w) => writeNumber(w, KIND.CANCEL, 6), '00000005 05 00000006'],
  ['PING', (w) => writeNumber(w, KIND.PING, 7), '00000005 06 00000007'],
  ['PONG', (w) => writeNumber(w, KIND.PONG, 8), '00000005 07 00000008'],
  ['GOODBYE', (w) => writeGoodbye(w, new RpcError('CLOSED', 'Bye.')), '0000000c 08 06 434c4f534544 4279652e'],
];

describe('the wire format of version 1', () => {
  test('is the version that is spoken', () => {
    expect([OLDEST_PROTOCOL_VERSION, PROTOCOL_VERSION]).toEqual([1, 1]);
  });

  test('has a pin for every kind', () => {
    const kinds = new Set(PINNED.map(([, , hex]) => Number.parseInt(hex.slice(9, 11), 16)));
    expect([...kinds].sort((a, b) => a - b)).toEqual(Object.values(KIND));
  });

  test.each(PINNED)('%s', async (_, write, hex) => {
    expect((await written(write)).toString('hex')).toBe(hex.replaceAll(' ', ''));
  });

  test('HELLO', () => {
    const versions = { oldest: 1, newest: 3 };
    const bytes = encodeHello({ ...self, ...appetite, versions, link: 'peer', epoch: 9, token: 'sé' });
    expect(bytes.toString('hex')).toBe(
      '42545250 01 0001 0003 01 01000000 00000800 0000010000000001 00000009 0002 6331 0002 6e31 0002 7231 0004 70656572 0003 73c3a9'.replaceAll(
        ' ',
        '',
      ),
    );
  });

  test('WELCOME', () => {
    const bytes = encodeWelcome({ ...self, ...appetite, role: 'client', version: 1 });
    expect(bytes.toString('hex')).toBe(
      '42545250 02 0001 02 01000000 00000800 0000010000000001 0002 6331 0002 6e31 0002 7231'.replaceAll(
        ' ',
        '',
      ),
    );
  });

  test('REFUSAL', () => {
    const bytes = encodeRefusal({ versions: { oldest: 1, newest: 1 }, error: busy });
    expect(bytes.toString('hex')).toBe(
      '42545250 03 0001 0001 00000014 0004 42555359 0008 5370c3a47465722e'.replaceAll(' ', ''),
    );
  });
});

describe('errors on the wire', () => {
  test('come back as they were', async () => {
    for (const error of [busy, failed]) {
      const bytes = await written((writer) => writeFailure(writer, 1, error));
      const { code, message, outcome, retryAfterMs } = error;
      expect(readFailure(bytes, 4, bytes.length)).toMatchObject({ code, message, outcome, retryAfterMs });
    }
    const bytes = await written((writer) => writeGoodbye(writer, busy));
    expect(readGoodbye(bytes, 4, bytes.length)).toMatchObject({ code: 'BUSY', message: 'Später.' });
  });

  test.each(['0400000001', '040000000101000000140', '04000000010100000014ff4142', '0400000001010000001400'])(
    'are refused when cut off: %s',
    (hex) => {
      const bytes = Buffer.from(hex, 'hex');
      expect(() => readFailure(bytes, 0, bytes.length)).toThrow(
        expect.objectContaining({ code: 'PROTOCOL_VIOLATION' }),
      );
    },
  );
});
