/**
 * One run: the system is whole, a client writes, something happens, writes are acknowledged again, the system is made whole,
 * and every acknowledged write is looked for.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { EventName, Peer } from './peer.ts';
import { until } from './waiting.ts';
import { PacedWriter } from './writer.ts';

const BEFORE_MS = 2000;
const AFTER_MS = 3000;
const BETWEEN_MS = 1000;
/** Sentinels that do not agree in their first vote try again after twice their failover timeout: six minutes by default. */
const PATIENCE_MS = 480_000;
/** Writes are said to have stopped when the last acknowledgement is older than this. */
const PAUSE_MS = 1000;

export interface Run {
  /** The gap before anything was done: what belongs to the machine. */
  readonly steadyMs: number;
  readonly gapMs: number;
  readonly acknowledged: number;
  readonly lostWrites: number;
  /** When writes stopped because the coordination was away. */
  readonly stop?: Stop;
}

export interface Stop {
  /** The last acknowledgement, counted from the loss of the coordination. */
  readonly afterMs: number;
  /** The next one, counted from the start of the processes that were away. */
  readonly backAfterMs: number;
}

export interface RunOptions {
  readonly event: EventName;
  /** Begins the names of the writes; another for every run. */
  readonly prefix: string;
  /** How long a majority of the coordination stays away. */
  readonly holdMs: number;
}

export async function runOnce(peer: Peer, { event, prefix, holdMs }: RunOptions): Promise<Run> {
  await peer.whole();
  const client = await peer.client();
  try {
    const writer = new PacedWriter(client, prefix);
    writer.start();
    await writer.untilWritten(PATIENCE_MS);
    await sleep(BEFORE_MS);
    const steadyMs = Math.round(writer.gapMs);
    const away = await happen(peer, event, holdMs);
    await writer.untilWritten(PATIENCE_MS);
    await sleep(AFTER_MS);
    await writer.stop();
    await peer.heal();
    await peer.whole();
    const { acknowledged, times } = writer;
    const stop = away && stopIn(away, times);
    return {
      steadyMs,
      gapMs: Math.round(writer.gapMs),
      acknowledged: acknowledged.length,
      lostWrites: await client.countMissing(acknowledged),
      ...(stop && { stop }),
    };
  } finally {
    await client.close();
  }
}

interface Away {
  readonly lostAt: number;
  readonly healedAt: number;
}

/** Resolves when it has happened; to when the coordination was away, if it was. */
async function happen(peer: Peer, event: EventName, holdMs: number): Promise<Away | undefined> {
  const leader = await peer.leader();
  if (leader === undefined) throw new Error('no member takes writes');
  switch (event) {
    case 'kill':
      await peer.kill(leader);
      return undefined;
    case 'switchover':
      await peer.switchover();
      await until(
        'switching over',
        PATIENCE_MS,
        async () => ![undefined, leader].includes(await peer.leader()),
      );
      return undefined;
    case 'majority':
      return blindFor(peer, holdMs);
    case 'both':
      return blindFor(peer, holdMs, leader);
  }
}

/** A victim dies a second later, and stays away when the coordination is back. */
async function blindFor(peer: Peer, holdMs: number, victim?: string): Promise<Away> {
  const lostAt = performance.now();
  await peer.blind();
  if (victim !== undefined) {
    await sleep(BETWEEN_MS);
    await peer.kill(victim);
  }
  await sleep(Math.max(0, lostAt + holdMs - performance.now()));
  const healedAt = performance.now();
  await peer.heal(victim);
  return { lostAt, healedAt };
}

/** Undefined when writes went on until the coordination was back. */
function stopIn({ lostAt, healedAt }: Away, times: readonly number[]): Stop | undefined {
  const last = times.findLast((time) => time <= healedAt) ?? lostAt;
  if (healedAt - last <= PAUSE_MS) return undefined;
  const next = times.find((time) => time > healedAt) ?? healedAt;
  return { afterMs: Math.max(0, Math.round(last - lostAt)), backAfterMs: Math.round(next - healedAt) };
}
