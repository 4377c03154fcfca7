/**
 * `npm run bench:peers`: how long writes stand still in other systems and in ours, each with the settings it comes with and with
 * tight ones. The same client writes every 20 ms to each; the same things are done to each; the longest time without an
 * acknowledgement is the gap; every acknowledged write is looked for afterwards.
 */
import { baton } from './peers/baton.ts';
import { etcd } from './peers/etcd.ts';
import { patroni } from './peers/patroni.ts';
import { EVENTS, type PeerKind } from './peers/peer.ts';
import { type Run, runOnce } from './peers/run.ts';
import { sentinel } from './peers/sentinel.ts';
import { legendOf, type Row, rowOf, tableOf } from './peers/table.ts';
import { type Bench, runBenchmark } from './support/benchmark.ts';
import { count, someOf, type Values } from './support/flags.ts';

const KINDS: readonly PeerKind[] = [etcd, sentinel, patroni, baton];
const SETTINGS = [...new Set(KINDS.flatMap(({ settings }) => Object.keys(settings)))];

const FLAGS = {
  systems: someOf(
    KINDS.map(({ name }) => name),
    'systems to measure',
  ),
  settings: someOf(SETTINGS, 'settings (Baton has paper and fast, the others default and tight)'),
  events: someOf(EVENTS, 'events to measure', ['kill', 'switchover', 'majority']),
  runs: count('times that each event is done', 3),
  hold: count('seconds that the coordination majority is away', 60),
};

type Wanted = Values<typeof FLAGS>;

await runBenchmark(
  {
    name: 'peers',
    about:
      'How long writes stand still in etcd, Redis with Sentinel, PostgreSQL with Patroni, and Baton, each with the settings it ' +
      'comes with and with tight ones, all as processes on this machine: at a kill -9 of the member that takes the writes, a ' +
      'planned switchover, and the loss of a coordination majority. All of it takes over an hour; --runs 1 --hold 20 a ' +
      'quarter of that. The systems other than Baton need Linux.',
    flags: FLAGS,
    example: '--systems etcd,baton --settings tight,fast --events kill --runs 1',
    programs: ['etcd', 'redis-server', 'postgres', 'patroni'],
  },
  async (wanted, bench) => {
    const kinds = KINDS.filter(({ name }) => wanted.systems.includes(name));
    const rows: Row[] = [];
    for (const kind of kinds) {
      const settings = Object.keys(kind.settings).filter((name) => wanted.settings.includes(name));
      if (settings.length === 0 || !bench.canRun(kind.name, kind.lacks())) continue;
      for (const setting of settings)
        await bench.attempt(`${kind.name}, ${setting}`, () => measure(kind, setting, wanted, rows, bench));
    }
    const present = kinds.filter(({ name }) => rows.some(({ system }) => system === name));
    const text = [tableOf(rows), '', legendOf(present, wanted.settings, wanted.hold * 1000), ''].join('\n');
    return { json: { rows }, text: rows.length === 0 ? '' : text };
  },
);

async function measure(
  kind: PeerKind,
  setting: string,
  { events, runs, hold }: Wanted,
  rows: Row[],
  { progress }: Bench,
): Promise<void> {
  progress(`${kind.name}, ${setting}: starting`);
  const peer = kind.create(setting);
  try {
    await peer.start();
    for (const event of events) {
      const done: Run[] = [];
      for (let run = 1; run <= runs; run += 1) {
        const result = await runOnce(peer, { event, prefix: `${event}-${run}`, holdMs: hold * 1000 });
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
