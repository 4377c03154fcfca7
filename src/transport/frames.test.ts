import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FrameReader } from './frames.ts';

interface Seen {
  readonly frames: Buffer[];
  readonly errors: unknown[];
}

function reader(limit: number): { reader: FrameReader; seen: Seen } {
  const seen: Seen = { frames: [], errors: [] };
  const sink = {
    onFrame: (bytes: Buffer, start: number, end: number) => seen.frames.push(bytes.subarray(start, end)),
    onBroken: (error: unknown) => seen.errors.push(error),
  };
  return { reader: new FrameReader(limit, sink), seen };
}

function framed(payload: Uint8Array): Buffer {
  const bytes = Buffer.alloc(4 + payload.length);
  bytes.writeUInt32BE(payload.length);
  bytes.set(payload, 4);
  return bytes;
}

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  let at = 0;
  for (let i = 0; at < bytes.length; i += 1) {
    const end = at + (sizes[i % sizes.length] ?? bytes.length);
    chunks.push(bytes.subarray(at, end));
    at = end;
  }
  return chunks;
}

describe('the reader of frames', () => {
  test('gives back what was framed, however it is cut', () => {
    const payloads = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 20 });
    const sizes = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 30 });
    const property = fc.property(payloads, sizes, (sent, cuts) => {
      const { reader: frames, seen } = reader(1000);
      for (const chunk of cut(Buffer.concat(sent.map(framed)), cuts)) frames.push(chunk);
      expect(seen.frames.map((frame) => frame.toString('hex'))).toEqual(
        sent.map((payload) => Buffer.from(payload).toString('hex')),
      );
      expect(seen.errors).toEqual([]);
      expect(frames.heldBytes).toBe(0);
    });
    fc.assert(property, { seed: 1, numRuns: 300 });
  });

  test('copies nothing that lies whole in a chunk', () => {
    const { reader: frames, seen } = reader(1000);
    const chunk = Buffer.concat([framed(Buffer.from('one')), framed(Buffer.from('two'))]);
    frames.push(chunk);
    expect(seen.frames.map(String)).toEqual(['one', 'two']);
    expect(seen.frames.every((frame) => frame.buffer === chunk.buffer)).toBe(true);
    expect(seen.frames[1]!.byteOffset).toBe(chunk.byteOffset + 11);
  });

  test('puts a large frame together from many pieces', () => {
    const { reader: frames, seen } = reader(2_000_000);
    const payload = Buffer.from(Uint8Array.from({ length: 1_000_003 }, (_, i) => i * 7));
    for (const chunk of cut(framed(payload), [1, 65_536, 3, 9000])) frames.push(chunk);
    expect(seen.frames).toHaveLength(1);
    expect(seen.frames[0]!.equals(payload)).toBe(true);
  });

  test('refuses one that is too large, whether its length is cut or not, and reads no further', () => {
    const hostile = Buffer.concat([
      framed(Buffer.from('good')),
      framed(Buffer.alloc(101)),
      framed(Buffer.from('x')),
    ]);
    for (const sizes of [[1000], [1], [9]]) {
      const { reader: frames, seen } = reader(100);
      for (const chunk of cut(hostile, sizes)) frames.push(chunk);
      expect(seen.frames.map(String)).toEqual(['good']);
      expect(seen.errors).toEqual([expect.objectContaining({ code: 'FRAME_TOO_LARGE' })]);
    }
  });

  test('holds little of a frame of which little came', () => {
    const { reader: frames } = reader(16 * 1024 * 1024);
    frames.push(Buffer.from([0, 0xff, 0xff, 0xff, 1, 2, 3]));
    expect(frames.heldBytes).toBeLessThanOrEqual(64 * 1024);
    frames.push(Buffer.alloc(100_000));
    expect(frames.heldBytes).toBeLessThanOrEqual(200_100);
  });

  test('survives garbage, and holds no more than twice what came', () => {
    const chunks = fc.array(fc.uint8Array({ minLength: 1, maxLength: 200 }), { maxLength: 30 });
    const property = fc.property(chunks, (garbage) => {
      const { reader: frames, seen } = reader(70_000);
      for (const chunk of garbage) frames.push(Buffer.from(chunk));
      expect(frames.heldBytes).toBeLessThanOrEqual(70_000);
      expect(seen.errors.length).toBeLessThanOrEqual(1);
    });
    fc.assert(property, { seed: 2, numRuns: 300 });
  });

  test('hands out nothing after it was stopped, not even of the same chunk', () => {
    const frames: FrameReader = new FrameReader(100, {
      onFrame: (bytes, start, end) => {
        got.push(bytes.toString('latin1', start, end));
        frames.stop();
      },
      onBroken: () => undefined,
    });
    const got: string[] = [];
    frames.push(Buffer.concat([framed(Buffer.from('a')), framed(Buffer.from('b'))]));
    frames.push(framed(Buffer.from('c')));
    expect(got).toEqual(['a']);
  });

  test('is broken by a taker that throws, and says what it threw', () => {
    const thrown = new Error('no');
    const errors: unknown[] = [];
    const frames = new FrameReader(100, {
      onFrame: () => {
        throw thrown;
      },
      onBroken: (error) => errors.push(error),
    });
    frames.push(Buffer.concat([framed(Buffer.from('a')), framed(Buffer.from('b'))]));
    expect(errors).toEqual([thrown]);
  });
});
