/** `baton up`: a whole cluster on this machine, as long as this command runs. */
import { Command } from 'commander';
import { CONSISTENCY_LEVELS, type Consistency, PROFILES } from '../failover/index.ts';
import {
  DEFAULT_PORT_BASE,
  LocalCluster,
  LocalClusterError,
  type LocalClusterOptions,
  type LocalEvent,
  movesBetween,
  type Observed,
} from '../server/index.ts';
import { UsageError } from './errors.ts';
import { positiveInteger } from './flags.ts';
import { dataDirectory } from './local.ts';
import { forOwnerOnly } from './owner.ts';
import { withoutRepetitions } from './stopping.ts';
import { overloadAdvice } from './up-load.ts';
import { Screen, UpProgress } from './up-progress.ts';
import {
  describeJson,
  describePretty,
  mayFollowFault,
  moveText,
  obeyedText,
  orderText,
  shown,
} from './up-text.ts';

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
const TOO_LATE: ReadonlySet<string> = new Set(['PROCESS_SLOW', 'PROCESS_ENDED', 'TIMED_OUT']);

export function upCommand(): Command {
  return new Command('up')
    .description(
      'Run a cluster on this machine: regions, acceptors, gateways and a DNS server, each in its own process. It runs until this command ends.',
    )
    .option(
      '--regions <n|names>',
      'number of regions, or their names in order of priority: west,east,north (default: 3)',
    )
    .option(
      '--nodes-per-region <n>',
      'node processes in each region, which share its partition-sets (default: 1)',
    )
    .option('--acceptors <n>', 'acceptor processes (default: 5, minus the number of stores)')
    .option(
      '--store <url>',
      'also use this store as an acceptor, for example postgres://me@127.0.0.1/baton; can be repeated; a password in the URL is kept in a file that only you can read',
      (url: string, before: readonly string[] | undefined): readonly string[] => [...(before ?? []), url],
    )
    .option('--partition-sets <n>', 'partition-sets of the container "items" (default: 16)')
    .option('--profile <name>', `timings, by name: ${leasesOf(PROFILES)} (default: fast)`)
    .option('--consistency <level>', `${CONSISTENCY_LEVELS.join(', ')} (default: Strong)`)
    .option(
      '--min-durability <n>',
      'at Strong, no write is acknowledged before this many regions have stored it (default: 2; 1 for one or two regions, so that either can fail)',
    )
    .option(
      '--port-base <n>',
      `first port; all other ports are offsets from it (default: ${DEFAULT_PORT_BASE}, or that of the last run)`,
    )
    .option('--data <dir>', 'data directory (default: $BATON_DATA or ./baton-data)')
    .option('--no-gateways', 'start no gateways, so that only clients that use baton/client can connect')
    .option(
      '--netns',
      'give each region and acceptor its own network namespace, so that links can be cut; needs Linux and root',
      false,
    )
    .option('--json', 'print one JSON object when the cluster is up, and nothing else', false)
    .option(
      '--stop-with-parent',
      'stop when standard input is closed, which happens when the parent process ends',
      false,
    )
    .addHelpText(
      'after',
      `
The data directory keeps the cluster: the next run continues with the same data, and refuses options that do not fit it.

Examples:
  baton up
  baton up --regions 5 --partition-sets 64 --data ./five
  baton up --store postgres://me@127.0.0.1/baton --store redis://127.0.0.1
  baton chaos kill west
`,
    )
    .action(run);
}

function leasesOf(profiles: typeof PROFILES): string {
  const texts = Object.entries(profiles).map(
    ([name, { leaseMs }]) => `lease of ${leaseMs / 1000} s (${name})`,
  );
  return texts.toReversed().join(' or ');
}

async function run(flags: UpFlags): Promise<void> {
  forOwnerOnly();
  const screen = new Screen(flags.json ? undefined : process.stdout);
  const begun = performance.now();
  const ending = new AbortController();
  const progress = new UpProgress(screen);
  const teller = new Teller(screen, progress);
  const cluster = new LocalCluster({
    ...optionsOf(flags),
    onEvent: (event) => {
      teller.warn(() => overloadAdvice(cluster.config));
      teller.tell(event);
    },
  });
  const stop = stopOnSignals(cluster, flags, ending, screen);
  try {
    screen.say(`Starting a cluster in ${shown(cluster.directory)} ...`);
    await cluster.start();
    await writable(cluster, ending.signal, progress);
    progress.end();
    if (!ending.signal.aborted) {
      const seconds = (performance.now() - begun) / 1000;
      if (flags.json) process.stdout.write(`${JSON.stringify(describeJson(cluster))}\n`);
      else screen.say(describePretty(cluster, seconds, process.stdout.isTTY));
      await narrate(cluster, ending.signal, teller);
    }
  } catch (error) {
    progress.end();
    if (!ending.signal.aborted) {
      ending.abort();
      await cluster.stop();
      throw advised(error, cluster);
    }
  } finally {
    await stop.settled();
  }
}

/** A cluster that is too large for its machine comes up late or not at all: that is worth more than which process was slow. */
function advised(error: unknown, cluster: LocalCluster): unknown {
  if (!(error instanceof LocalClusterError) || !TOO_LATE.has(error.code)) return error;
  const advice = overloadAdvice(cluster.config);
  return advice === undefined ? error : new LocalClusterError(error.code, `${error.message} ${advice}`);
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
  return { ...given, directory: dataDirectory(flags.data), gateways, namespaces };
}

function regionsIn(text: string): number | readonly string[] {
  return /^\d+$/.test(text) ? positiveInteger(text, '--regions') : text.split(',').map((name) => name.trim());
}

function profileIn(text: string): keyof typeof PROFILES {
  if (Object.hasOwn(PROFILES, text)) return text as keyof typeof PROFILES;
  throw new UsageError(`--profile must be one of ${Object.keys(PROFILES).join(', ')}, not "${text}".`);
}

function levelIn(text: string): Consistency {
  const level = CONSISTENCY_LEVELS.find((name) => name.toLowerCase() === text.toLowerCase());
  if (level !== undefined) return level;
  throw new UsageError(`--consistency must be one of ${CONSISTENCY_LEVELS.join(', ')}, not "${text}".`);
}

/** The first signal stops the processes in order; the second kills them. */
function stopOnSignals(
  cluster: LocalCluster,
  { stopWithParent }: UpFlags,
  ending: AbortController,
  screen: Screen,
): { settled(): Promise<void> } {
  let stopping: Promise<void> | undefined;
  const onSignal = withoutRepetitions((): void => {
    if (stopping === undefined) {
      ending.abort();
      screen.say('\nStopping the cluster; press Ctrl-C again to kill it ...');
      stopping = cluster.stop();
    } else {
      screen.say('Killing the cluster ...');
      void cluster.killAll();
    }
  });
  // They stay until the process ends, so that a late signal does not change its exit code.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
  if (stopWithParent) process.stdin.resume().once('end', onSignal).once('error', onSignal);
  return {
    async settled() {
      await stopping;
      if (stopWithParent) process.stdin.destroy();
    },
  };
}

async function writable(cluster: LocalCluster, signal: AbortSignal, progress: UpProgress): Promise<void> {
  const regions = cluster.config.regions.map(({ name }) => name);
  const onProgress = (done: number, inAll: number): void => progress.reach('partition-sets', done, inAll);
  await cluster.waitForWriters(regions, WRITABLE_MS, { signal, onProgress, isFromProgress: true });
}

/** Prints what happens to processes and where writes move, with the seconds since the last fault. */
class Teller {
  readonly #screen: Screen;
  readonly #progress: UpProgress;
  #isUp = false;
  #isWarned = false;
  #last: { readonly what: string; readonly at: number } | undefined;

  constructor(screen: Screen, progress: UpProgress) {
    this.#screen = screen;
    this.#progress = progress;
  }

  /** Once, and before anything has started. */
  warn(warning: () => string | undefined): void {
    if (this.#isWarned) return;
    this.#isWarned = true;
    const text = warning();
    if (text !== undefined) this.#screen.say(`  warning: ${text}`);
  }

  tell(event: LocalEvent): void {
    switch (event.type) {
      case 'starting':
      case 'ready':
        if (!this.#isUp) this.#progress.tell(event);
        break;
      case 'stopped':
        this.#screen.say(`  stopped ${event.process}`);
        break;
      case 'lost':
        this.#line(`${event.process} exited unexpectedly (${event.how}); log: ${shown(event.log)}`);
        this.#last = { what: `${event.process} exited`, at: performance.now() };
        break;
      case 'order':
        this.#line(obeyedText(event.order, event));
        // A load moves no partition-set.
        if (event.order.action === 'load') break;
        this.#last = { what: orderText(event.order), at: performance.now() };
        break;
      default:
        break;
    }
  }

  moved(before: ReadonlyMap<string, Observed>, after: ReadonlyMap<string, Observed>): void {
    for (const move of movesBetween(before, after)) {
      const last = mayFollowFault(move) ? this.#last : undefined;
      const since = last && `, ${((performance.now() - last.at) / 1000).toFixed(1)} s after ${last.what}`;
      if (this.#isUp) this.#line(`${moveText(move)}${since ?? ''}`);
    }
    this.#isUp = true;
  }

  #line(text: string): void {
    this.#screen.say(`${new Date().toTimeString().slice(0, 8)}  ${text}`);
  }
}

async function narrate(cluster: LocalCluster, signal: AbortSignal, teller: Teller): Promise<void> {
  let before: ReadonlyMap<string, Observed> = new Map();
  while (!signal.aborted) {
    const seen = await cluster.observe();
    // What no node can tell now keeps its last known state.
    const after = new Map([...before, ...newest(before, seen)]);
    if (!signal.aborted) teller.moved(before, after);
    before = after;
    await pauseFor(LOOK_MS, signal);
  }
}

/** While there is no write region, the last one stays listed. */
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
