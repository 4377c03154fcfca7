/**
 * The network as a function: what becomes of one message from one place to another. Faults are small wrappers, each of
 * which takes a link and gives a link, so they compose:
 *
 *   losing(straggling(plain, { share: 0.1, extraMs: 500, random }), { share: 0.02, random })
 *
 * `when` narrows a fault to some pairs or to a window of time; it is asked at the moment of sending.
 */
import type { LatencyModel } from './latency.ts';
import type { Random } from './random.ts';

/** After how long each copy of the message arrives, in milliseconds. None: it is lost. */
export type Link = (from: number, to: number) => readonly number[];

export type WhenLink = (from: number, to: number) => boolean;

export interface LinkFault {
  /** How many of the messages it meets, 0 .. 1. */
  readonly share: number;
  readonly random: Random;
  readonly when?: WhenLink;
  /** Told of every message that it meets. */
  readonly onMeet?: (from: number, to: number) => void;
}

/** Every message arrives once, after a time of the model's. */
export function plainLink(model: LatencyModel, places: number, random: Random): Link {
  const typicalMs = model.pairs(places, places, random);
  return (from, to) => [from === to ? 0 : model.message(typicalMs[from * places + to]!, random)];
}

export function losing(link: Link, fault: LinkFault): Link {
  return (from, to) => (meets(fault, from, to) ? [] : link(from, to));
}

/** A second copy arrives on its own time. */
export function duplicating(link: Link, fault: LinkFault): Link {
  return (from, to) => (meets(fault, from, to) ? [...link(from, to), ...link(from, to)] : link(from, to));
}

/** Some messages take much longer, so that later ones overtake them. */
export function straggling(link: Link, fault: LinkFault & { readonly extraMs: number }): Link {
  return (from, to) => {
    const delays = link(from, to);
    if (!meets(fault, from, to)) return delays;
    return delays.map((ms) => ms + fault.random.uniform() * fault.extraMs);
  };
}

/** Nothing passes where `isCut` says so; asked for each direction by itself. */
export function cutting(link: Link, isCut: WhenLink): Link {
  return (from, to) => (isCut(from, to) ? [] : link(from, to));
}

function meets({ share, random, when, onMeet }: LinkFault, from: number, to: number): boolean {
  if (when !== undefined && !when(from, to)) return false;
  if (random.uniform() >= share) return false;
  onMeet?.(from, to);
  return true;
}
