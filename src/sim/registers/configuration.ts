/** What a seed draws before anything happens: how many of what, how they talk, what they are told to do. */
import { type ClockErrors, type Random } from '../core/index.ts';
import { drawSwarm } from '../swarm.ts';
import { COPIED, type FaultName, SWARM } from './faults.ts';

export interface RegistersConfiguration {
  readonly kind: 'store' | 'service';
  /** Those that the cluster begins with, and empty ones that a change of the set may bring in. */
  readonly acceptors: number;
  readonly spares: number;
  readonly clients: number;
  readonly keys: number;
  readonly quorums: { readonly phase1: number; readonly phase2: number };
  readonly latency: string;
  readonly ballots: 'sequential' | 'hybrid';
  readonly oneRoundTrip: boolean;
  /** Whether all clients give the library the same name: then only their incarnations tell them apart. */
  readonly oneName: boolean;
  /** How many operations a client has under way at a time. */
  readonly lanes: number;
  /** How many of the operations change nothing. */
  readonly idleShare: number;
  /** Between the operations of a lane, on average. */
  readonly thinkMs: number;
  /** How often a client closes the library and opens it anew, for each operation of its lanes. */
  readonly reopenShare: number;
  readonly requestTimeoutMs: number;
  readonly timeoutMs: number;
  readonly syncMs: number;
  /** Batches that a store takes at a time. */
  readonly concurrency: number;
  /** Of the acceptors, then the spare ones, then the clients. */
  readonly clocks: readonly ClockErrors[];
  /** How long faults go on. */
  readonly chaosMs: number;
  /** The kinds of fault that are on. */
  readonly faults: ReadonlySet<FaultName>;
  /** Acceptors whose disks may be lost, restored from old copies, or garbled: so few that the others can do without. */
  readonly damaged: readonly number[];
}

/** Between regions everything takes longer: a request needs more patience, and a run more time. */
const NETWORKS = [
  { latency: 'fixed:5', requestTimeoutMs: 200, slowness: 1 },
  { latency: 'uniform:1-30', requestTimeoutMs: 500, slowness: 1 },
  { latency: 'lognormal:8,0.6', requestTimeoutMs: 500, slowness: 1 },
  { latency: 'azure', requestTimeoutMs: 2000, slowness: 3 },
] as const;

const HOUR_MS = 3_600_000;
/** The bound on drift of DESIGN section 5. */
const MAX_DRIFT = 0.001;
/** Of the seeds that have room for it. */
const SHARED_SHARE = 0.4;
const RESTORED_SHARE = 0.95;
const COPIED_SHARE = 0.5;
const SOME_DATE_MS = 1_700_000_000_000;

export function drawConfiguration(random: Random, later: Random): RegistersConfiguration {
  const faults = drawSwarm(SWARM, random) as Set<FaultName>;
  // Roll back is a fault for those who saw what was lost: see `faults.ts`.
  if (faults.has('roll back'))
    for (const name of ['crash client', 'change set'] as const) faults.delete(name);
  const acceptors = random.uniform() < 0.7 ? 3 : 5;
  const spares = faults.has('change set') ? 2 : 0;
  const clients = faults.has('roll back') ? 1 : 1 + random.integer(4);
  const quorums = drawQuorums(acceptors, clients, random);
  const { latency, requestTimeoutMs, slowness } = NETWORKS[random.integer(NETWORKS.length)]!;
  const lanes = 1 + random.integer(3);
  const chaosMs = Math.round(slowness * random.between(6000, 12_000));
  const operations = random.between(120, 300);
  const offsetMs = random.uniform() < 0.5 ? HOUR_MS : 50;
  const kind = random.uniform() < 0.5 ? 'store' : 'service';
  if (kind === 'store' && !faults.has('roll back')) faults.add('promote');
  const isOneLosable = acceptors > Math.max(quorums.phase1, quorums.phase2);
  for (const name of isOneLosable ? drawLater({ faults, clients, kind }, later) : []) faults.add(name);
  return {
    kind,
    acceptors,
    spares,
    clients,
    keys: 1 + random.integer(3),
    quorums,
    latency,
    ballots: random.uniform() < 0.5 ? 'sequential' : 'hybrid',
    oneRoundTrip: random.uniform() < 0.6,
    oneName: random.uniform() < 0.5,
    idleShare: random.uniform() < 0.7 ? 0.35 : 0.7,
    lanes,
    thinkMs: Math.round((chaosMs * clients * lanes) / operations),
    reopenShare: faults.has('roll back') ? 0 : drawReopenShare(slowness, random),
    requestTimeoutMs,
    timeoutMs: requestTimeoutMs * (1 + random.integer(5)),
    syncMs: random.uniform() < 0.7 ? 1 + random.integer(8) : 10 + random.integer(20),
    concurrency: random.uniform() < 0.5 ? 1 : 4,
    clocks: Array.from({ length: acceptors + spares + clients }, () => ({
      offsetMs: SOME_DATE_MS + Math.round(random.between(-offsetMs, offsetMs)),
      drift: random.between(-MAX_DRIFT, MAX_DRIFT),
    })),
    chaosMs,
    faults,
    damaged: drawDamaged(acceptors, quorums, random),
  };
}

/** Where one acceptor can be done without. The set does not change then, see `faults.ts`. */
function drawLater(
  { faults, clients, kind }: Pick<RegistersConfiguration, 'faults' | 'clients' | 'kind'>,
  later: Random,
): readonly FaultName[] {
  const [choice, isCopied] = [later.uniform(), later.uniform() < COPIED_SHARE];
  if (faults.has('roll back')) return [];
  const copied: readonly FaultName[] = isCopied && clients > 1 && COPIED.includes(kind) ? ['copy'] : [];
  if (faults.has('change set')) return copied;
  if (choice < SHARED_SHARE) return [...copied, 'shared'];
  return choice < RESTORED_SHARE && clients > 1 ? [...copied, 'restore'] : copied;
}

/** One line for each choice. */
export function describeConfiguration(configuration: RegistersConfiguration): readonly string[] {
  const { faults, clocks, damaged, quorums, ...rest } = configuration;
  return [
    ...Object.entries(rest).map(([name, value]) => `${name}: ${String(value)}`),
    `quorums: ${quorums.phase1} then ${quorums.phase2}`,
    `faults: ${[...faults].join(', ') || 'none'}`,
    `damaged: ${damaged.join(', ') || 'none'}`,
    `clock drifts: ${clocks.map(({ drift }) => drift.toFixed(6)).join(', ')}`,
    `clock offsets: ${clocks.map(({ offsetMs }) => offsetMs - SOME_DATE_MS).join(', ')}`,
  ];
}

/** Majorities, or sizes that differ. A phase that needs everybody is left to few clients: many only stop each other. */
function drawQuorums(acceptors: number, clients: number, random: Random): RegistersConfiguration['quorums'] {
  const majority = Math.floor(acceptors / 2) + 1;
  const phase2 = acceptors === 3 ? 2 : random.uniform() < 0.6 ? 4 : 2;
  const phase1 = Math.min(acceptors, acceptors + 1 - phase2 + random.integer(2));
  const isFlexible = random.uniform() < (acceptors === 3 ? 0.2 : 0.6) && (phase1 < acceptors || clients <= 2);
  return isFlexible ? { phase1, phase2 } : { phase1: majority, phase2: majority };
}

/** Often enough, in some seeds, for the registers to forget operations. Across oceans nobody would get anything done then. */
function drawReopenShare(slowness: number, random: Random): number {
  const choice = random.uniform();
  if (choice < 0.6) return 0;
  return choice < 0.8 || slowness > 1 ? 0.15 : 0.6;
}

function drawDamaged(
  acceptors: number,
  { phase1, phase2 }: RegistersConfiguration['quorums'],
  random: Random,
): readonly number[] {
  const spare = acceptors - Math.max(phase1, phase2);
  const left = Array.from({ length: acceptors }, (_, at) => at);
  return Array.from({ length: spare }, () => left.splice(random.integer(left.length), 1)[0]!);
}
