/** `baton up`: a whole cluster on this machine, as long as this command runs. */
import { Command } from 'commander';
import { CONSISTENCY_LEVELS, type Consistency, PROFILES } from '../failover/index.ts';
import {
  DEFAULT_PORT_BASE,
  LocalCluster,
  type LocalClusterOptions,
  type LocalEvent,
  movesBetween,
  type Observed,
} from '../server/index.ts';
import { UsageError } from './errors.ts';
import { positiveInteger } from './flags.ts';
import { dataDirectory, refuseLocal } from './local.ts';
import { describeJson, describePretty, moveText, obeyedText, orderText, shown } from './up-text.ts';

interface UpFlags {
  readonly regions?: string;
  readonly nodesPerRegion?: string;
  readonly acceptors?: string;
  readonly store?: readonly string[];
  readonly partitionSets?: string;
  readonly profile?: string;
  readonly consistency?: string;
  readonly minDurability?: string;
  readonly portBase?: string;
  readonly data?: string;
  readonly gateways: boolean;
  readonly netns: boolean;
  readonly json: boolean;
  readonly stopWithParent: boolean;
}

const WRITABLE_MS = 60_000;
const LOOK_MS = 400;

export function upCommand(): Command {
  return new Command('up')
    .description(
      'Run a whole cluster on this machine: regions, acceptors, gateways and DNS, each a process of its own.',
    )
    .option(
      '--regions <n|names>',
      'how many, or their names in order of priority: west,east,north (default: 3)',
    )
    .option('--nodes-per-region <n>', 'processes that share the partition-sets of a region (default: 1)')
    .option('--acceptors <n>', 'acceptor services (default: as many as make 5 with the stores)')
    .option(
      '--store <url>',
      'a store that is an acceptor too, such as postgres://me@127.0.0.1/baton; may be given several times; a password in it goes into a file of the data directory that only you can read',
      (url: string, before: readonly string[] | undefined): readonly string[] => [...(before ?? []), url],
    )
    .option('--partition-sets <n>', 'partition-sets of the container "items" (default: 16)')
    .option(
      '--profile <name>',
      `how fast it notices: ${Object.keys(PROFILES).toReversed().join(' or ')} (default: fast)`,
    )
    .option('--consistency <level>', `${CONSISTENCY_LEVELS.join(', ')} (default: Strong)`)
    .option('--min-durability <n>', 'regions that must have a write before it counts (default: 2)')
    .option(
      '--port-base <n>',
      `all ports are counted from here (default: ${DEFAULT_PORT_BASE}, or those of the last run)`,
    )
    .option('--data <dir>', 'where everything is kept (default: $BATON_DATA or ./baton-data)')
    .option('--no-gateways', 'no HTTP API: only what speaks to clients of baton/client')
    .option(
      '--netns',
      'a network namespace for each region and acceptor, so that links can be cut; needs root',
      false,
    )
    .option('--json', 'print one JSON object when it is ready, and nothing else', false)
    .option('--stop-with-parent', 'stop when standard input ends, as it does when the parent is gone', false)
    .addHelpText(
      'after',
      `
A directory keeps its cluster: the next run finds the data, and refuses options that would make another cluster of it.

Examples:
  baton up
  baton up --regions 5 --partition-sets 64 --data ./five
  baton up --store postgres://me@127.0.0.1/baton --store redis://127.0.0.1
  baton chaos kill west
`,
    )
    .action((flags: UpFlags) => run(flags).catch(refuseLocal));
}

async function run(flags: UpFlags): Promise<void> {
  const say = (line: string): void => void (flags.json || process.stdout.write(`${line}\n`));
  const begun = performance.now();
  const ending = new AbortController();
  const teller = new Teller(say);
  const cluster = new LocalCluster({ ...optionsOf(flags), onEvent: (event) => teller.tell(event) });
  const stop = stopOnSignals(cluster, flags, ending, say);
  try {
    say(`Starting a cluster in ${shown(cluster.directory)} ...`);
    await cluster.start();
    await writable(cluster, ending.signal);
    if (!ending.signal.aborted) {
      const seconds = (performance.now() - begun) / 1000;
      if (flags.json) process.stdout.write(`${JSON.stringify(describeJson(cluster))}\n`);
      else say(describePretty(cluster, seconds));
      await narrate(cluster, ending.signal, teller);
    }
  } catch (error) {
    if (!ending.signal.aborted) {
      ending.abort();
      await cluster.stop();
      throw error;
    }
  } finally {
    await stop.settled();
  }
}

function optionsOf(flags: UpFlags): LocalClusterOptions {
  const count = (text: string | undefined, flag: string): number | undefined =>
    text === undefined ? undefined : positiveInteger(text, flag);
  const options = {
    regions: flags.regions === undefined ? undefined : regionsIn(flags.regions),
    nodesPerRegion: count(flags.nodesPerRegion, '--nodes-per-region'),
    acceptors: flags.acceptors === '0' ? 0 : count(flags.acceptors, '--acceptors'),
    stores: flags.store,
    partitionSets: count(flags.partitionSets, '--partition-sets'),
    profile: flags.profile === undefined ? undefined : profileIn(flags.profile),
    consistency: flags.consistency === undefined ? undefined : levelIn(flags.consistency),
    minimumDurability: count(flags.minDurability, '--min-durability'),
    portBase: count(flags.portBase, '--port-base'),
  };
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const { gateways, netns: namespaces } = flags;
  return { ...given, directory: dataDirectory(flags.data), gateways, namespaces, tokens: true };
}

function regionsIn(text: string): number | readonly string[] {
  return /^\d+$/.test(text) ? positiveInteger(text, '--regions') : text.split(',').map((name) => name.trim());
}

function profileIn(text: string): keyof typeof PROFILES {
  if (Object.hasOwn(PROFILES, text)) return text as keyof typeof PROFILES;
  throw new UsageError(`--profile does not know "${text}"; it knows ${Object.keys(PROFILES).join(', ')}.`);
}

function levelIn(text: string): Consistency {
  const level = CONSISTENCY_LEVELS.find((name) => name.toLowerCase() === text.toLowerCase());
  if (level !== undefined) return level;
  throw new UsageError(`--consistency does not know "${text}"; it knows ${CONSISTENCY_LEVELS.join(', ')}.`);
}

/** The first signal stops everything in order, the second at once. */
function stopOnSignals(
  cluster: LocalCluster,
  { stopWithParent }: UpFlags,
  ending: AbortController,
  say: (line: string) => void,
): { settled(): Promise<void> } {
  let stopping: Promise<void> | undefined;
  const onSignal = (): void => {
    if (stopping === undefined) {
      ending.abort();
      say('\nStopping in order (again: at once) ...');
      stopping = cluster.stop();
    } else void cluster.killAll();
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, onSignal);
  if (stopWithParent) process.stdin.resume().once('end', onSignal).once('error', onSignal);
  return {
    async settled() {
      await stopping;
      for (const signal of signals) process.off(signal, onSignal);
      if (stopWithParent) process.stdin.destroy();
    },
  };
}

async function writable(cluster: LocalCluster, signal: AbortSignal): Promise<void> {
  const regions = cluster.config.regions.map(({ name }) => name);
  await cluster.waitForWriters(regions, WRITABLE_MS, signal);
}

/** Says what happens to processes as it happens, and how long writes took to come back after something was broken. */
class Teller {
  readonly #say: (line: string) => void;
  #isUp = false;
  #last: { readonly what: string; readonly at: number } | undefined;

  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  tell(event: LocalEvent): void {
    switch (event.type) {
      case 'stopped':
        this.#say(`  stopped ${event.process}`);
        break;
      case 'lost':
        this.#line(`${event.process} ended by itself (${event.how}); its log: ${event.log}`);
        this.#last = { what: `${event.process} ended`, at: performance.now() };
        break;
      case 'order':
        this.#line(obeyedText(event.order, event));
        // Nothing moves because somebody writes.
        if (event.order.action === 'load') break;
        this.#last = { what: orderText(event.order), at: performance.now() };
        break;
      default:
        break;
    }
  }

  moved(before: ReadonlyMap<string, Observed>, after: ReadonlyMap<string, Observed>): void {
    for (const move of movesBetween(before, after)) {
      const since = this.#last && (performance.now() - this.#last.at) / 1000;
      const cause = since === undefined ? '' : `, ${since.toFixed(1)} s after ${this.#last!.what}`;
      if (this.#isUp) this.#line(`${moveText(move)}${cause}`);
    }
    this.#isUp = true;
  }

  #line(text: string): void {
    this.#say(`${new Date().toTimeString().slice(0, 8)}  ${text}`);
  }
}

async function narrate(cluster: LocalCluster, signal: AbortSignal, teller: Teller): Promise<void> {
  let before: ReadonlyMap<string, Observed> = new Map();
  while (!signal.aborted) {
    const seen = await cluster.observe();
    // What nobody can be asked about now is what it was.
    const after = new Map([...before, ...newest(before, seen)]);
    if (!signal.aborted) teller.moved(before, after);
    before = after;
    await pauseFor(LOOK_MS, signal);
  }
}

/** While nobody writes, it is still the last writer's. */
function newest(
  before: ReadonlyMap<string, Observed>,
  seen: ReadonlyMap<string, Observed>,
): [string, Observed][] {
  return [...seen].flatMap(([name, view]): [string, Observed][] => {
    const known = before.get(name);
    if (view.gcn < (known?.gcn ?? 0)) return [];
    return [[name, { ...view, writeRegion: view.writeRegion ?? known?.writeRegion }]];
  });
}

function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
}
