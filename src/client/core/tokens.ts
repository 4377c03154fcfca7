/**
 * Places in many partition-sets as one string that users keep, send about and hand back: session tokens and the continuations of
 * feeds. `s1,items-00:c0000:1f,items-01:c0000:4,1x9k2j`: what it is and its version, the places, and a check sum, so that a
 * string that was cut short is refused instead of being taken for a session that saw less.
 *
 * Nothing in it is secret, and nothing in it is trusted: a made-up token can only make its owner wait or begin anew.
 */

export type TokenKind = 's' | 'f';

/** A name and its numbers. */
export interface Place {
  readonly partitionSet: string;
  readonly numbers: readonly number[];
}

export type ParsedToken =
  | { readonly ok: true; readonly places: readonly Place[] }
  | { readonly ok: false; readonly code: 'TOKEN_INVALID' | 'TOKEN_NEWER' };

const VERSION = 1;
const RADIX = 36;
/** Far more than a token of ten thousand partition-sets has. */
const LONGEST = 1_000_000;

/** In order of the names, so that equal places make equal tokens. */
export function formatToken(kind: TokenKind, places: readonly Place[]): string {
  const ordered = places.toSorted((a, b) => (a.partitionSet < b.partitionSet ? -1 : 1));
  const parts = ordered.map(({ partitionSet, numbers }) =>
    [encodeURIComponent(partitionSet), ...numbers.map((number) => number.toString(RADIX))].join(':'),
  );
  const text = [`${kind}${VERSION}`, ...parts].join(',');
  return `${text},${checkSum(text)}`;
}

export function parseToken(kind: TokenKind, token: string): ParsedToken {
  const invalid = { ok: false, code: 'TOKEN_INVALID' } as const;
  const version = /^([sf])([1-9][0-9]{0,5}),/.exec(token);
  if (token.length > LONGEST || version?.[1] !== kind) return invalid;
  if (Number(version[2]) > VERSION) return { ok: false, code: 'TOKEN_NEWER' };
  const end = token.lastIndexOf(',');
  if (token.slice(end + 1) !== checkSum(token.slice(0, end))) return invalid;
  const places: Place[] = [];
  const seen = new Set<string>();
  for (const part of token.slice(0, end).split(',').slice(1)) {
    const place = placeIn(part);
    if (place === undefined || seen.has(place.partitionSet)) return invalid;
    seen.add(place.partitionSet);
    places.push(place);
  }
  return { ok: true, places };
}

function placeIn(part: string): Place | undefined {
  const [name = '', ...texts] = part.split(':');
  const numbers = texts.map((text) => (/^[0-9a-z]{1,11}$/.test(text) ? parseInt(text, RADIX) : NaN));
  if (!numbers.every((number) => Number.isSafeInteger(number))) return undefined;
  try {
    const partitionSet = decodeURIComponent(name);
    return partitionSet === '' ? undefined : { partitionSet, numbers };
  } catch {
    return undefined;
  }
}

/** FNV-1a, 32 bits: against accidents, not against people. */
function checkSum(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return (hash >>> 0).toString(RADIX);
}
