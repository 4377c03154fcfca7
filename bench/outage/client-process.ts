/** The clients of a run, in a process of their own: one writer for each partition-set, all through one SDK client. */
import { setTimeout as sleep } from 'node:timers/promises';
import { BatonClient } from 'baton/client';
import { epkOf } from 'baton/engine';
import { SetWriter } from './set-writer.ts';

export interface ClientOrder {
  readonly account: string;
  readonly endpoints: readonly string[];
  readonly token: string;
  readonly sets: readonly { readonly name: string; readonly from: string; readonly to: string }[];
  readonly regions: readonly string[];
  readonly everyMs: number;
  /** They begin one after the other: what has only just been started should not have to take everything at once. */
  readonly firstWithinMs: number;
  readonly timeoutMs: number;
}

export interface ClientReport {
  readonly service: Readonly<Record<string, SetWriter['service']>>;
  readonly acknowledged: number;
  readonly lost: number;
  readonly unknown: number;
  readonly refused: number;
  readonly lastError: string | undefined;
}

const VERIFYING_AT_ONCE = 64;
const TICK_MS = 20;

let isRunning = true;

process.on('message', (message: { type: string; order?: ClientOrder }) => {
  if (message.type === 'start') void begin(message.order!).catch(fail);
});
process.on('disconnect', () => process.exit());

async function begin(order: ClientOrder): Promise<void> {
  const { account, endpoints, token, sets, regions, everyMs, firstWithinMs, timeoutMs } = order;
  const client = await BatonClient.connect({
    account,
    endpoints: [...endpoints],
    token,
    cacheDirectory: false,
    maxInFlight: sets.length * 2 + 100,
    timeoutMs,
  });
  const container = client.container('items');
  const ids = idsOf(sets);
  const writers = new Map(
    sets.map(({ name }) => [
      name,
      new SetWriter({ container, id: ids.get(name)!, regions, everyMs, timeoutMs }),
    ]),
  );
  const loops = [...writers.values()].map((writer, at) =>
    paced(writer, everyMs, (at / sets.length) * firstWithinMs),
  );
  process.on('message', (message: { type: string }) => {
    if (message.type === 'report') process.send!({ type: 'report', report: reportOf(writers) });
    if (message.type === 'finish') void finish(client, writers, loops).catch(fail);
  });
  process.send!({ type: 'begun' });
}

async function finish(
  client: BatonClient,
  writers: ReadonlyMap<string, SetWriter>,
  loops: readonly Promise<void>[],
): Promise<void> {
  isRunning = false;
  await Promise.all(loops);
  const waiting = writers.values();
  const verifier = async (): Promise<void> => {
    for (const writer of waiting) await writer.verify();
  };
  await Promise.all(Array.from({ length: VERIFYING_AT_ONCE }, verifier));
  await new Promise((sent) => {
    process.send!({ type: 'finished', report: reportOf(writers) }, undefined, {}, sent);
  });
  await client.close();
  process.disconnect();
}

/** Writes begin on ticks, so that those of one tick share what they can on their way, as the writes of one client do. */
async function paced(writer: SetWriter, everyMs: number, firstMs: number): Promise<void> {
  let at = performance.now() + firstMs;
  for (;;) {
    const tick = Math.ceil(Math.max(at, performance.now()) / TICK_MS) * TICK_MS;
    await sleep(tick - performance.now());
    if (!isRunning) return;
    await writer.write();
    at += everyMs;
  }
}

function reportOf(writers: ReadonlyMap<string, SetWriter>): ClientReport {
  const all = [...writers.values()];
  const sum = (count: (writer: SetWriter) => number): number =>
    all.reduce((total, writer) => total + count(writer), 0);
  return {
    service: Object.fromEntries([...writers].map(([name, { service }]) => [name, service])),
    acknowledged: sum(({ acknowledged }) => acknowledged),
    lost: sum(({ lost }) => lost),
    unknown: sum(({ unknown }) => unknown),
    refused: sum(({ refused }) => refused),
    lastError: all.find(({ lastError }) => lastError !== undefined)?.lastError,
  };
}

/** For each partition-set the id of a document that belongs to it. */
function idsOf(sets: ClientOrder['sets']): ReadonlyMap<string, string> {
  const sorted = [...sets].sort((a, b) => (a.from < b.from ? -1 : 1));
  const ids = new Map<string, string>();
  for (let number = 0; ids.size < sets.length; number += 1) {
    const id = `document-${number}`;
    const epk = epkOf([id]);
    let low = 0;
    let high = sorted.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (sorted[middle]!.from <= epk) low = middle;
      else high = middle - 1;
    }
    const { name } = sorted[low]!;
    if (!ids.has(name)) ids.set(name, id);
  }
  return ids;
}

function fail(error: unknown): never {
  process.stderr.write(`The clients failed: ${(error as Error).message}\n`);
  process.exit(1);
}
