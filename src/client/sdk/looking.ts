/** Asking nodes how things stand, beside the operations: every node can be had to look at the catalogue (`look`). */
import { RpcError } from '../../transport/index.ts';
import { METHODS } from '../wire/client-wire.ts';
import { decodeLookAnswer, encodeLook, type NodeLook, type Writable } from '../wire/look-wire.ts';
import type { Links } from './links.ts';
import { decoded } from './running.ts';
import type { Topology } from './topology.ts';

/** How a node sees the account's catalogue, after a look at it. */
export interface Looked {
  readonly node: string;
  readonly region: string;
  /** Of the catalogue that it knows. */
  readonly version: number;
  /** Of the partition-sets that were asked for, those that may be written there now. */
  readonly canWrite: readonly Writable[];
}

/** The node answers when its time is over: its answer needs a moment more. */
const SLACK_MS = 250;

export interface LookingOptions {
  readonly links: Links;
  readonly topology: Topology;
  readonly signal: AbortSignal;
}

/** Every node; who does not answer is left out. */
export async function lookEverywhere(call: NodeLook, options: LookingOptions): Promise<readonly Looked[]> {
  const patienceMs = call.timeoutMs + SLACK_MS;
  const looks = options.topology.map.regions.flatMap(({ name: region, nodes }) =>
    nodes.map((_, column) => look({ region, column }, call, { ...options, patienceMs })),
  );
  return (await Promise.all(looks)).filter((looked) => looked !== undefined);
}

/** One node; undefined: it does not answer. */
export async function look(
  { region, column }: { readonly region: string; readonly column: number },
  call: NodeLook,
  { links, topology, signal, patienceMs }: LookingOptions & { readonly patienceMs: number },
): Promise<Looked | undefined> {
  const place = topology.node(region, column);
  if (place === undefined) return undefined;
  const options = { timeoutMs: patienceMs, signal, onSending: () => {} };
  try {
    const answer = await links.to(place.address).call(METHODS.look, encodeLook(call), options);
    return { node: place.name, region, ...decoded(decodeLookAnswer, answer) };
  } catch (error) {
    if (error instanceof RpcError) return undefined;
    throw error;
  }
}
