/**
 * Who is let in. A node must be the peer that the cluster's file names; with mutual TLS its certificate must carry its name, so
 * that a certificate that was made for a client does not make a node of it. Nodes and clients have a token each, and
 * neither opens the other's door.
 */
import type { RegionName } from '../../engine/index.ts';
import type { Caller } from '../../transport/index.ts';
import { isSame } from '../http/index.ts';

export interface RpcTokens {
  readonly node?: string | undefined;
  readonly client?: string | undefined;
}

export interface DoorOptions {
  /** Asked anew for every caller. */
  readonly tokens: () => RpcTokens;
  readonly isMutual: boolean;
  readonly peers: ReadonlyMap<RegionName, { readonly node: string }>;
}

/** A sentence that says why this caller is not let in. */
export function complaintAbout(
  { role, node, region, certificate }: Caller,
  shown: string,
  { tokens, isMutual, peers }: DoorOptions,
): string | undefined {
  const expected = tokens()[role];
  if (expected !== undefined && !isSame(shown, expected)) return `The token is not the one for a ${role}.`;
  if (role !== 'node') return undefined;
  if (peers.get(region)?.node !== node) return `Node ${node} of region ${region} is no peer of this node.`;
  if (isMutual && certificate !== node) return `The certificate is not that of node ${node}.`;
  return undefined;
}
