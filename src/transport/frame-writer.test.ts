import { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { NODE_HOST } from '../../test/transport/rpc-scene.ts';
import { FrameWriter } from './frame-writer.ts';
import { writeMessage } from './wire.ts';

/** A socket that leads nowhere: keeps each call to the system, and lets it end when told. */
class StubSocket extends Socket {
  readonly writes: Uint8Array[][] = [];
  /** Whose bytes it was given. */
  readonly memory = new Set<ArrayBufferLike>();
  isStuck = false;
  #finish: (() => void) | undefined;

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#take([chunk], done);
  }

  override _writev(chunks: readonly { readonly chunk: unknown }[], done: () => void): void {
    this.#take(
      chunks.map(({ chunk }) => chunk as Buffer),
      done,
    );
  }

  override _final(done: () => void): void {
    done();
  }

  unstick(): void {
    this.isStuck = false;
    this.#finish?.();
  }

  get bytes(): Buffer {
    return Buffer.concat(this.writes.flat());
  }

  /** Like a kernel, it copies what it takes, and not before it takes it. */
  #take(chunks: Buffer[], done: () => void): void {
    this.#finish = () => {
      this.#finish = undefined;
      this.writes.push(chunks.map((chunk) => Buffer.from(chunk)));
      for (const { buffer } of chunks) this.memory.add(buffer);
      done();
    };
    if (!this.isStuck) this.#finish();
  }
}

function scene(highWaterBytes = 1_000_000): { socket: StubSocket; writer: FrameWriter; rooms: number[] } {
  const socket = new StubSocket();
  const rooms: number[] = [];
  const writer = new FrameWriter(socket, NODE_HOST, highWaterBytes, () => rooms.push(writer.queuedBytes));
  return { socket, writer, rooms };
}

const turn = () =>
  new Promise((resolve) => {
    setImmediate(() => setImmediate(resolve));
  });

function messagesIn(bytes: Buffer): string[] {
  const messages: string[] = [];
  for (let at = 0; at < bytes.length; at += 4 + bytes.readUInt32BE(at))
    messages.push(bytes.toString('latin1', at + 7, at + 4 + bytes.readUInt32BE(at)));
  return messages;
}

describe('the writer of frames', () => {
  test('puts the messages of a turn into one write', async () => {
    const { socket, writer } = scene();
    const messages = Array.from({ length: 1000 }, (_, i) => `message ${i}`);
    for (const message of messages) writeMessage(writer, 1, Buffer.from(message));
    expect(socket.writes).toHaveLength(0);
    await turn();
    expect(socket.writes).toHaveLength(1);
    expect(messagesIn(socket.bytes)).toEqual(messages);
    expect(writer.queuedBytes).toBe(0);
  });

  test('keeps the order of turns, of sizes, and of payloads in parts', async () => {
    const { socket, writer } = scene();
    const sent: string[] = [];
    for (let i = 0; i < 60; i += 1) {
      const parts = Array.from({ length: i % 4 }, (_, part) =>
        Buffer.alloc((i * 977 * (part + 1)) % 40_000, 65 + (i % 26)),
      );
      sent.push(parts.map(String).join(''));
      writeMessage(writer, 1, i % 2 === 0 ? parts : Buffer.concat(parts));
      if (i % 7 === 0) await turn();
    }
    await turn();
    const got = messagesIn(socket.bytes);
    expect(got.map((message) => message.length)).toEqual(sent.map((message) => message.length));
    expect(got.every((message, i) => message === sent[i])).toBe(true);
  });

  test('copies no large payload', async () => {
    const { socket, writer } = scene();
    const large = Buffer.alloc(100_000, 1);
    writeMessage(writer, 1, [Buffer.from('head'), large]);
    await turn();
    expect(socket.memory.has(large.buffer)).toBe(true);
  });

  test('writes over nothing that the socket still holds', async () => {
    const { socket, writer } = scene();
    socket.isStuck = true;
    writeMessage(writer, 1, Buffer.from('first'));
    await turn();
    const held = socket.writableLength;
    expect(held).toBeGreaterThan(0);
    writeMessage(writer, 1, Buffer.from('other'));
    await turn();
    socket.unstick();
    await turn();
    expect(messagesIn(socket.bytes)).toEqual(['first', 'other']);
  });

  test('has no room above the mark, and says when half of it is gone', async () => {
    const { socket, writer, rooms } = scene(100_000);
    socket.isStuck = true;
    let taken = 0;
    while (writer.hasRoom()) {
      writeMessage(writer, 1, Buffer.alloc(1000));
      taken += 1;
    }
    expect(taken).toBe(100);
    await turn();
    expect(writer.hasRoom()).toBe(false);
    expect(rooms).toEqual([]);
    socket.unstick();
    await turn();
    expect(rooms).toEqual([0]);
    expect(writer.hasRoom()).toBe(true);
  });

  test('hands a stuck socket a piece and keeps the rest', async () => {
    const { socket, writer } = scene(10_000_000);
    socket.isStuck = true;
    for (let i = 0; i < 40; i += 1) writeMessage(writer, 1, Buffer.alloc(100_000));
    await turn();
    expect(writer.queuedBytes).toBe(40 * 100_007);
    expect(socket.writableLength).toBeLessThan(600_000);
    const before = writer.progress;
    socket.unstick();
    await turn();
    expect(writer.progress).toBeGreaterThan(before);
    expect(writer.queuedBytes).toBe(0);
  });

  test('ends the stream behind what was sent', async () => {
    const { socket, writer } = scene();
    socket.isStuck = true;
    for (let i = 0; i < 40; i += 1) writeMessage(writer, 1, Buffer.alloc(100_000));
    writer.end();
    await turn();
    expect(socket.writableEnded).toBe(false);
    socket.unstick();
    await turn();
    await turn();
    expect(socket.writableEnded).toBe(true);
    expect(socket.bytes).toHaveLength(40 * 100_007);
  });
});
