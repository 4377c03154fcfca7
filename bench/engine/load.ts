/**
 * Closed-loop load on a store: so many operations in flight, each followed by the next. Keys come in a fixed scattered
 * order that visits every key before it repeats, so no two operations in flight are on one key and runs are alike.
 */
import { Histogram } from 'baton/protocol';
import type { Store, Use } from './system.ts';

export const DOCUMENT_BYTES = 1024;
const DISTINCT_BODIES = 256;
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
  const operate = load.mode === 'read' ? reader(store) : writer(store);
  const nextKey = keySequence(load.keys);
  const histogram = new Histogram();
  const loading = load.mode === 'load';
  const begin = performance.now() + (loading ? 0 : load.warmUpSeconds * 1000);
  const end = loading ? Infinity : begin + load.seconds * 1000;
  let left = loading ? load.keys : Infinity;
  let cpu = process.cpuUsage();
  const atBegin = setTimeout(() => (cpu = process.cpuUsage()), begin - performance.now());
  const one = async (): Promise<void> => {
    let before = performance.now();
    while (before < end && left > 0) {
      left -= 1;
      await operate(nextKey());
      const after = performance.now();
      if (before >= begin && after <= end) histogram.record(after - before);
      before = after;
    }
  };
  try {
    await Promise.all(Array.from({ length: load.inFlight }, one));
  } finally {
    clearTimeout(atBegin);
  }
  const elapsedMs = performance.now() - begin;
  const { user, system } = process.cpuUsage(cpu);
  return {
    operations: histogram.count,
    operationsPerSecond: Math.round((histogram.count * 1000) / (loading ? elapsedMs : load.seconds * 1000)),
    p50Ms: round(histogram.percentile(0.5)),
    p99Ms: round(histogram.percentile(0.99)),
    clientCpu: round((user + system) / 1000 / elapsedMs),
  };
}

function writer(store: Store): (key: string) => Promise<void> {
  const bodies = Array.from({ length: DISTINCT_BODIES }, (_, index) => document(index));
  let next = 0;
  return (key) => {
    next = (next + 1) % DISTINCT_BODIES;
    return store.put(key, bodies[next]!);
  };
}

function reader(store: Store): (key: string) => Promise<void> {
  return async (key) => {
    const found = await store.get(key);
    if (found?.length !== DOCUMENT_BYTES) {
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

/** JSON of exactly 1,024 bytes, like a small order; the letters differ from body to body. */
export function document(variant: number): Buffer {
  let state = variant + 1;
  const letters = (count: number): string => {
    let text = '';
    while (text.length < count) {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      text += state.toString(36);
    }
    return text.slice(0, count);
  };
  const lines = Array.from({ length: 6 }, (_, line) => ({ line, article: letters(24), count: variant % 9 }));
  const order = { customer: letters(16), state: 'open', variant, lines, note: '' };
  const lacking = DOCUMENT_BYTES - JSON.stringify(order).length;
  return Buffer.from(JSON.stringify({ ...order, note: letters(lacking) }));
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}
