/**
 * Kill -9 at any moment loses nothing that was answered. Four acceptor processes are loaded with role messages and killed
 * at random moments, 200 times with requests in flight, and more often while they start and read their journals back.
 * After each restart everything that was ever answered must still hold.
 */
import { cpSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { openAcceptor } from 'baton/caspaxos';
import { type Choose, seededChoose } from 'baton/check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { AcceptorProcess, type AcceptorProgram, batonAcceptor } from './support/acceptor-process.ts';
import { Load } from './support/load.ts';
import { compiled, Nursery } from './support/nursery.ts';
import { chosenSeed } from './support/seed.ts';

const KILLS_UNDER_LOAD = 200;
const KILLS_OF_STARTS = 24;
const LEAST_ANSWERED = 20_000;
const LEAST_CHECKPOINTS = 20;
const MOST_LIVES = 200;
/** More than the smaller journals hold. */
const LONG_LIFE_MESSAGES = 2000;

/** Half of them are what users run; the other half write checkpoints all the time. */
const SMALL_JOURNAL: AcceptorProgram = {
  script: compiled('small-journal-acceptor.js'),
  args: (data, port) => [data, String(port), String(128 * 1024)],
};
const PROGRAMS = [batonAcceptor(), batonAcceptor(), SMALL_JOURNAL, SMALL_JOURNAL];

interface Tally {
  /** Kills with a request in flight, and kills before it was ready. */
  underLoad: number;
  starting: number;
  /** Seen in lives that ended with a kill under load. */
  checkpoints: number;
}

let nursery: Nursery;

beforeAll(() => {
  nursery = new Nursery();
});

afterAll(async () => {
  await nursery.close();
});

/** Lets the load run for a while: often for no time at all, sometimes for a few checkpoints. */
async function runFor(load: Load, choose: Choose): Promise<'short' | 'long'> {
  const kind = choose(10);
  if (kind < 8) {
    await sleep(kind < 2 ? 0 : choose(kind < 5 ? 10 : 150));
    return 'short';
  }
  await answers(load, LONG_LIFE_MESSAGES);
  await sleep(choose(10));
  return 'long';
}

/** Until that many more have come. */
async function answers(load: Load, messages: number): Promise<void> {
  const enough = load.ledger.messages + messages;
  await until(`there are ${messages} more answers`, () => load.ledger.messages >= enough);
}

async function killWhileStarting(
  acceptor: AcceptorProcess,
  choose: Choose,
  startMs: number,
): Promise<boolean> {
  await acceptor.spawn();
  await sleep(choose(Math.ceil(startMs)));
  const wasStarting = !acceptor.isReady;
  await acceptor.kill();
  return wasStarting;
}

async function killUnderLoad(
  acceptor: AcceptorProcess,
  load: Load,
  choose: Choose,
  tally: Tally,
): Promise<void> {
  const { interrupted } = load;
  load.start();
  // Asking takes a moment of its own, so only those that lived long are asked.
  if ((await runFor(load, choose)) === 'long') tally.checkpoints += await checkpointsOf(acceptor);
  await acceptor.kill();
  await load.settled();
  if (load.interrupted > interrupted) tally.underLoad += 1;
}

/** How many it has made in this life. */
async function checkpointsOf(acceptor: AcceptorProcess): Promise<number> {
  const metrics = await (await fetch(`${acceptor.url}/metrics`)).text();
  return Number(/^baton_acceptor_checkpoints_total (\d+)$/m.exec(metrics)?.[1]);
}

async function liveAndDie(acceptor: AcceptorProcess, load: Load, choose: Choose): Promise<Tally> {
  const tally: Tally = { underLoad: 0, starting: 0, checkpoints: 0 };
  const kills = KILLS_UNDER_LOAD / PROGRAMS.length;
  const starts = KILLS_OF_STARTS / PROGRAMS.length;
  let startMs = 300;
  for (let life = 0; tally.underLoad < kills || tally.starting < starts; life += 1) {
    if (life === MOST_LIVES)
      throw new Error(`${acceptor.name}: ${JSON.stringify(tally)} after ${life} lives`);
    if (life > 0 && (choose(8) === 0 || tally.underLoad === kills)) {
      if (await killWhileStarting(acceptor, choose, startMs)) tally.starting += 1;
      continue;
    }
    const startedAt = performance.now();
    await acceptor.restart();
    startMs = performance.now() - startedAt;
    load.connect(acceptor.url);
    await load.verify();
    // What is broken need not be broken further.
    if (load.ledger.broken.length > 0) return tally;
    await killUnderLoad(acceptor, load, choose, tally);
  }
  await acceptor.restart();
  await load.verify();
  return tally;
}

async function exercise(load: Load, messages: number): Promise<void> {
  load.start();
  await answers(load, messages);
  await load.settled();
}

describe('an acceptor that is killed', () => {
  it(`keeps what it answered, ${KILLS_UNDER_LOAD} times`, async ({ onTestFailed }) => {
    const seed = chosenSeed();
    onTestFailed(() => console.log(`BATON_SEED=${seed} repeats the choices of this run`));
    const choose = seededChoose(seed);
    const runs = PROGRAMS.map((program, at) => ({
      acceptor: new AcceptorProcess(nursery, `acceptor-${at}`, program),
      load: new Load(seededChoose(choose(2 ** 31))),
      choose: seededChoose(choose(2 ** 31)),
    }));
    const tallies = await Promise.all(runs.map((run) => liveAndDie(run.acceptor, run.load, run.choose)));
    await Promise.all(runs.map(({ load }) => load.close()));
    const sum = (of: keyof Tally): number => tallies.reduce((total, tally) => total + tally[of], 0);
    const answered = runs.reduce((total, { load }) => total + load.ledger.messages, 0);
    const interrupted = runs.reduce((total, { load }) => total + load.interrupted, 0);
    const counts = {
      underLoad: sum('underLoad'),
      starting: sum('starting'),
      checkpoints: sum('checkpoints'),
    };
    console.log(`seed ${seed}: ${JSON.stringify({ ...counts, answered, interrupted })}`);

    expect(runs.flatMap(({ load }) => load.ledger.broken).slice(0, 10)).toEqual([]);
    expect(counts.underLoad).toBeGreaterThanOrEqual(KILLS_UNDER_LOAD);
    expect(counts.starting).toBeGreaterThanOrEqual(KILLS_OF_STARTS);
    expect(counts.checkpoints).toBeGreaterThanOrEqual(LEAST_CHECKPOINTS);
    expect(interrupted).toBeGreaterThanOrEqual(KILLS_UNDER_LOAD);
    expect(answered).toBeGreaterThanOrEqual(LEAST_ANSWERED);
  });

  it('is caught when it comes back from an old copy', async () => {
    const acceptor = await AcceptorProcess.start(nursery, 'copied');
    const copy = `${acceptor.data}-copy`;
    const load = new Load(seededChoose(1));
    load.connect(acceptor.url);
    await exercise(load, 200);
    await acceptor.kill();
    cpSync(acceptor.data, copy, { recursive: true, filter: (path) => !path.endsWith('.sock') });
    await acceptor.restart();
    await load.verify();
    await exercise(load, 500);
    await acceptor.kill();

    rmSync(acceptor.data, { recursive: true });
    cpSync(copy, acceptor.data, { recursive: true });
    await acceptor.restart();
    // One who was not there sees that answers were taken back ...
    const stranger = openAcceptor(acceptor.url, { timeoutMs: 60_000 });
    expect(load.ledger.broken).toEqual([]);
    const probes = load.ledger.probes();
    const replies = await stranger.handle(probes, 0);
    for (const [at, probe] of probes.entries()) {
      load.ledger.note(probe, replies[at]!, load.ledger.before(probe.key));
    }
    expect(load.ledger.broken.length).toBeGreaterThan(0);
    // ... and one who knew it before the copy was put back refuses to work with it (rule 8), from then on for everybody.
    await expect(load.verify()).rejects.toMatchObject({ code: 'ACCEPTOR_BEHIND' });
    await expect(stranger.handle(probes, 0)).rejects.toMatchObject({ code: 'ACCEPTOR_BEHIND' });
    await stranger.close();
    await load.close();
    await acceptor.kill();
  });
});
