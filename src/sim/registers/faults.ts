/**
 * The faults that the registers live through, and the limits within which a run is fair. What lies outside would make
 * the library look wrong where it never promised anything:
 *
 * - Disks that lose what they had synced (`forget`, `roll back`, `garble`) belong to so few acceptors that quorums of both
 *   phases are left without them. Beyond that CASPaxos has no memory to go by.
 * - Rule 8 knows an old copy by what a process has seen of the acceptor. So with `roll back` there is one client, which
 *   neither crashes nor opens the library anew: a second process, or a second life, may never have seen what the copy
 *   lacks. `forget` has no such limit: the acceptors' identities stand in the configuration that the others keep.
 * - `restore` is the same for several clients, with lives as they come. It is fair because nothing is asked of the copy that nobody who
 *   asks could know of, until somebody has found it out: `old-copy.ts`.
 * - `copy` is for stores that tell their line of memory, as `promote` is: of two servers with the same documents nothing else tells which is
 *   the one that was there before. Acceptor services join in when each life of theirs is told from every other: see `COPIED`.
 * - `shared` gives one of the damaged acceptors to a second cluster, so that the first one can do without it. Nobody changes the set then: an acceptor
 *   of another cluster cannot be taken in.
 * - `promote` has no such limit either: an old copy that was promoted tells another line of memory than the identity in it. It
 *   is a fault of stores: directories of the acceptor service have no line.
 * - Every set of acceptors that is ever in force can do without the damaged ones. With `roll back` and `restore` the set does not change.
 * - A cluster begins when all its acceptors are there, so it is opened before the first fault.
 * - Clocks may be wrong in any way, but their rates keep to the bound of DESIGN section 5.
 *
 * All faults are over at the moment of healing; then every process is up, and all but the damaged disks are sound.
 */
import type { Random } from '../core/index.ts';
import type { ScheduledFault } from '../seeded-run.ts';
import { drawSchedule, type FaultKind, type FaultWindow } from '../swarm.ts';
import type { RegistersConfiguration } from './configuration.ts';

export const FAULT_NAMES = [
  'loss',
  'duplicate',
  'straggle',
  'cut',
  'one-way cut',
  'pause',
  'crash client',
  'crash store',
  'crash in sync',
  'forget',
  'roll back',
  'garble',
  'clock jump',
  'slow disk',
  'change set',
  'promote',
  'restore',
  'shared',
  'copy',
] as const;

export type FaultName = (typeof FAULT_NAMES)[number];

/** They have a stream of chance of their own, so that to the seeds of earlier versions nothing else changes. */
const LATER_KINDS: ReadonlySet<FaultName> = new Set(['restore', 'shared', 'copy']);

/** Those that each seed has on or off. What is left draws last, and by itself. */
export const SWARM: readonly FaultName[] = FAULT_NAMES.filter(
  (name) => name !== 'promote' && !LATER_KINDS.has(name),
);

/** Acceptors of which a copy can be told from the original while both are there. */
export const COPIED: readonly RegistersConfiguration['kind'][] = ['store'];

/** How many of the promotions that a seed has room for come about. */
const PROMOTED_SHARE = 0.4;

/** How much of the traffic straggles; its strength is how late. */
export const STRAGGLING_SHARE = 0.2;

const HOUR_MS = 3_600_000;

export function acceptorName(index: number): string {
  return `acceptor-${index}`;
}

export function clientName(index: number): string {
  return `client-${index}`;
}

export function drawFaults(
  configuration: RegistersConfiguration,
  window: FaultWindow,
  random: Random,
  later: Random,
): readonly ScheduledFault[] {
  const kinds = faultKinds(configuration).filter(({ kind }) => configuration.faults.has(kind));
  const isLater = ({ kind }: { readonly kind: FaultName }): boolean => LATER_KINDS.has(kind);
  const earlier = drawSchedule(
    kinds.filter((kind) => !isLater(kind)),
    window,
    random,
  );
  const rivals = configuration.faults.has('shared') ? [drawShared(configuration, later)] : [];
  return [...earlier, ...drawSchedule(kinds.filter(isLater), window, later), ...rivals].sort(
    (a, b) => a.fromMs - b.fromMs,
  );
}

/** In the beginning, when everything else is calm. */
function drawShared({ damaged }: RegistersConfiguration, random: Random): ScheduledFault {
  const fromMs = random.integer(60);
  return {
    kind: 'shared',
    fromMs,
    untilMs: fromMs + 5 + random.integer(500),
    targets: [acceptorName(damaged[0]!)],
    strength: random.integer(2),
  };
}

function faultKinds({
  acceptors,
  spares,
  clients,
  damaged,
}: RegistersConfiguration): readonly (FaultKind & { readonly kind: FaultName })[] {
  const stores = Array.from({ length: acceptors + spares }, (_, at) => acceptorName(at));
  const proposers = Array.from({ length: clients }, (_, at) => clientName(at));
  const all = [...stores, ...proposers];
  const losable = damaged.map((at) => acceptorName(at));
  const kind = (
    name: FaultName,
    most: number,
    [shortestMs, longestMs]: readonly [number, number],
    targets: FaultKind['targets'],
    strength: FaultKind['strength'] = () => 0,
  ) => ({ kind: name, most, shortestMs, longestMs, targets, strength });
  return [
    kind('loss', 3, [300, 6000], someOrAll(all), share(0.05, 0.5)),
    kind('duplicate', 3, [300, 6000], someOrAll(all), share(0.1, 0.6)),
    kind('straggle', 3, [300, 6000], someOrAll(all), whole(50, 3000)),
    kind('cut', 4, [100, 3000], someOf(all)),
    kind('one-way cut', 4, [100, 3000], someOf(all)),
    kind('pause', 4, [50, 3000], oneOf(all)),
    kind('crash client', 6, [20, 1500], oneOf(proposers)),
    kind('crash store', 6, [20, 2000], oneOrMore(stores)),
    kind('crash in sync', 6, [500, 2000], oneOrMore(stores), whole(0, 300)),
    kind('forget', 2, [20, 2000], oneOf(losable)),
    kind('roll back', 2, [20, 2000], oneOf(losable), whole(100, 4000)),
    kind('garble', 4, [0, 0], oneOf(losable)),
    kind('clock jump', 3, [0, 0], oneOf(all), whole(-HOUR_MS, HOUR_MS)),
    kind('slow disk', 3, [300, 4000], someOrAll(stores), whole(20, 400)),
    kind('change set', 2, [0, 0], newSet(stores, acceptors, oneOf(proposers))),
    kind('promote', 2, [20, 2000], sometimes(PROMOTED_SHARE, oneOf(losable)), whole(100, 4000)),
    kind(
      'copy',
      1,
      [300, 4000],
      copyFor(losable, stores.slice(0, acceptors), someOf(proposers)),
      mostlyNone(whole(100, 4000)),
    ),
    kind('restore', 2, [20, 2000], both(oneOf(losable), oneOf(proposers)), whole(100, 4000)),
  ];
}

function oneOf(names: readonly string[]): FaultKind['targets'] {
  return (random) => (names.length === 0 ? [] : [names[random.integer(names.length)]!]);
}

function both(one: FaultKind['targets'], other: FaultKind['targets']): FaultKind['targets'] {
  return (random) => [...one(random), ...other(random)];
}

/** Of which acceptor there are two, and who is on the side of the copy: some clients, and half of the other acceptors. */
function copyFor(
  losable: readonly string[],
  acceptors: readonly string[],
  clients: FaultKind['targets'],
): FaultKind['targets'] {
  const one = oneOf(losable);
  return (random) => {
    const [original] = one(random);
    const left = acceptors.filter((name) => name !== original);
    const others = Array.from(
      { length: Math.floor(left.length / 2) },
      () => left.splice(random.integer(left.length), 1)[0]!,
    );
    return [original!, ...clients(random), ...others];
  };
}

function sometimes(probability: number, targets: FaultKind['targets']): FaultKind['targets'] {
  return (random) => (random.uniform() < probability ? targets(random) : []);
}

/** Some, and not all of them. */
function someOf(names: readonly string[]): FaultKind['targets'] {
  return (random) => {
    const left = [...names];
    const count = 1 + random.integer(Math.max(1, Math.floor(names.length / 2)));
    return Array.from({ length: count }, () => left.splice(random.integer(left.length), 1)[0]!).sort();
  };
}

/** Mostly one; sometimes all at once, as when the power goes. */
function oneOrMore(names: readonly string[]): FaultKind['targets'] {
  const one = oneOf(names);
  const some = someOrAll(names);
  return (random) => (random.uniform() < 0.5 ? one(random) : some(random));
}

function someOrAll(names: readonly string[]): FaultKind['targets'] {
  const some = someOf(names);
  return (random) => (random.uniform() < 0.5 ? names : some(random));
}

/** Who changes the set, and the acceptors that are to be in it: one or two new ones, mostly in the place of others. */
function newSet(
  stores: readonly string[],
  acceptors: number,
  oneClient: FaultKind['targets'],
): FaultKind['targets'] {
  return (random) => {
    const kept = stores.slice(0, acceptors);
    const added = stores.slice(acceptors, acceptors + 1 + random.integer(2));
    const grows = added.length === 2 && random.uniform() < 0.3;
    if (!grows) for (const _ of added) kept.splice(random.integer(kept.length), 1);
    return [...oneClient(random), ...kept, ...added];
  };
}

function share(low: number, high: number): FaultKind['strength'] {
  return (random: Random) => Math.round(random.between(low, high) * 100) / 100;
}

/** A fresh copy lacks nothing that anybody could miss. */
function mostlyNone(strength: FaultKind['strength']): FaultKind['strength'] {
  return (random) => (random.uniform() < 0.7 ? 0 : strength(random));
}

function whole(low: number, high: number): FaultKind['strength'] {
  return (random: Random) => Math.round(random.between(low, high));
}
