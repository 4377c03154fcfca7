/**
 * Closed-loop load on a store: so many operations in flight, each followed by the next. Keys come in a fixed scattered
 * order that visits every key before it repeats, so no two operations in flight are on one key and runs are alike.
 */
import { createCipheriv } from 'node:crypto';
import { Histogram } from 'baton/protocol';
import { Window } from '../support/window.ts';
import type { Store, Use } from './system.ts';

/** Of a document, where nothing else is asked for. */
export const USUAL_BYTES = 1024;
/** What the fields of a document need. */
export const LEAST_BYTES = 512;
/** As many as make it unlikely that anything is saved by their being alike, within some memory. */
const DISTINCT_BODIES = 256;
const BODIES_BYTES = 64 * 1024 * 1024;
const STRIDE = 7919;

export interface Load extends Use {
  readonly keys: number;
  readonly warmUpSeconds: number;
  readonly seconds: number;
}

export interface Report {
  readonly operations: number;
  readonly operationsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Share of one core that the client itself used in the window: near 1, it is the client that was measured. */
  readonly clientCpu: number;
}

/** `load` writes every key once; the others run for their time and count what began and ended in the window. */
export async function runLoad(store: Store, load: Load): Promise<Report> {
  const operate = load.mode === 'read' ? reader(store, load.bytes) : writer(store, load.bytes);
  const nextKey = keySequence(load.keys);
  const histogram = new Histogram();
  const loading = load.mode === 'load';
  const window = new Window(loading ? 0 : load.warmUpSeconds * 1000, loading ? Infinity : load.seconds);
  let left = loading ? load.keys : Infinity;
  let cpu = process.cpuUsage();
  const atBegin = setTimeout(() => (cpu = process.cpuUsage()), window.begin - performance.now());
  const one = async (): Promise<void> => {
    let before = performance.now();
    while (window.isOpenAt(before) && left > 0) {
      left -= 1;
      await operate(nextKey());
      const after = performance.now();
      if (window.counts(before, after)) histogram.record(after - before);
      before = after;
    }
  };
  try {
    await Promise.all(Array.from({ length: load.inFlight }, one));
  } finally {
    clearTimeout(atBegin);
  }
  const elapsedMs = performance.now() - window.begin;
  const { user, system } = process.cpuUsage(cpu);
  return {
    operations: histogram.count,
    operationsPerSecond: loading
      ? Math.round((histogram.count * 1000) / elapsedMs)
      : window.rateOf(histogram.count),
    p50Ms: round(histogram.percentile(0.5)),
    p99Ms: round(histogram.percentile(0.99)),
    clientCpu: round((user + system) / 1000 / elapsedMs),
  };
}

function writer(store: Store, bytes: number): (key: string) => Promise<void> {
  const count = Math.min(DISTINCT_BODIES, Math.ceil(BODIES_BYTES / bytes));
  const bodies = Array.from({ length: count }, (_, index) => document(index, bytes));
  let next = 0;
  return (key) => {
    next = (next + 1) % count;
    return store.put(key, bodies[next]!);
  };
}

function reader(store: Store, bytes: number): (key: string) => Promise<void> {
  return async (key) => {
    const found = await store.get(key);
    if (found?.length !== bytes) {
      throw new Error(`A read of ${key} gave ${found === undefined ? 'nothing' : `${found.length} bytes`}`);
    }
  };
}

function keySequence(keys: number): () => string {
  let at = 0;
  const stride = keys % STRIDE === 0 ? 1 : STRIDE;
  return () => {
    at = (at + stride) % keys;
    return `document-${at}`;
  };
}

/** JSON of exactly so many bytes, like an order with a note; the letters differ from body to body. */
export function document(variant: number, bytes: number): Buffer {
  const next = letters(variant);
  const lines = Array.from({ length: 6 }, (_, line) => ({ line, article: next(24), count: variant % 9 }));
  const order = { customer: next(16), state: 'open', variant, lines, note: '' };
  const lacking = bytes - JSON.stringify(order).length;
  return Buffer.from(JSON.stringify({ ...order, note: next(lacking) }));
}

/** Always the same for one seed, and nothing that a server could compress. */
function letters(seed: number): (count: number) => string {
  const cipher = createCipheriv('aes-128-ctr', Buffer.alloc(16, seed), Buffer.alloc(16));
  return (count) => cipher.update(Buffer.alloc(count)).toString('base64url').slice(0, count);
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
