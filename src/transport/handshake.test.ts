import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RpcError } from './errors.ts';
import {
  chooseVersion,
  encodeHello,
  encodeRefusal,
  encodeWelcome,
  type Hello,
  parseHello,
  parseReply,
} from './handshake.ts';

const u16 = fc.integer({ min: 0, max: 0xffff });
const u32 = fc.integer({ min: 0, max: 0xffff_ffff });
const text = fc.string({ unit: 'grapheme', maxLength: 40 });
const hellos: fc.Arbitrary<Hello> = fc.record({
  role: fc.constantFrom('node', 'client'),
  versions: fc.record({ oldest: u16, newest: u16 }),
  maxFrameBytes: u32,
  maxRequests: u32,
  epoch: u32,
  incarnation: fc.maxSafeNat(),
  cluster: text,
  node: text,
  region: text,
  link: text,
  token: text,
});

/** What parsing gives, or the code of what it throws; anything but an RpcError is a defect. */
function codeOf(parse: () => unknown): string {
  try {
    parse();
    return 'parsed';
  } catch (error) {
    if (error instanceof RpcError) return error.code;
    throw error;
  }
}

describe('the handshake', () => {
  test('comes back as it was', () => {
    const property = fc.property(hellos, u16, (hello, version) => {
      expect(parseHello(encodeHello(hello))).toEqual(hello);
      const { role, cluster, node, region, incarnation, maxFrameBytes, maxRequests } = hello;
      const welcome = { version, role, cluster, node, region, incarnation, maxFrameBytes, maxRequests };
      expect(parseReply(encodeWelcome(welcome))).toEqual(welcome);
      const { versions } = hello;
      const error = new RpcError('NOT_AUTHORIZED', 'No.', { retryAfterMs: version });
      expect(parseReply(encodeRefusal({ versions, error }))).toMatchObject({
        versions,
        error: { code: 'NOT_AUTHORIZED', message: 'No.', retryAfterMs: version },
      });
    });
    fc.assert(property, { seed: 3, numRuns: 200 });
  });

  test('skips what later versions add at the end', () => {
    const property = fc.property(hellos, fc.uint8Array({ maxLength: 50 }), (hello, more) => {
      expect(parseHello(Buffer.concat([encodeHello(hello), more]))).toEqual(hello);
    });
    fc.assert(property, { seed: 4, numRuns: 50 });
  });

  test('is refused when it is cut off anywhere', () => {
    const versions = { oldest: 1, newest: 1 };
    const self = { role: 'node', cluster: 'c', node: 'n', region: 'r', incarnation: 1 } as const;
    const rest = { maxFrameBytes: 1, maxRequests: 1, epoch: 1, link: 'l', token: 't' };
    const bytes = encodeHello({ ...self, ...rest, versions });
    for (let end = 0; end < bytes.length; end += 1)
      expect(codeOf(() => parseHello(bytes.subarray(0, end)))).toBe('HANDSHAKE_INVALID');
  });

  test('survives garbage, also behind a good beginning', () => {
    const property = fc.property(
      fc.uint8Array({ maxLength: 300 }),
      fc.constantFrom(1, 2, 3, 4),
      (garbage, kind) => {
        const likely = Buffer.concat([Buffer.from('BTRP'), Buffer.from([kind]), garbage]);
        for (const bytes of [Buffer.from(garbage), likely]) {
          expect(['parsed', 'HANDSHAKE_INVALID']).toContain(codeOf(() => parseHello(bytes)));
          expect(['parsed', 'HANDSHAKE_INVALID']).toContain(codeOf(() => parseReply(bytes)));
        }
      },
    );
    fc.assert(property, { seed: 5, numRuns: 500 });
  });

  test.each([
    [[1, 1], [1, 1], 1],
    [[1, 3], [2, 5], 3],
    [[2, 5], [1, 3], 3],
    [[1, 1], [2, 3], undefined],
    [[2, 3], [1, 1], undefined],
    [[1, 4], [4, 4], 4],
  ])('chooses the newest version of both: %j and %j', ([oldest, newest], [first, last], chosen) => {
    const [ours, theirs] = [
      { oldest: oldest!, newest: newest! },
      { oldest: first!, newest: last! },
    ];
    expect(chooseVersion(ours, theirs)).toBe(chosen);
  });
});
