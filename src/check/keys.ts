/**
 * Comparing two sets of canonical states: by one hash when they ought to be equal, and by a few examples of each
 * side when they turn out not to be. The hash of a set is the sum, lane by lane, of the 128-bit hashes of its keys,
 * so neither the order of discovery nor a sort comes into it. It guards against accidents, not against malice.
 */

const LANES = [1779033703, 3144134277, 1013904242, 2773480762] as const;

/** 32 hexadecimal digits, the same on every machine for the same set of keys. Repeated keys are not told apart. */
export function hashOfKeys(keys: Iterable<string>): string {
  const set = keys instanceof Set ? (keys as ReadonlySet<string>) : new Set(keys);
  const sum = new Uint32Array(4);
  const hash = new Uint32Array(4);
  for (const key of set) {
    hashOfKey(key, hash);
    for (let lane = 0; lane < 4; lane += 1) sum[lane]! += hash[lane]!;
  }
  return [...sum].map((lane) => lane.toString(16).padStart(8, '0')).join('');
}

/** Four lanes of multiply and xor that feed one another, with a closing round that spreads the last characters. */
function hashOfKey(key: string, into: Uint32Array): void {
  let [a, b, c, d] = LANES as readonly [number, number, number, number];
  for (let index = 0; index < key.length; index += 1) {
    const unit = key.charCodeAt(index);
    a = b ^ Math.imul(a ^ unit, 597399067);
    b = c ^ Math.imul(b ^ unit, 2869860233);
    c = d ^ Math.imul(c ^ unit, 951274213);
    d = a ^ Math.imul(d ^ unit, 2716044179);
  }
  a = Math.imul(c ^ (a >>> 18), 597399067);
  b = Math.imul(d ^ (b >>> 22), 2869860233);
  c = Math.imul(a ^ (c >>> 17), 951274213);
  d = Math.imul(b ^ (d >>> 19), 2716044179);
  into[0] = a ^ b ^ c ^ d;
  into[1] = b ^ a;
  into[2] = c ^ a;
  into[3] = d ^ a;
}

export interface KeysOfOneSide {
  readonly count: number;
  /** The first few in sorted order. */
  readonly examples: readonly string[];
}

export interface KeyDifference {
  readonly onlyLeft: KeysOfOneSide;
  readonly onlyRight: KeysOfOneSide;
}

export function differenceOfKeys(
  left: ReadonlySet<string>,
  right: ReadonlySet<string>,
  examples = 3,
): KeyDifference {
  return { onlyLeft: without(left, right, examples), onlyRight: without(right, left, examples) };
}

function without(side: ReadonlySet<string>, other: ReadonlySet<string>, examples: number): KeysOfOneSide {
  const missing = [...side].filter((key) => !other.has(key)).sort();
  return { count: missing.length, examples: missing.slice(0, examples) };
}

/** For error messages; empty when the sets are equal. */
export function formatDifference(difference: KeyDifference, leftName: string, rightName: string): string {
  const sides = [
    { name: leftName, ...difference.onlyLeft },
    { name: rightName, ...difference.onlyRight },
  ];
  return sides
    .filter(({ count }) => count > 0)
    .map(({ name, count, examples }) => `only in ${name}: ${count}, such as\n  ${examples.join('\n  ')}`)
    .join('\n');
}
