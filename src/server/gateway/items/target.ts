/** The container that a request is for: what it is called in each of the languages that are spoken here, and its ranges. */
import {
  type ContainerSettings,
  epkOf,
  epkRanges,
  type EpkRange,
  type ItemNames,
  itemNames,
  type PartitionKey,
  rangeContains,
} from '../../../engine/index.ts';
import { type ContainerEntry, partitionSetName, ridOf, sdkNameOf } from '../../catalog/index.ts';
import { GatewayError } from '../errors.ts';
import type { Found } from '../lookup.ts';

/** A partition-set, and what clients of this API call its range. */
export interface ItemRange extends EpkRange {
  readonly id: string;
  readonly partitionSet: string;
}

export interface Target {
  /** For the partition client. */
  readonly name: string;
  /** For the throttle. */
  readonly number: number;
  readonly rid: string;
  readonly names: ItemNames;
  readonly settings: ContainerSettings;
  /** In order, without gaps. */
  readonly ranges: readonly ItemRange[];
}

/** Of an entry of the catalogue, which is never changed, only replaced. */
const targets = new WeakMap<ContainerEntry, Target>();

export function targetOf(found: Found): Target {
  let target = targets.get(found.container);
  if (target === undefined) {
    target = made(found);
    targets.set(found.container, target);
  }
  return target;
}

function made({ catalog, database, container }: Found): Target {
  const rid = ridOf(database, container);
  return {
    name: sdkNameOf(catalog, container),
    number: container.number,
    rid,
    names: itemNames(rid),
    settings: { partitionKeyPaths: container.partitionKey },
    ranges: rangesOf(container),
  };
}

function rangesOf(container: ContainerEntry): readonly ItemRange[] {
  return epkRanges(container.partitionSets).map((range, index) => ({
    ...range,
    id: String(container.firstRange + index),
    partitionSet: partitionSetName(container, index),
  }));
}

export function rangeOfKey({ ranges }: Target, key: PartitionKey): ItemRange {
  const epk = epkOf(key);
  return ranges.find((range) => rangeContains(range, epk))!;
}

const RANGE_IS_GONE = 1002;

/** Throws 410: the client looks at the ranges again, and comes back. They are never given twice in an account. */
export function rangeNamed({ ranges }: Target, id: string): ItemRange {
  const range = ranges.find((one) => one.id === id);
  if (range !== undefined) return range;
  throw new GatewayError(410, RANGE_IS_GONE, 'Gone', `The container has no range ${id.slice(0, 40)}.`);
}
