/** Where the processes of a local cluster listen: on loopback from a base port, on free ports, or each place at an address of its own. */
import type { Address } from '../../transport/index.ts';
import { LocalClusterError } from './errors.ts';
import { freePort } from './free-port.ts';
import { MOST_ACCEPTORS, MOST_NODES, type Shape } from './shape.ts';

/** Below the range from which systems give out ports by themselves. */
export const DEFAULT_PORT_BASE = 4100;

const LOOPBACK = '127.0.0.1';
const HTTP = 100;
const ACCEPTORS = 200;
const GATEWAYS = 300;
const GATEWAYS_HTTP = 400;
const DNS = 53;

/** The addresses of one run, in the order of the shape. */
export interface Ground {
  /** Of node `column` of region `region`. */
  readonly nodes: readonly (readonly { readonly listen: Address; readonly http: Address }[])[];
  readonly acceptors: readonly Address[];
  /** The global one first, then one for each region; none if they are not wanted. */
  readonly gateways: readonly Door[];
  readonly dns: Address;
}

export interface Door {
  readonly region?: string;
  readonly listen: Address;
  readonly http: Address;
}

type PortOf = (offset: number) => number;

export function groundFrom(base: number, shape: Shape, options: GroundOptions = {}): Ground {
  const highest = base + GATEWAYS_HTTP + Math.max(MOST_ACCEPTORS, MOST_NODES);
  if (!Number.isInteger(base) || base < 1 || highest > 65_535)
    throw new LocalClusterError('OPTIONS_INVALID', `The port base must be from 1 to 65085, not ${base}.`);
  return layOut(shape, (offset) => base + offset, options);
}

export async function freeGround(shape: Shape, options: GroundOptions = {}): Promise<Ground> {
  const ports = new Map<number, number>();
  const collect = (offset: number): number => ports.set(offset, 0).size;
  layOut(shape, collect, options);
  for (const offset of ports.keys()) ports.set(offset, await freePort());
  return layOut(shape, (offset) => ports.get(offset)!, options);
}

export interface Hosts {
  readonly regions: readonly string[];
  readonly acceptors: readonly string[];
}

export interface GroundOptions {
  readonly gateways?: boolean;
  readonly hosts?: Hosts;
}

export function layOut(shape: Shape, port: PortOf, { gateways, hosts }: GroundOptions = {}): Ground {
  const { regions, nodesPerRegion, acceptors } = shape;
  /** That of a region is in its network, the global one outside of all. */
  const doorAt = (region: string | undefined, number: number): Door => {
    const host = hosts?.regions[number - 1] ?? LOOPBACK;
    return {
      ...(region !== undefined && { region }),
      listen: { host, port: port(GATEWAYS + number) },
      http: { host, port: port(GATEWAYS_HTTP + number) },
    };
  };
  return {
    nodes: regions.map((_, region) =>
      Array.from({ length: nodesPerRegion }, (__, column) => {
        const number = region * nodesPerRegion + column + 1;
        const host = hosts?.regions[region] ?? LOOPBACK;
        return { listen: { host, port: port(number) }, http: { host, port: port(HTTP + number) } };
      }),
    ),
    acceptors: Array.from({ length: acceptors }, (_, at) => ({
      host: hosts?.acceptors[at] ?? LOOPBACK,
      port: port(ACCEPTORS + at + 1),
    })),
    gateways: gateways === true ? [undefined, ...regions].map(doorAt) : [],
    dns: { host: LOOPBACK, port: port(DNS) },
  };
}
