/**
 * How long writes stand still in other systems and in ours: etcd, Redis with Sentinel, PostgreSQL with Patroni, and Baton, each
 * with the settings it comes with and with tight ones, all as processes on this machine. The same client writes every 20 ms to
 * each; the same things are done to each; the longest time without an acknowledgement is the gap; every acknowledged write is
 * looked for afterwards. A system whose programs are not there is left out, with a line that says how to get them. All of it takes
 * over an hour; `--runs 1 --hold 20` a quarter of that. `both` is not among the events unless it is named.
 *
 *   npm run bench:peers [-- --systems etcd,sentinel,patroni,baton] [--settings default,tight,paper,fast]
 *     [--events kill,switchover,majority,both] [--runs 3] [--hold 60] [--json]
 */
import { parseArgs } from 'node:util';
import { baton } from './peers/baton.ts';
import { etcd } from './peers/etcd.ts';
import { patroni } from './peers/patroni.ts';
import { EVENTS, type PeerKind } from './peers/peer.ts';
import { type Run, runOnce } from './peers/run.ts';
import { sentinel } from './peers/sentinel.ts';
import { legendOf, type Row, rowOf, type Skipped, tableOf } from './peers/table.ts';

const KINDS: readonly PeerKind[] = [etcd, sentinel, patroni, baton];
const SETTINGS = [...new Set(KINDS.flatMap(({ settings }) => Object.keys(settings)))];

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));

const { values } = parseArgs({
  options: {
    systems: { type: 'string', default: KINDS.map(({ name }) => name).join(',') },
    settings: { type: 'string', default: SETTINGS.join(',') },
    events: { type: 'string', default: 'kill,switchover,majority' },
    runs: { type: 'string', default: '3' },
    hold: { type: 'string', default: '60' },
    json: { type: 'boolean', default: false },
  },
});
const systems = chosen(
  'system',
  values.systems,
  KINDS.map(({ name }) => name),
);
const settings = chosen('settings', values.settings, SETTINGS);
const events = chosen('event', values.events, EVENTS);
const runs = positive('runs', values.runs);
const holdMs = positive('hold', values.hold) * 1000;

const kinds = KINDS.filter(({ name }) => systems.includes(name));
const rows: Row[] = [];
const skipped: Skipped[] = [];
for (const kind of kinds) {
  const why = kind.lacks();
  if (why === undefined) await measureSystem(kind);
  else skip(kind.name, why);
}
if (values.json) process.stdout.write(`${JSON.stringify({ rows, skipped })}\n`);
else if (rows.length > 0) process.stdout.write(report());

function report(): string {
  const present = kinds.filter(({ name }) => rows.some(({ system }) => system === name));
  return [tableOf(rows), '', legendOf(present, settings, holdMs), ''].join('\n');
}

/** What goes wrong with one system does not keep the others from being measured. */
async function measureSystem(kind: PeerKind): Promise<void> {
  for (const setting of Object.keys(kind.settings).filter((name) => settings.includes(name))) {
    try {
      await measureSettings(kind, setting);
    } catch (error) {
      process.exitCode = 1;
      skip(`${kind.name}, ${setting}`, (error as Error).message);
    }
  }
}

async function measureSettings(kind: PeerKind, setting: string): Promise<void> {
  progress(`${kind.name}, ${setting}: starting`);
  const peer = kind.create(setting);
  try {
    await peer.start();
    for (const event of events) {
      const done: Run[] = [];
      for (let run = 1; run <= runs; run += 1) {
        const result = await runOnce(peer, { event, prefix: `${event}-${run}`, holdMs });
        done.push(result);
        const { gapMs, acknowledged, lostWrites } = result;
        progress(
          `${kind.name}, ${setting}: ${event} ${run} of ${runs}: ${gapMs} ms, ${acknowledged} writes, ${lostWrites} lost`,
        );
      }
      rows.push(rowOf(kind.name, setting, event, done));
    }
  } finally {
    await peer.stop();
  }
}

function chosen<Name extends string>(what: string, list: string, known: readonly Name[]): readonly Name[] {
  return list.split(',').map((name) => {
    const one = known.find((candidate) => candidate === name);
    return one ?? refuse(`There is no ${what} ${name}; there are ${known.join(', ')}.`);
  });
}

function positive(name: string, text: string): number {
  const number = Number(text);
  return Number.isInteger(number) && number > 0
    ? number
    : refuse(`--${name} takes a positive number, not "${text}".`);
}

function refuse(sentence: string): never {
  process.stderr.write(`${sentence}\n`);
  process.exit(2);
}

function skip(system: string, why: string): void {
  skipped.push({ system, why });
  progress(`${system} is left out: ${why}`);
}

function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}
