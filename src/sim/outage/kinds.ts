/**
 * The kinds of outage, each as what happens to one partition-set. The preferred region is `r0`; a region that loses power
 * takes the acceptor that stands in it along.
 */
import type { Random } from '../core/index.ts';
import type { OutageEvent, Topology } from './topology.ts';

export interface OutageWindow {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly intervalMs: number;
}

interface Kind {
  /** For the help and the table. */
  readonly what: string;
  events(window: OutageWindow, topology: Topology, random: Random): readonly OutageEvent[];
}

const SHARE = 0.1;
const NODES = 16;
const SLOW_FACTOR = 20;
const CASCADE_AFTER_MS = 20_000;
const FLAPS = 6;

export const OUTAGE_KINDS = {
  region: {
    what: 'the preferred region loses power',
    events: (window, topology) => power(window, topology, 0),
  },
  node: {
    what: `one of ${NODES} nodes of the preferred region loses power`,
    events: (window, _, random) => (random.uniform() < 1 / NODES ? restart(window, 0) : []),
  },
  partitions: {
    what: `a tenth of the partitions of the preferred region fail`,
    events: (window, _, random) => (random.uniform() < SHARE ? restart(window, 0) : []),
  },
  partition: {
    what: 'the preferred region is cut off from everything',
    events: (window, topology) =>
      cuts(window, [...acceptorLinks(topology), ...regionLinks(topology)], 'both'),
  },
  'one-way': {
    what: 'nothing that the preferred region sends arrives',
    events: (window, topology) => cuts(window, [...acceptorLinks(topology), ...regionLinks(topology)], 'out'),
  },
  'no-acceptors': {
    what: 'the preferred region is cut off from the acceptors only',
    events: (window, topology) => cuts(window, acceptorLinks(topology), 'both'),
  },
  'no-regions': {
    what: 'the preferred region is cut off from the other regions only',
    events: (window, topology) => cuts(window, regionLinks(topology), 'both'),
  },
  slow: {
    what: `everything to and from the preferred region takes ${SLOW_FACTOR} times as long`,
    events: ({ fromMs, untilMs }) => [
      { atMs: fromMs, what: 'slow', region: 0, factor: SLOW_FACTOR },
      { atMs: untilMs, what: 'slow', region: 0, factor: 1 },
    ],
  },
  'acceptors-minority': {
    what: 'the largest minority of the acceptors is lost',
    events: (window, { acceptors }) => acceptorsDown(window, Math.floor((acceptors.length - 1) / 2)),
  },
  'acceptors-majority': {
    what: 'the smallest majority of the acceptors is lost',
    events: (window, { acceptors }) => acceptorsDown(window, Math.floor(acceptors.length / 2) + 1),
  },
  cascade: {
    what: 'the preferred region loses power, and the second one during the failover',
    events: (window, topology) => [
      ...power(window, topology, 0),
      ...power({ ...window, fromMs: window.fromMs + CASCADE_AFTER_MS }, topology, 1),
    ],
  },
  flapping: { what: 'the preferred region loses power again and again', events: flapping },
} as const satisfies Record<string, Kind>;

export type OutageKind = keyof typeof OUTAGE_KINDS;

export const OUTAGE_KIND_NAMES = Object.keys(OUTAGE_KINDS) as readonly OutageKind[];

export function eventsOf(
  kind: OutageKind,
  window: OutageWindow,
  topology: Topology,
  random: Random,
): readonly OutageEvent[] {
  return (OUTAGE_KINDS[kind] as Kind).events(window, topology, random);
}

function restart({ fromMs, untilMs, intervalMs }: OutageWindow, region: number): readonly OutageEvent[] {
  return [
    { atMs: fromMs, what: 'region down', region },
    { atMs: untilMs, what: 'region up', region, withinMs: intervalMs },
  ];
}

function power(window: OutageWindow, topology: Topology, region: number): readonly OutageEvent[] {
  const acceptor = topology.acceptors.indexOf(topology.regions[region]!);
  const withAcceptor: readonly OutageEvent[] =
    acceptor < 0
      ? []
      : [
          { atMs: window.fromMs, what: 'acceptor down', acceptor },
          { atMs: window.untilMs, what: 'acceptor up', acceptor },
        ];
  return [...restart(window, region), ...withAcceptor];
}

function acceptorsDown({ fromMs, untilMs }: OutageWindow, count: number): readonly OutageEvent[] {
  return Array.from({ length: count }, (_, acceptor): OutageEvent[] => [
    { atMs: fromMs, what: 'acceptor down', acceptor },
    { atMs: untilMs, what: 'acceptor up', acceptor },
  ]).flat();
}

function acceptorLinks({ acceptors }: Topology): readonly string[] {
  return acceptors.map((_, index) => `a${index}`);
}

function regionLinks({ regions }: Topology): readonly string[] {
  return regions.slice(1).map((_, index) => `r${index + 1}`);
}

function cuts(
  { fromMs, untilMs }: OutageWindow,
  others: readonly string[],
  which: 'both' | 'out',
): readonly OutageEvent[] {
  return others.flatMap((other) => {
    const pairs = [['r0', other], ...(which === 'both' ? [[other, 'r0']] : [])] as const;
    return pairs.flatMap(([from, to]): OutageEvent[] => [
      { atMs: fromMs, what: 'cut', from, to },
      { atMs: untilMs, what: 'heal', from, to },
    ]);
  });
}

function flapping(window: OutageWindow, topology: Topology): readonly OutageEvent[] {
  const { intervalMs } = window;
  return flapsOf(window).flatMap((flap) => power({ ...flap, intervalMs }, topology, 0));
}

/** When a flapping region is down: for as long as a failover takes, and up in between for as long as a failback does. */
export function flapsOf({
  fromMs,
  untilMs,
}: Omit<OutageWindow, 'intervalMs'>): readonly Omit<OutageWindow, 'intervalMs'>[] {
  const period = (untilMs - fromMs) / FLAPS;
  return Array.from({ length: FLAPS }, (_, index) => {
    const start = fromMs + index * period;
    return { fromMs: start, untilMs: start + period / 3 };
  });
}
