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
const DNS = 53;

/** The addresses of one run, in the order of the shape. */
export interface Ground {
  /** Of node `column` of region `region`. */
  readonly nodes: readonly (readonly { readonly listen: Address; readonly http: Address }[])[];
  readonly acceptors: readonly Address[];
  readonly dns: Address;
}

type PortOf = (offset: number) => number;

export function groundFrom(base: number, shape: Shape): Ground {
  const highest = base + ACCEPTORS + Math.max(MOST_ACCEPTORS, MOST_NODES);
  if (!Number.isInteger(base) || base < 1 || highest > 65_535)
    throw new LocalClusterError('OPTIONS_INVALID', `The port base is from 1 to 65285, not ${base}.`);
  return layOut(shape, (offset) => base + offset);
}

export async function freeGround(shape: Shape): Promise<Ground> {
  const ports = new Map<number, number>();
  const collect = (offset: number): number => ports.set(offset, 0).size;
  layOut(shape, collect);
  for (const offset of ports.keys()) ports.set(offset, await freePort());
  return layOut(shape, (offset) => ports.get(offset)!);
}

export interface Hosts {
  readonly regions: readonly string[];
  readonly acceptors: readonly string[];
}

export function layOut(shape: Shape, port: PortOf, hosts?: Hosts): Ground {
  const { regions, nodesPerRegion, acceptors } = shape;
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
    dns: { host: LOOPBACK, port: port(DNS) },
  };
}
