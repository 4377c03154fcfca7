import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { frame, FrameSplitter } from './frames.ts';

function split(bytes: Buffer, cuts: readonly number[], limit = 1000): Buffer[] {
  const frames: Buffer[] = [];
  const splitter = new FrameSplitter(limit);
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  let from = 0;
  for (const end of [...ends, bytes.length]) {
    splitter.push(bytes.subarray(from, end), (payload) => frames.push(Buffer.from(payload)));
    from = end;
  }
  return frames;
}

describe('frames on a stream', () => {
  test('come out as they went in, however the stream is cut', () => {
    const payloads = fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 8 });
    fc.assert(
      fc.property(payloads, fc.array(fc.nat({ max: 500 }), { maxLength: 20 }), (list, cuts) => {
        const bytes = Buffer.concat(list.map((payload) => frame(payload)));
        expect(split(bytes, cuts)).toEqual(list.map((payload) => Buffer.from(payload)));
      }),
      { seed: 6, numRuns: 300 },
    );
  });

  test('over the limit are refused as soon as their length is known', () => {
    const splitter = new FrameSplitter(10);
    expect(() => splitter.push(Buffer.from([0, 0, 0, 11]), () => undefined)).toThrow(
      expect.objectContaining({ code: 'REQUEST_TOO_LARGE' }),
    );
    expect(split(frame(Buffer.alloc(10)), [], 10)).toHaveLength(1);
  });

  test('over the limit are refused behind one that is not, too', () => {
    const bytes = Buffer.concat([frame(Buffer.alloc(3)), frame(Buffer.alloc(11))]);
    expect(() => split(bytes, [5, 9], 10)).toThrow('over the limit');
  });
});
