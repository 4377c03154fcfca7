/**
 * What is done to a cluster, and when: a list that a seed decides. Kinds come as from a shuffled deck, so that a run meets every
 * kind before any comes again; the first is the death of the region that writes, so that no run is without a failover. Whom a fault meets is said by its part, the region that writes or one that only reads, because who that
 * is depends on the faults before.
 *
 * With stores among the acceptors, one of them is away while each of these things happens: killed or paused before the fault
 * begins, back when it is healed. They take turns as the kinds do, and there is never more than one away.
 *
 * Each kind has a bound: so long after the fault began, at the latest, every partition-set takes writes again, healed or not. With
 * the region that writes gone it is three leases; where nobody has to be replaced against their will it is one.
 */
import { PROFILES } from 'baton/failover';
import type { Random } from 'baton/sim';

export const FAULT_KINDS = [
  'kill',
  'pause',
  'stop',
  'switchover',
  'acceptors',
  'cut',
  'cut in',
  'cut out',
  'cut from acceptors',
  'cut from regions',
  'cut from both',
  'clock',
  'kill store',
  'pause store',
] as const;

/** The kinds of stores that a cluster can have among its acceptors here. */
export const STORE_KINDS = ['postgres', 'redis', 'etcd'] as const;
export type StoreKind = (typeof STORE_KINDS)[number];

/** A store that is away while a fault lasts. */
export interface StoreLoss {
  readonly store: StoreKind;
  readonly how: 'kill' | 'pause';
}

/** Fewer have shown nothing. */
export function leastFaults(seconds: number): number {
  return Math.max(3, Math.floor(seconds / 30));
}

export type FaultKind = (typeof FAULT_KINDS)[number];

export interface Fault {
  readonly kind: FaultKind;
  readonly part: 'writer' | 'reader';
  /** How long it lasts. */
  readonly holdMs: number;
  /** How long nothing happens once all is well again. */
  readonly calmMs: number;
  /** Of a clock: by how much the region's wall clock is off. */
  readonly offsetSeconds: number;
  /** Of a cluster with stores. */
  readonly loss?: StoreLoss;
}

const LEASE_MS = PROFILES.fast.leaseMs;

/** Promised; what the machine adds is told apart (`gaps.ts`). */
export const BOUND_MS: Readonly<Record<FaultKind, number>> = {
  kill: 3 * LEASE_MS,
  pause: 3 * LEASE_MS,
  cut: 3 * LEASE_MS,
  'cut in': 3 * LEASE_MS,
  'cut out': 3 * LEASE_MS,
  'cut from acceptors': 3 * LEASE_MS,
  'cut from regions': 3 * LEASE_MS,
  'cut from both': 3 * LEASE_MS,
  stop: LEASE_MS,
  switchover: LEASE_MS,
  acceptors: LEASE_MS,
  clock: LEASE_MS,
  'kill store': LEASE_MS,
  'pause store': LEASE_MS,
};

const WRITER_SHARE = 0.7;
/** Some outlast every bound: then it is not the healing that brings writes back. */
const LONG_SHARE = 0.35;
const LONG_MS = [13_000, 15_000] as const;
const OFFSETS = [-86_400, -3600, -5, 5, 3600, 86_400] as const;

/** Without an end: a run takes as many as its time allows. */
export function* scheduleOf(
  kinds: readonly FaultKind[],
  random: Random,
  stores: readonly StoreKind[] = [],
): Generator<Fault, never, undefined> {
  const turns = turnsOf(stores, random);
  const deck = shuffled(kinds, random);
  const firstDeck = [...deck.filter((kind) => kind === 'kill'), ...deck.filter((kind) => kind !== 'kill')];
  for (let round = 0; ; round += 1) {
    for (const [at, kind] of (round === 0 ? firstDeck : shuffled(kinds, random)).entries()) {
      const isFirst = round === 0 && at === 0;
      const isLong = random.uniform() < LONG_SHARE;
      const [shortest, longest] = isLong
        ? LONG_MS
        : kind === 'pause'
          ? [1000, 8000]
          : [isFirst ? 5000 : 3000, 7000];
      yield {
        kind,
        part: random.uniform() < WRITER_SHARE || isFirst ? 'writer' : 'reader',
        holdMs: Math.round(random.between(shortest, longest)),
        calmMs: Math.round(random.between(200, 2000)),
        offsetSeconds: OFFSETS[random.integer(OFFSETS.length)]!,
        ...(stores.length > 0 && { loss: lossFor(kind, turns.next().value) }),
      };
    }
  }
}

/** Every store before any comes again, and then the other way round: what was killed is paused, what was paused is killed. */
function* turnsOf(stores: readonly StoreKind[], random: Random): Generator<StoreLoss, never, undefined> {
  const killedFirst = random.integer(2);
  for (let round = killedFirst; ; round += 1)
    for (const store of shuffled(stores, random))
      yield { store, how: (stores.indexOf(store) + round) % 2 === 0 ? 'kill' : 'pause' };
}

function lossFor(kind: FaultKind, { store, how }: StoreLoss): StoreLoss {
  if (kind === 'kill store') return { store, how: 'kill' };
  return { store, how: kind === 'pause store' ? 'pause' : how };
}

function shuffled<T>(list: readonly T[], random: Random): T[] {
  const deck = [...list];
  for (let at = deck.length - 1; at > 0; at -= 1) {
    const other = random.integer(at + 1);
    [deck[at], deck[other]] = [deck[other]!, deck[at]!];
  }
  return deck;
}

/** For people: `pause writer for 4.2 s, redis killed`. */
export function formatFault({ kind, part, holdMs, offsetSeconds, loss }: Fault): string {
  const offset = kind === 'clock' ? ` by ${offsetSeconds} s` : '';
  const away = loss === undefined || isOfStore(kind) ? '' : `, ${loss.store} ${PAST[loss.how]}`;
  return `${kind} ${whomOf(kind, part, loss)}${offset} for ${(holdMs / 1000).toFixed(1)} s${away}`;
}

const PAST = { kill: 'killed', pause: 'paused' } as const;

/** Nothing but a store is taken away. */
export function isOfStore(kind: FaultKind): boolean {
  return kind === 'kill store' || kind === 'pause store';
}

function whomOf(kind: FaultKind, part: Fault['part'], loss: StoreLoss | undefined): string {
  if (isOfStore(kind)) return loss?.store ?? '';
  if (kind === 'acceptors') return loss === undefined ? 'two of five' : 'a service';
  return kind === 'switchover' ? 'away' : part;
}
