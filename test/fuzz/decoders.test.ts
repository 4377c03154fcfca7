/**
 * Rule 11: every decoder of what comes from outside survives anything: it takes it, or refuses it with an error of its own, in
 * a time and with a memory that its length bounds. Seeded, so that a failure can be run again.
 */
import { crc32 } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { encodeEnvelope, decodeEnvelope, parseConfiguration } from '../../src/caspaxos/core/index.ts';
import {
  flattenReplies,
  flattenRequests,
  IN_THE_JOURNAL,
  pack,
  replayEntries,
  unflattenReplies,
  unflattenRequests,
  unpack,
} from '../../src/caspaxos/service/codec.ts';
import { FrameSplitter } from '../../src/caspaxos/service/frames.ts';
import {
  decodeIdentity,
  decodeRecord,
  encodeIdentity,
  encodeRecord,
} from '../../src/caspaxos/stores/documents.ts';
import { decodeMap, encodeMap } from '../../src/client/wire/map-wire.ts';
import {
  decodeRead,
  decodeReadAnswer,
  decodeWrite,
  decodeWriteAnswer,
  encodeRead,
  encodeReadAnswer,
  encodeWrite,
  encodeWriteAnswer,
} from '../../src/client/wire/client-wire.ts';
import {
  decodeFeed,
  decodeFeedAnswer,
  decodeScan,
  decodeScanAnswer,
  encodeFeed,
  encodeFeedAnswer,
  encodeScan,
  encodeScanAnswer,
} from '../../src/client/wire/scan-wire.ts';
import {
  decodeLook,
  decodeLookAnswer,
  encodeLook,
  encodeLookAnswer,
} from '../../src/client/wire/look-wire.ts';
import { decodeEntry, encodeEntry } from '../../src/engine/entry-codec.ts';
import { LIMITS } from '../../src/engine/index.ts';
import { nodeJson } from '../../src/engine/json-codec.ts';
import { parseCondition } from '../../src/engine/core/documents/condition.ts';
import { parsePartitionKey } from '../../src/engine/core/documents/partition-key.ts';
import { validateBody } from '../../src/engine/core/documents/validate.ts';
import { readRecord, writeRecord } from '../../src/engine/storage/records.ts';
import { StateCodec } from '../../src/failover/state-codec.ts';
import { objectIn } from '../../src/server/gateway/bodies.ts';
import { parseContinuation } from '../../src/server/gateway/items/continuation.ts';
import { type Catalog, firstCatalog, parseCatalog } from '../../src/server/catalog/catalog.ts';
import { placesOf } from '../../src/server/catalog/placement.ts';
import { decodePeerMessage, encodePeerMessage, type PeerMessage } from '../../src/server/node/node-wire.ts';
import { encodeHello, encodeRefusal, parseHello, parseReply } from '../../src/transport/handshake.ts';
import { RpcError } from '../../src/transport/errors.ts';
import { FrameReader } from '../../src/transport/frames.ts';
import { healthy } from '../failover/reports.ts';
import { entry, PARTITION_MESSAGES, position } from './peer-messages.ts';

const MUTATIONS = 2000;
const ballot = { counter: 7, proposer: 'west', incarnation: 9 };
const record = { set: 1, promised: ballot, accepted: ballot, value: 'v' };
const requests = [
  { key: 'k', set: 1, message: { type: '1a', ballot } },
  { key: 'l', set: 1, message: { type: '2a', ballot, value: 'v' } },
] as const;
const version = { ...entry.changes[0]!, epoch: 1, lsn: 2, at: 3 };
const configuration = { cluster: 'c', number: 1, acceptors: [{ id: 'a', url: 'memory:a' }] };

/** What nodes say about anything else: the compiler demands every type. */
const OTHER_MESSAGES: {
  readonly [Type in Exclude<PeerMessage['type'], 'partition'>]: Extract<PeerMessage, { readonly type: Type }>;
} = {
  pulse: { type: 'pulse', isWell: true },
  hint: { type: 'hint', partitionSet: 's', hint: { hint: 'beat', gcn: 1, writer: 'w', beat: 2 } },
};
const PEER_MESSAGES: Readonly<Record<string, PeerMessage>> = {
  ...OTHER_MESSAGES,
  'hint of a phase': { type: 'hint', partitionSet: 's', hint: { hint: 'phase', gcn: 1, step: 2 } },
  ...Object.fromEntries(
    Object.entries(PARTITION_MESSAGES).map(([type, message]) => [
      type,
      { type: 'partition', partitionSet: 's', message } as const,
    ]),
  ),
};

const CATALOG: Catalog = {
  ...firstCatalog([{ name: 'items', partitionKey: ['/id'], partitionSets: 4 }], 1),
  columns: 2,
  marks: ['m'],
};

/** A value of a register is JSON already, where it is read. */
function jsonIn(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString());
  } catch {
    return null;
  }
}

interface Decoder {
  readonly name: string;
  /** What a sound one looks like. */
  readonly seed: () => Uint8Array;
  readonly decode: (bytes: Buffer) => unknown;
  /** Makes the checksum of a mutant fit, so that what is behind it is reached. */
  readonly seal?: (bytes: Buffer) => Buffer;
}

const flat = (payload: Uint8Array | readonly Uint8Array[]): Uint8Array =>
  payload instanceof Uint8Array ? payload : Buffer.concat([...payload]);

function sealedText(bytes: Buffer): Buffer {
  const json = bytes.toString('utf8').slice('baton1 00000000 '.length);
  return Buffer.from(`baton1 ${crc32(json).toString(16).padStart(8, '0')} ${json}`);
}

const TARGET = { number: 1, ranges: [{ id: 'r' }] } as unknown as Parameters<typeof parseContinuation>[1];
const ITEM = { settings: { partitionKeyPaths: [['k']] }, limits: LIMITS, json: nodeJson };

const DECODERS: readonly Decoder[] = [
  {
    name: 'a batch of an acceptor',
    seed: () => pack(flattenRequests(requests)),
    decode: (bytes) => unflattenRequests(unpack(bytes)),
  },
  {
    name: 'answers of an acceptor',
    seed: () =>
      pack(
        flattenReplies([
          { type: '1b', acceptor: 0, ballot, accepted: ballot, value: 'v' },
          { type: 'nak', acceptor: 0, ballot, promised: ballot },
        ]),
      ),
    decode: (bytes) => unflattenReplies(unpack(bytes), requests, 0),
  },
  {
    name: 'a call of an acceptor',
    seed: () => pack([1, 'install', JSON.stringify(configuration), { deep: [[{}]] }]),
    decode: (bytes) => unpack(bytes),
  },
  {
    name: 'a record of an acceptor’s journal',
    seed: () => pack(['k', 1, 7, 'west', 9, 7, 'west', 9, 'v']),
    decode: (bytes) =>
      replayEntries(
        unpack(bytes, IN_THE_JOURNAL),
        () => undefined,
        () => {},
      ),
  },
  {
    name: 'frames of an acceptor',
    seed: () => Buffer.from([0, 0, 0, 2, 1, 2, 0, 0, 0, 1, 9]),
    decode: (bytes) => new FrameSplitter(1000).push(bytes, () => {}),
  },
  {
    name: 'a register’s document',
    seed: () => Buffer.from(encodeRecord(record)),
    decode: (bytes) => decodeRecord(bytes.toString(), 'it'),
    seal: sealedText,
  },
  {
    name: 'an identity',
    seed: () => Buffer.from(encodeIdentity({ id: 'a', createdAt: 'now', configuration })),
    decode: (bytes) => decodeIdentity(bytes.toString(), 'it'),
    seal: sealedText,
  },
  {
    name: 'a register’s value',
    seed: () =>
      Buffer.from(
        encodeEnvelope({
          version: 1,
          floor: 0,
          operations: [{ origin: 'w/1', sequence: 1, version: 1, attempt: 1 }],
          json: '1',
        }),
      ),
    decode: (bytes) => decodeEnvelope(bytes.toString()),
  },
  {
    name: 'a set of acceptors',
    seed: () => Buffer.from(JSON.stringify(configuration)),
    decode: (bytes) => parseConfiguration(bytes.toString()),
  },
  {
    name: 'a failover state',
    seed: () => Buffer.from(new StateCodec().encode(healthy())),
    decode: (bytes) => new StateCodec().decode(bytes.toString()),
  },
  {
    name: 'a greeting',
    seed: () =>
      encodeHello({
        versions: { oldest: 1, newest: 1 },
        role: 'node',
        cluster: 'c',
        node: 'n',
        region: 'r',
        incarnation: 1,
        maxFrameBytes: 1,
        maxRequests: 1,
        link: 'l',
        epoch: 1,
        token: 't',
      }),
    decode: parseHello,
  },
  {
    name: 'an answer to a greeting',
    seed: () =>
      encodeRefusal({
        versions: { oldest: 1, newest: 1 },
        error: new RpcError('NOT_READY', 'The node is starting.'),
      }),
    decode: parseReply,
  },
  {
    name: 'frames of a node',
    seed: () => Buffer.from([0, 0, 0, 2, 1, 2, 0, 0, 0, 1, 9]),
    decode: (bytes) => {
      let held = 0;
      const reader = new FrameReader(1000, { onFrame: () => {}, onBroken: () => {} });
      for (const byte of bytes) {
        reader.push(Buffer.from([byte]));
        held = Math.max(held, reader.heldBytes);
      }
      expect(held).toBeLessThanOrEqual(1000);
    },
  },
  ...Object.entries(PEER_MESSAGES).map(([type, message]) => ({
    name: `a message of a node: ${type}`,
    seed: () => flat(encodePeerMessage(message)),
    decode: decodePeerMessage,
  })),
  {
    name: 'a catalogue',
    seed: () => Buffer.from(JSON.stringify(CATALOG)),
    decode: (bytes) => {
      const catalog = parseCatalog(jsonIn(bytes));
      // What every node and gateway does with it at once.
      if (catalog !== undefined) placesOf(catalog, 2);
    },
  },
  {
    name: 'an entry',
    seed: () => encodeEntry({ ...entry }),
    decode: decodeEntry,
    seal: (bytes) => {
      if (bytes.length < 5) return bytes;
      bytes[0] = 1;
      bytes.writeUInt32LE(crc32(bytes.subarray(5), 1), 1);
      return bytes;
    },
  },
  {
    name: 'a record of a node',
    seed: () => writeRecord({ a: [1, { b: 2 }] }),
    decode: (bytes) => readRecord(bytes, 'it'),
    seal: (bytes) => {
      if (bytes.length >= 4) bytes.writeUInt32LE(crc32(bytes.subarray(4)), 0);
      return bytes;
    },
  },
  {
    name: 'a write of a client',
    seed: () =>
      flat(
        encodeWrite({
          partitionSet: 's',
          timeoutMs: 1,
          request: {
            partitionKey: ['k'],
            operations: [{ op: 'patch', id: 'a', steps: [{ op: 'set', path: '/x', value: { y: [1] } }] }],
          },
        }),
      ),
    decode: decodeWrite,
  },
  {
    name: 'a read of a client',
    seed: () =>
      flat(encodeRead({ partitionSet: 's', timeoutMs: 1, partitionKey: ['k'], id: 'a', level: 'Strong' })),
    decode: decodeRead,
  },
  {
    name: 'an answer to a write',
    seed: () =>
      flat(encodeWriteAnswer({ outcome: 'done', results: [{ status: 201 }], position, shown: [version] })),
    decode: decodeWriteAnswer,
  },
  {
    name: 'an answer to a read',
    seed: () => flat(encodeReadAnswer({ outcome: 'done', version, position })),
    decode: decodeReadAnswer,
  },
  {
    name: 'a scan',
    seed: () =>
      flat(
        encodeScan({
          partitionSet: 's',
          timeoutMs: 1,
          from: '',
          to: 'FF',
          limit: 1,
          maxBytes: 1,
          level: 'Strong',
        }),
      ),
    decode: decodeScan,
  },
  {
    name: 'an answer to a scan',
    seed: () => flat(encodeScanAnswer({ outcome: 'done', versions: [version], hasMore: true, position })),
    decode: decodeScanAnswer,
  },
  {
    name: 'a feed',
    seed: () => flat(encodeFeed({ partitionSet: 's', after: position, maxBytes: 1, waitMs: 1 })),
    decode: decodeFeed,
  },
  {
    name: 'an answer to a feed',
    seed: () => flat(encodeFeedAnswer({ outcome: 'done', entries: [entry], position })),
    decode: decodeFeedAnswer,
  },
  {
    name: 'a look',
    seed: () => flat(encodeLook({ version: 1, partitionSets: ['s'], timeoutMs: 1 })),
    decode: decodeLook,
  },
  {
    name: 'an answer to a look',
    seed: () => flat(encodeLookAnswer({ version: 1, canWrite: [{ partitionSet: 's', gcn: 1 }] })),
    decode: decodeLookAnswer,
  },
  {
    name: 'a map',
    seed: () =>
      flat(
        encodeMap({
          version: 1,
          cluster: 'c',
          account: { name: 'a', consistency: 'Strong' },
          regions: [{ name: 'w', nodes: [{ name: 'n', address: 'h:1' }] }],
          containers: [],
        }),
      ),
    decode: decodeMap,
  },
  {
    name: 'a document',
    seed: () => Buffer.from('{"id":"a","k":"k","x":[{"y":1}]}'),
    decode: (bytes) => validateBody(bytes, ['k'], ITEM as never),
  },
  {
    name: 'a condition',
    seed: () => Buffer.from("from c where c.a = 1 and (not c.b in ('x', 2) or startswith(c.d, 'e'))"),
    decode: (bytes) => parseCondition(bytes.toString()),
  },
  {
    name: 'a partition key',
    seed: () => Buffer.from('["a",1,{},null]'),
    decode: (b) => parsePartitionKey(b.toString()),
  },
  { name: 'the body of a request', seed: () => Buffer.from('{"id":"a","b":{"c":[]}}'), decode: objectIn },
  {
    name: 'a continuation',
    seed: () => Buffer.from(JSON.stringify([1, 1, 'r', '0'.repeat(32), 'a'])),
    decode: (bytes) => parseContinuation(bytes.toString('base64url'), TARGET),
  },
];

/** What a decoder may throw: an error that has a code or a status, or, inside the acceptors' codec, one in plain words. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof TypeError || error instanceof RangeError || error.name === 'AssertionError')
    return false;
  return 'code' in error || 'status' in error || error.constructor === Error || error instanceof SyntaxError;
}

/** A small generator of its own: the same numbers everywhere. */
function random(seed: number): (bound: number) => number {
  let state = seed >>> 0;
  return (bound) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * bound);
  };
}

/** Headers that promise more than comes: lists, maps, texts, extensions, of every width; the beginnings of JSON; a digit too many. */
const HEADERS = [
  [0xdd, 0xff, 0xff, 0xff, 0xff],
  [0xdd, 0x01, 0xff, 0xff, 0xff],
  [0xdf, 0x7f, 0xff, 0xff, 0xff],
  [0xdc, 0xff, 0xff],
  [0xde, 0xff, 0xff],
  [0xdb, 0xff, 0xff, 0xff, 0xff],
  [0xc6, 0xff, 0xff, 0xff, 0xff],
  [0xc9, 0x7f, 0xff, 0xff, 0xff, 0x72],
  [0xd4, 0x72, 0x40],
  [0x91],
  [0x81],
  [0x5b],
  [0x7b, 0x22, 0x61, 0x22, 0x3a],
  [0x39],
];

function mutant(seed: Uint8Array, next: (bound: number) => number): Buffer {
  let bytes = Buffer.from(seed);
  for (let times = 1 + next(4); times > 0; times -= 1) {
    const at = next(bytes.length + 1);
    const header = HEADERS[next(HEADERS.length)]!;
    const parts = [bytes.subarray(0, at), bytes.subarray(at)];
    switch (next(6)) {
      case 0:
        bytes = Buffer.concat([
          parts[0]!,
          Buffer.from(Array.from({ length: 1 + next(60) }, () => header).flat()),
          parts[1]!,
        ]);
        break;
      case 1:
        bytes = Buffer.from(parts[0]!);
        break;
      case 2:
        bytes = Buffer.concat([parts[0]!, parts[1]!.subarray(next(8))]);
        break;
      default:
        if (at < bytes.length) bytes[at] = next(3) === 0 ? 0xff : next(256);
    }
  }
  return bytes;
}

describe.each(DECODERS)('the decoder of $name', ({ seed, decode, seal = (bytes) => bytes }) => {
  function survives(bytes: Buffer): void {
    try {
      decode(seal(Buffer.from(bytes)));
    } catch (error) {
      if (!isRefusal(error)) throw new Error(bytes.toString('hex').slice(0, 400), { cause: error });
    }
  }

  test('takes what is sound', () => {
    expect(() => decode(seal(Buffer.from(seed())))).not.toThrow();
  });

  test('refuses what is not, in words of its own, and makes no room for it', () => {
    const next = random(31);
    const before = process.memoryUsage();
    for (let round = 0; round < MUTATIONS; round += 1) survives(mutant(seed(), next));
    const after = process.memoryUsage();
    // A list of sixteen million places takes 128 MB; sixty of them in each other are in the mutants many times.
    expect(after.rss - before.rss).toBeLessThan(200 * 1024 * 1024);
  });

  test.each([
    ['[', 0x5b],
    ['a list of one', 0x91],
    ['a map of one', 0x81],
  ])('survives nesting without end: %s', (_, byte) => {
    const nested = Buffer.alloc(1024 * 1024, byte);
    survives(nested);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(nested.length, 0);
    survives(Buffer.concat([length, nested]));
    const text = '['.repeat(200_000) + ']'.repeat(200_000);
    survives(Buffer.from(`baton1 00000000 ${text}`));
    survives(Buffer.from(`{"id":"a","k":"k","x":${text}}`));
    survives(Buffer.from(text));
  });
});
