/**
 * The faults of the whole system (DESIGN section 10), and the limits within which a run is fair:
 *
 * - Acceptors are lost for good only as far as a majority is left; any of them may crash and come back.
 * - The disk of one region may come back empty, or as it was some time ago. What only that region has is lost with it, so it happens
 *   only while another region that may be elected has everything that it knows to be committed; or, where any region may be elected,
 *   while the old disk has all of it. A list of lost writes has no second copy anywhere, so the old disk has it too.
 * - An entry is damaged only while another region has it on disk, and only in one region: nobody can repair what nobody has.
 * - Clocks may be wrong in any way, but their rates keep to the bound of DESIGN section 5.
 *
 * All faults are over at the moment of healing.
 */
import type { Random } from '../core/index.ts';
import type { ScheduledFault } from '../seeded-run.ts';
import { drawSchedule, type FaultKind, type FaultWindow } from '../swarm.ts';
import type { EngineConfiguration } from './configuration.ts';
import { FUZZ_PHASES, type FuzzPhase } from './phases.ts';

export const FUZZ_FAULTS = [
  'loss',
  'duplicate',
  'straggle',
  'cut',
  'one-way cut',
  'cut pair',
  'pause',
  'crash',
  'crash in sync',
  'crash acceptor',
  'lose acceptor',
  'stop',
  'slow disk',
  'disk full',
  'damage',
  'empty disk',
  'old disk',
  'clock jump',
  'switchover',
  'failover',
] as const;

export type FuzzFault = (typeof FUZZ_FAULTS)[number];

/** How much of the traffic straggles; its strength is how late. */
export const STRAGGLING_SHARE = 0.2;

/** A target that begins with this is the phase in which the fault is to strike. */
export const AIM = '@';
const AIMED_SHARE = 0.4;

const HOUR_MS = 3_600_000;

export function acceptorName(index: number): string {
  return `acceptor-${index}`;
}

export function regionName(index: number): string {
  return `region-${index}`;
}

export function partitionSetName(index: number): string {
  return `set-${index}`;
}

export function drawFaults(
  configuration: EngineConfiguration,
  window: FaultWindow,
  random: Random,
): readonly ScheduledFault[] {
  const kinds = faultKinds(configuration).filter(({ kind }) => configuration.faults.has(kind));
  const drawn = drawSchedule(kinds, window, random).map((fault) => {
    if (random.uniform() >= AIMED_SHARE) return fault;
    const phase = drawAim(configuration, random);
    return { ...fault, targets: [...fault.targets, `${AIM}${phase}`] };
  });
  return [...drawn, ...longAbsence(configuration, window, random)].sort((a, b) => a.fromMs - b.fromMs);
}

/** Where logs are trimmed, one region is away for so long that it has to copy everything. */
function longAbsence(
  { trim, faults, regions }: EngineConfiguration,
  { fromMs, untilMs }: FaultWindow,
  random: Random,
): readonly ScheduledFault[] {
  const kinds = ABSENCES.filter((kind) => faults.has(kind));
  if (trim === undefined || kinds.length === 0) return [];
  const start = Math.round(fromMs + random.between(0, 0.1) * (untilMs - fromMs));
  return [
    {
      kind: kinds[random.integer(kinds.length)]!,
      fromMs: start,
      untilMs: start + Math.round(random.between(10_000, 14_000)),
      targets: [regionName(random.integer(regions))],
      strength: 0,
    },
  ];
}

const ABSENCES: readonly FuzzFault[] = ['crash', 'pause', 'cut', 'stop'];

/** Rare phases are aimed at more often; without trimming nothing is ever copied in full. */
function drawAim({ trim }: EngineConfiguration, random: Random): FuzzPhase {
  if (trim !== undefined && random.uniform() < 0.4) return 'full copy';
  const others = FUZZ_PHASES.filter((phase) => phase !== 'full copy');
  return others[random.integer(others.length)]!;
}

type Targets = FaultKind['targets'];
type Strength = FaultKind['strength'];

function faultKinds(
  configuration: EngineConfiguration,
): readonly (FaultKind & { readonly kind: FuzzFault })[] {
  const acceptors = Array.from({ length: configuration.acceptors }, (_, at) => acceptorName(at));
  const regions = Array.from({ length: configuration.regions }, (_, at) => regionName(at));
  const losable = configuration.losable.map((at) => acceptorName(at));
  const all = [...acceptors, ...regions];
  const kind = (
    name: FuzzFault,
    most: number,
    [shortestMs, longestMs]: readonly [number, number],
    targets: Targets,
    strength: Strength = () => 0,
  ) => ({ kind: name, most, shortestMs, longestMs, targets, strength });
  return [
    kind('loss', 3, [500, 8000], someOrAll(all), share(0.05, 0.5)),
    kind('duplicate', 3, [500, 8000], someOrAll(all), share(0.1, 0.6)),
    kind('straggle', 3, [500, 8000], someOrAll(all), whole(50, 1500)),
    kind('cut', 4, [200, 11_000], oneOrMore(regions), clientsReach),
    kind('one-way cut', 4, [200, 9000], oneOrMore(regions), clientsReach),
    kind('cut pair', 3, [500, 9000], two(regions)),
    kind('pause', 4, [100, 8000], oneOf(all)),
    kind('crash', 5, [100, 12_000], oneOrMore(regions)),
    kind('crash in sync', 4, [400, 3000], oneOrMore(regions), whole(50, 600)),
    kind('crash acceptor', 3, [100, 4000], oneOf(acceptors)),
    kind('lose acceptor', 1, [30_000, 30_000], oneOf(losable)),
    kind('stop', 2, [3000, 9000], oneOf(regions)),
    kind('slow disk', 3, [500, 6000], oneOrMore(all), whole(20, 1500)),
    kind('disk full', 2, [500, 7000], oneOf(regions)),
    kind('damage', 6, [0, 0], oneOf(regions), whole(0, 1_000_000)),
    kind('empty disk', 1, [100, 2500], oneOf([regionName(configuration.fragile)])),
    kind('old disk', 2, [50, 2500], oneOf([regionName(configuration.fragile)]), whole(20, 6000)),
    kind('clock jump', 3, [0, 0], oneOf(all), whole(-HOUR_MS, HOUR_MS)),
    kind('switchover', 5, [0, 0], oneOf(regions), whole(0, configuration.partitionSets)),
    kind('failover', 2, [0, 0], oneOf(regions), whole(0, configuration.partitionSets)),
  ];
}

/** 1: clients reach the regions as before, 0: they do not either. */
const clientsReach: Strength = (random) => random.integer(2);

function oneOf(names: readonly string[]): Targets {
  return (random) => (names.length === 0 ? [] : [names[random.integer(names.length)]!]);
}

function two(names: readonly string[]): Targets {
  return (random) => {
    const first = random.integer(names.length);
    const other = (first + 1 + random.integer(names.length - 1)) % names.length;
    return [names[first]!, names[other]!].sort();
  };
}

/** Some, and not all of them. */
function someOf(names: readonly string[]): Targets {
  return (random) => {
    const left = [...names];
    const count = 1 + random.integer(Math.max(1, Math.floor(names.length / 2)));
    return Array.from({ length: count }, () => left.splice(random.integer(left.length), 1)[0]!).sort();
  };
}

/** Mostly one; sometimes all at once, as when the power goes. */
function oneOrMore(names: readonly string[]): Targets {
  const one = oneOf(names);
  const some = someOrAll(names);
  return (random) => (random.uniform() < 0.7 ? one(random) : some(random));
}

function someOrAll(names: readonly string[]): Targets {
  const some = someOf(names);
  return (random) => (random.uniform() < 0.4 ? names : some(random));
}

function share(low: number, high: number): Strength {
  return (random: Random) => Math.round(random.between(low, high) * 100) / 100;
}

function whole(low: number, high: number): Strength {
  return (random: Random) => Math.floor(random.between(low, high));
}
