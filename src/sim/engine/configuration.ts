/** What a seed draws before anything happens: how many of what, what they promise, how they talk, what goes wrong. */
import { CONSISTENCY_LEVELS, type ConsistencyLevel } from '../../check/index.ts';
import type { ForwarderLimits, TrimPolicy } from '../../engine/index.ts';
import type { ClockErrors, Random } from '../core/index.ts';
import { drawSwarm } from '../swarm.ts';
import { FUZZ_FAULTS, type FuzzFault } from './faults.ts';

export interface EngineConfiguration {
  readonly regions: number;
  readonly partitionSets: number;
  readonly acceptors: number;
  readonly clients: number;
  /** Documents in a partition-set. */
  readonly documents: number;
  readonly level: ConsistencyLevel;
  /** At bounded staleness. */
  readonly staleness: { readonly writes: number; readonly seconds: number };
  readonly minDurability: number;
  /** Streams keep the order and are whole or broken; messages are lost, doubled and overtake each other. */
  readonly links: 'streams' | 'messages';
  /** A link on which nothing was heard for so long is given up. */
  readonly idleMs: number;
  readonly hints: boolean;
  readonly latency: string;
  readonly requestTimeoutMs: number;
  readonly syncMs: number;
  readonly thinkMs: number;
  /** Undefined: logs are kept whole. */
  readonly trim: TrimPolicy | undefined;
  /** Undefined: as in production. Small ones make a long way of catching up and of full copies. */
  readonly forwarder: ForwarderLimits | undefined;
  /** Of the acceptors, then the regions, then the clients and the readers of feeds. */
  readonly clocks: readonly ClockErrors[];
  readonly chaosMs: number;
  readonly faults: ReadonlySet<FuzzFault>;
  /** Acceptors that may be lost for good: a minority. */
  readonly losable: readonly number[];
  /** The region whose disk may be lost. */
  readonly fragile: number;
}

/** Times that the `fast` profile is made for: its lease is thirty of the longest round trips. */
const NETWORKS = [
  { latency: 'fixed:5', requestTimeoutMs: 300 },
  { latency: 'uniform:1-60', requestTimeoutMs: 500 },
  { latency: 'uniform:1-30', requestTimeoutMs: 500 },
  { latency: 'lognormal:8,0.6', requestTimeoutMs: 500 },
] as const;

const HOUR_MS = 3_600_000;
/** The bound on drift of DESIGN section 5. */
const MAX_DRIFT = 0.001;
const SOME_DATE_MS = 1_700_000_000_000;
const REGION_COUNTS = [2, 3, 3, 3, 5] as const;

export function drawConfiguration(random: Random, level: ConsistencyLevel | undefined): EngineConfiguration {
  const faults = drawSwarm(FUZZ_FAULTS, random) as Set<FuzzFault>;
  const regions = REGION_COUNTS[random.integer(REGION_COUNTS.length)]!;
  const isTrimmed = random.uniform() < 0.4;
  // Where logs are to be trimmed there have to be many writes to each, at a pace that is known beforehand.
  const partitionSets = 1 + random.integer(isTrimmed ? 2 : regions === 5 ? 3 : 6);
  const acceptors = random.uniform() < 0.7 ? 3 : 5;
  const clients = 3 + random.integer(3);
  const drawn = CONSISTENCY_LEVELS[random.integer(2) === 0 ? 0 : random.integer(CONSISTENCY_LEVELS.length)]!;
  const { latency, requestTimeoutMs } = NETWORKS[random.integer(NETWORKS.length)]!;
  const offsetMs = random.uniform() < 0.5 ? HOUR_MS : 50;
  const places = acceptors + regions + clients + partitionSets;
  const thinkMs = Math.round(isTrimmed ? random.between(100, 170) : random.between(40, 160));
  const chaosMs = Math.round(random.between(isTrimmed ? 20_000 : 12_000, 25_000));
  return {
    regions,
    partitionSets,
    acceptors,
    clients,
    documents: 3 + random.integer(6),
    level: level ?? drawn,
    staleness: { writes: 5 + random.integer(60), seconds: 1 + random.integer(4) },
    minDurability: 1 + random.integer(2),
    links: random.uniform() < 0.7 ? 'streams' : 'messages',
    idleMs: 700 + random.integer(1800),
    hints: random.uniform() < 0.85,
    latency,
    requestTimeoutMs,
    syncMs: random.uniform() < 0.7 ? 1 + random.integer(6) : 8 + random.integer(20),
    thinkMs,
    trim: isTrimmed ? drawTrim(clients / thinkMs / partitionSets, random) : undefined,
    forwarder: isTrimmed || random.uniform() < 0.2 ? SMALL_WINDOWS : undefined,
    clocks: Array.from({ length: places }, () => ({
      offsetMs: SOME_DATE_MS + Math.round(random.between(-offsetMs, offsetMs)),
      drift: random.between(-MAX_DRIFT, MAX_DRIFT),
    })),
    chaosMs,
    faults,
    losable: drawLosable(acceptors, random),
    fragile: random.integer(regions),
  };
}

const SMALL_WINDOWS: ForwarderLimits = { windowBytes: 2500, messageBytes: 400, resendMs: 1000 };
/** About as much as a write takes in the log, and how many of the calls are writes. */
const WRITE_BYTES = 300;
const WRITE_SHARE = 0.62;

/**
 * So short that a region which was away for some seconds has to copy everything, and so long that the name of every
 * operation that may still be repeated is in the log. `callsPerMs`: of all clients, on one partition-set.
 */
function drawTrim(callsPerMs: number, random: Random): TrimPolicy {
  const hardBytes = Math.round(callsPerMs * WRITE_SHARE * WRITE_BYTES * random.between(2000, 2800));
  return { keepMs: 12_000, keepBytes: Infinity, hardBytes };
}

function drawLosable(acceptors: number, random: Random): readonly number[] {
  const left = Array.from({ length: acceptors }, (_, at) => at);
  const minority = Math.floor((acceptors - 1) / 2);
  return Array.from({ length: minority }, () => left.splice(random.integer(left.length), 1)[0]!);
}

/** One line for each choice. */
export function describeConfiguration(configuration: EngineConfiguration): readonly string[] {
  const { faults, clocks, losable, staleness, trim, forwarder, ...rest } = configuration;
  return [
    ...Object.entries(rest).map(([name, value]) => `${name}: ${String(value)}`),
    `staleness: ${staleness.writes} writes, ${staleness.seconds} s`,
    `trim: ${trim === undefined ? 'never' : `${trim.keepMs} ms, ${trim.hardBytes} bytes at most`}`,
    `windows: ${forwarder === undefined ? 'as in production' : `${forwarder.windowBytes} bytes`}`,
    `faults: ${[...faults].join(', ') || 'none'}`,
    `losable acceptors: ${losable.join(', ')}`,
    `clock drifts: ${clocks.map(({ drift }) => drift.toFixed(6)).join(', ')}`,
    `clock offsets: ${clocks.map(({ offsetMs }) => offsetMs - SOME_DATE_MS).join(', ')}`,
  ];
}
