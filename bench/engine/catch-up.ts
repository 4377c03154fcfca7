/**
 * A region that was away, and one that never is. How long does it take a region to copy what it missed, and does memory grow
 * with the number of writes?
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { NODE_HOST } from 'baton/caspaxos';
import { decodeReadAnswer, encodeRead, METHODS } from 'baton/client';
import { dial } from 'baton/transport';
import { openBaton } from './baton-client.ts';
import { Baton, type Region } from './baton.ts';
import { PARTITION_SET } from './baton-set.ts';
import { runClient } from './client.ts';
import { USUAL_BYTES } from './load.ts';
import { ONE_WRITE } from './system.ts';

export interface CatchUp {
  readonly missed: number;
  /** From when its process answers until it has everything. */
  readonly seconds: number;
  readonly writesPerSecond: number;
}

export interface Memory {
  readonly writes: number;
  /** Of the write region's process and of a reader's, in megabytes. */
  readonly writer: number;
  readonly reader: number;
}

const LOAD = { mode: 'load', inFlight: 512, seconds: 1, bytes: USUAL_BYTES } as const;
const POLL_MS = 10;
const PATIENCE_MS = 120_000;

export async function measureCatchUp(
  counts: readonly number[],
  progress: (text: string) => void,
): Promise<readonly CatchUp[]> {
  const baton = new Baton();
  const results: CatchUp[] = [];
  try {
    progress('catch-up: starting');
    await baton.start();
    for (const missed of counts) {
      await baton.killRegion('north');
      progress(`catch-up: writing ${missed} documents while a region is away`);
      await runClient(baton, { ...LOAD, keys: missed });
      const marker = `marker-${missed}`;
      const store = await openBaton(baton.clientArgs(), ONE_WRITE);
      await store.put(marker, Buffer.from('{"is":"there"}'));
      store.close();
      baton.startRegion('north');
      const seconds = await secondsUntilThere(baton, 'north', marker);
      results.push({ missed, seconds, writesPerSecond: Math.round(missed / seconds) });
      progress(`catch-up: ${missed} writes in ${seconds.toFixed(2)} s`);
    }
  } finally {
    await baton.stop();
  }
  return results;
}

export async function measureMemory(
  writes: number,
  steps: number,
  progress: (text: string) => void,
): Promise<readonly Memory[]> {
  const baton = new Baton();
  const results: Memory[] = [];
  try {
    progress('memory: starting');
    await baton.start();
    for (let step = 1; step <= steps; step += 1) {
      await runClient(baton, {
        ...LOAD,
        keys: Math.round(writes / steps),
      });
      const memory = { writer: baton.memoryOf('west'), reader: baton.memoryOf('north') };
      results.push({ writes: Math.round((writes / steps) * step), ...memory });
      progress(`memory: ${memory.writer.toFixed(0)} MB after ${Math.round((writes / steps) * step)} writes`);
    }
  } finally {
    await baton.stop();
  }
  return results;
}

async function secondsUntilThere(baton: Baton, region: Region, key: string): Promise<number> {
  const [host = '', port = ''] = baton.addressOf(region).split(':');
  const self = {
    role: 'client',
    cluster: 'bench',
    node: 'watcher',
    region: 'client',
    incarnation: 1,
  } as const;
  const deadline = performance.now() + PATIENCE_MS;
  const connect = async (): Promise<Awaited<ReturnType<typeof dial>>> => {
    while (performance.now() < deadline) {
      try {
        return await dial({ host: NODE_HOST, address: { host, port: Number(port) }, self });
      } catch {
        await sleep(POLL_MS);
      }
    }
    throw new Error(`The node of ${region} does not answer.`);
  };
  const connection = await connect();
  const startedAt = performance.now();
  const about = { partitionSet: PARTITION_SET, partitionKey: [key], id: key, level: 'Eventual' as const };
  try {
    while (performance.now() < deadline) {
      const read = encodeRead({ ...about, timeoutMs: 100 });
      const answer = await connection.call(METHODS.read, read, { timeoutMs: 5000 }).catch(() => undefined);
      const found = answer && decodeReadAnswer(answer);
      if (found?.outcome === 'done' && found.version !== undefined)
        return (performance.now() - startedAt) / 1000;
      await sleep(POLL_MS);
    }
    throw new Error(`The node of ${region} does not catch up.`);
  } finally {
    connection.destroy();
  }
}
