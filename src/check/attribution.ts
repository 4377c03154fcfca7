/**
 * Who made the versions that no acknowledged change claims? Each needs a change of unknown outcome of its own: one
 * that can have come so late (its version must exceed its floor, the highest version that was known when it started)
 * and whose value is the one that was seen, unless the version's value was never seen or the change's is not known.
 *
 * This is a matching of versions to changes, and going through the versions upwards makes it a simple one: a change
 * once available stays so, and of the available ones only the values differ. Three rules leave the most for later:
 *
 * - A version of known value takes a change of that value, and of those the one that became available last. (Opening
 *   and closing brackets, one kind for each value: that is how the reservations are made, ahead of the sweep.)
 * - A version of unseen value takes, of the changes of known value, the one whose reservation is for the highest
 *   version, best of all one with no reservation. A version that loses its reservation is left uncovered.
 * - Changes of unknown value fit everywhere, so they come last: for uncovered versions, and where nothing else is left.
 *
 * Each rule exchanges a change for one that can do no less later on, so a version that finds nothing proves that no
 * matching exists: the answer is exact, for repeated values too.
 */
import { must } from '../protocol/index.ts';

export interface UnknownChange {
  /** It can only have made versions above this one. */
  readonly floor: number;
  readonly value: string | undefined;
}

export interface VersionsToExplain {
  readonly highest: number;
  isClaimed(version: number): boolean;
  /** The values that were seen, of versions that are not claimed. */
  readonly observed: ReadonlyMap<number, string>;
}

/** The lowest version at which the matching fails; undefined if every version can be explained. */
export function firstUnattributed(
  changes: readonly UnknownChange[],
  versions: VersionsToExplain,
): number | undefined {
  const byFloor = changes.toSorted((a, b) => a.floor - b.floor);
  const { reservedFor, uncovered } = reserve(byFloor, versions.observed);
  const reservations = new MaxHeap();
  let ofUnknownValue = 0;
  let next = 0;
  // Every version is claimed or uses up a change, so this ends early however high the highest version is.
  for (let version = 1; version <= versions.highest; version += 1) {
    if (versions.isClaimed(version)) continue;
    for (; next < byFloor.length && byFloor[next]!.floor < version; next += 1) {
      if (byFloor[next]!.value === undefined) ofUnknownValue += 1;
      else reservations.push(must(reservedFor[next]));
    }
    if (versions.observed.has(version)) {
      if (!uncovered.has(version)) continue;
    } else if (reservations.max > version) {
      uncovered.add(reservations.pop());
      continue;
    }
    if (ofUnknownValue === 0) return version;
    ofUnknownValue -= 1;
  }
  return undefined;
}

/** For each change the version it is kept for (infinite if none), and the observed versions that got no change. */
function reserve(
  byFloor: readonly UnknownChange[],
  observed: ReadonlyMap<number, string>,
): { reservedFor: readonly number[]; uncovered: Set<number> } {
  const reservedFor = byFloor.map(() => Infinity);
  const uncovered = new Set<number>();
  const availableOfValue = new Map<string, number[]>();
  let next = 0;
  for (const [version, value] of [...observed].sort(([a], [b]) => a - b)) {
    for (; next < byFloor.length && byFloor[next]!.floor < version; next += 1) {
      const ofChange = byFloor[next]!.value;
      if (ofChange === undefined) continue;
      const available = availableOfValue.get(ofChange);
      if (available === undefined) availableOfValue.set(ofChange, [next]);
      else available.push(next);
    }
    const latest = availableOfValue.get(value)?.pop();
    if (latest === undefined) uncovered.add(version);
    else reservedFor[latest] = version;
  }
  return { reservedFor, uncovered };
}

/** A binary heap of numbers, the largest on top. */
class MaxHeap {
  readonly #items: number[] = [];

  /** Minus infinity when empty. */
  get max(): number {
    return this.#items[0] ?? -Infinity;
  }

  push(item: number): void {
    const items = this.#items;
    let at = items.length;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (items[parent]! >= item) break;
      items[at] = items[parent]!;
      at = parent;
    }
    items[at] = item;
  }

  pop(): number {
    const items = this.#items;
    const top = must(items[0]);
    const item = must(items.pop());
    if (items.length === 0) return top;
    let at = 0;
    for (let child = 1; child < items.length; child = 2 * at + 1) {
      if (child + 1 < items.length && items[child + 1]! > items[child]!) child += 1;
      if (items[child]! <= item) break;
      items[at] = items[child]!;
      at = child;
    }
    items[at] = item;
    return top;
  }
}
