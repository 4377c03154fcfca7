/**
 * `baton demo`: the CASPaxos library at work on this machine.
 * Acceptor processes, concurrent proposers, one acceptor killed with -9 and brought back, and the proof at the end.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import { positiveInteger } from '../flags.ts';
import { LocalAcceptors } from './local-acceptors.ts';
import { type Progress, type Proof, Workload } from './workload.ts';

interface DemoFlags {
  readonly acceptors: string;
  readonly proposers: string;
  readonly registers: string;
  readonly seconds: string;
  readonly json: boolean;
}

export function demoCommand(): Command {
  return new Command('demo')
    .description(
      'Run acceptors and proposers on this machine, kill an acceptor, and check that no write is lost.',
    )
    .option('--acceptors <n>', 'number of acceptor processes', '5')
    .option('--proposers <n>', 'number of concurrent proposers', '8')
    .option('--registers <n>', 'number of registers that they change', '100')
    .option('--seconds <n>', 'duration of the run', '12')
    .option('--json', 'print one JSON object at the end instead', false)
    .addHelpText('after', '\nExample:\n  baton demo --seconds 30 --registers 500\n')
    .action(runDemo);
}

async function runDemo(flags: DemoFlags): Promise<void> {
  const count = {
    acceptors: positiveInteger(flags.acceptors, '--acceptors'),
    proposers: positiveInteger(flags.proposers, '--proposers'),
    registers: positiveInteger(flags.registers, '--registers'),
    seconds: positiveInteger(flags.seconds, '--seconds'),
  };
  const say = (text: string): void => {
    if (!flags.json) process.stdout.write(text);
  };
  const acceptors = new LocalAcceptors();
  const workload = new Workload(count.registers);
  const interrupted = new AbortController();
  const onSignal = (): void => interrupted.abort();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, onSignal);
  try {
    say(`Starting ${count.acceptors} acceptor processes, each with its own data directory ...\n`);
    await acceptors.start(count.acceptors);
    for (const [index, url] of acceptors.urls.entries())
      say(`  acceptor ${index + 1}  ${url}  pid ${acceptors.pid(index)}\n`);
    say(
      `${count.proposers} proposers change ${count.registers} registers, for ${count.seconds} seconds.\n\n`,
    );
    await workload.open(acceptors.urls, acceptors.token, count.proposers);
    const progress = await play(acceptors, workload, count.seconds, interrupted.signal, say);
    say('\nReading every register back ...\n');
    const proof = await workload.prove();
    report(progress, proof, flags.json, say);
    if (proof.lost + proof.twice > 0) process.exitCode = 1;
  } finally {
    await workload.close();
    await acceptors.stop();
  }
}

/** The first third in peace, the second without one acceptor, the last with it again. */
async function play(
  acceptors: LocalAcceptors,
  workload: Workload,
  seconds: number,
  interrupted: AbortSignal,
  say: (text: string) => void,
): Promise<Progress> {
  const stop = new AbortController();
  const running = workload.run(stop.signal);
  const victim = Math.floor(acceptors.urls.length / 2);
  const name = `acceptor ${victim + 1}`;
  let before = workload.progress();
  const show = showLine(say);
  for (let second = 1; second <= seconds && !interrupted.aborted; second += 1) {
    await sleep(1000, undefined, { signal: interrupted }).catch(() => undefined);
    const now = workload.progress();
    show.line(second, now, before);
    before = now;
    if (second === Math.ceil(seconds / 3)) {
      const pid = acceptors.pid(victim);
      await acceptors.kill(victim);
      show.event(`kill -9 ${pid}: ${name} is gone`);
    } else if (second === Math.ceil((2 * seconds) / 3)) {
      await acceptors.bringBack(victim);
      show.event(`${name} is back with all its promises`);
    }
  }
  stop.abort();
  await running;
  return { ...workload.progress(), p50Ms: before.p50Ms, p99Ms: before.p99Ms };
}

/** On a terminal the line stays in place; elsewhere there is one each second. */
function showLine(say: (text: string) => void): {
  line(second: number, now: Progress, before: Progress): void;
  event(text: string): void;
} {
  const isTerminal = process.stdout.isTTY;
  return {
    line(second, now, before) {
      const rate = (now.committed - before.committed).toLocaleString('en').padStart(7);
      const conflicts = (now.conflicts - before.conflicts).toLocaleString('en').padStart(6);
      const latency = `p50 ${now.p50Ms.toFixed(2)} ms  p99 ${now.p99Ms.toFixed(2)} ms`;
      const text = `  ${`${second}`.padStart(3)} s  ${rate} changes/s  ${conflicts} conflicts/s  ${latency}`;
      say(isTerminal ? `\r\u001B[K${text}` : `${text}\n`);
    },
    event(text) {
      say(isTerminal ? `\n       ${text}\n` : `       ${text}\n`);
    },
  };
}

function report(progress: Progress, proof: Proof, json: boolean, say: (text: string) => void): void {
  const holds = proof.lost + proof.twice === 0;
  if (json) {
    const { committed, conflicts } = progress;
    process.stdout.write(`${JSON.stringify({ committed, conflicts, ...proof, holds })}\n`);
    return;
  }
  const number = (value: number): string => value.toLocaleString('en');
  say(
    `  ${number(proof.acknowledged)} changes were acknowledged, ${number(proof.found)} are in the ${proof.registers} registers.\n`,
  );
  if (proof.unknownResolved > 0)
    say(
      `  ${proof.unknownResolved} of them had an unknown outcome at first, which was resolved without repeating them.\n`,
    );
  say(`  lost: ${number(proof.lost)}   applied twice: ${number(proof.twice)}\n`);
  say(
    holds ? 'Nothing was lost, nothing was applied twice.\n' : 'THE CHECK FAILED: please report this run.\n',
  );
}
