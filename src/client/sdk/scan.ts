/** Reading a container through: its partition-sets one after the other, a page at a time, and never more than a page ahead. */
import { type DocumentKey, epkOf, formatPartitionKey, type ReadLevel } from '../../engine/index.ts';
import type { NodeScanAnswer } from '../wire/scan-wire.ts';
import { documentIn, keyOf, rangeOfKey, type Stored } from './documents.ts';
import type { Executor, Request } from './executor.ts';
import { hedgeOf, type ReadOptions } from './options.ts';
import { scanRequest } from './requests.ts';
import type { Session } from './session.ts';
import type { ContainerPlace, PlacedRange } from './topology.ts';

/** `timeoutMs` is for each page. */
export interface ReadAllOptions extends ReadOptions {
  /** How many documents are fetched at a time. */
  readonly pageSize?: number | undefined;
}

const PAGE_SIZE = 100;
const PAGE_BYTES = 1024 * 1024;
interface Stretch {
  readonly from: string;
  readonly to: string;
  /** Documents of other keys that have the same hash are left out. */
  readonly partitionKey: string | undefined;
}

export async function* scanContainer<T>(
  executor: Executor,
  name: string,
  session: Session,
  options: ReadAllOptions,
): AsyncGenerator<Stored<T>, void, undefined> {
  const container = await executor.container(name, executor.deadlineOf(options.timeoutMs));
  for (const [range, stretch] of stretchesOf(container, options)) {
    let after: DocumentKey | undefined;
    for (;;) {
      const level = options.consistency ?? executor.topology.map.account.consistency;
      const page = { range, stretch, after, name, level, session, options };
      const { answer } = await executor.execute(pageOf(page));
      for (const version of answer.versions) {
        if (version.body === undefined) continue;
        if (stretch.partitionKey !== undefined && version.partitionKey !== stretch.partitionKey) continue;
        yield documentIn<T>({ ...version, body: version.body }, container);
      }
      const last = answer.versions.at(-1);
      if (!answer.hasMore || last === undefined) break;
      after = { epk: last.epk, id: last.id };
    }
  }
}

function stretchesOf(
  container: ContainerPlace,
  { partitionKey }: ReadAllOptions,
): readonly (readonly [PlacedRange, Stretch])[] {
  if (partitionKey === undefined)
    return container.ranges.map((range) => [
      range,
      { from: range.min, to: range.max, partitionKey: undefined },
    ]);
  const key = keyOf(partitionKey);
  const epk = epkOf(key);
  return [
    [rangeOfKey(key, container), { from: epk, to: nextAfter(epk), partitionKey: formatPartitionKey(key) }],
  ];
}

/** The two highest bits of a hash are clear: there is always a next one. */
function nextAfter(epk: string): string {
  return (BigInt(`0x${epk}`) + 1n).toString(16).padStart(epk.length, '0').toUpperCase();
}

interface Page {
  readonly range: PlacedRange;
  readonly stretch: Stretch;
  readonly after: DocumentKey | undefined;
  readonly name: string;
  readonly level: ReadLevel;
  readonly session: Session;
  readonly options: ReadAllOptions;
}

function pageOf(page: Page): Request<NodeScanAnswer> {
  const { range, stretch, after, name, level, session, options } = page;
  const { from, to } = stretch;
  return scanRequest({
    name: 'readAll',
    container: name,
    rangeAt: () => range,
    page: { from, to, after, limit: options.pageSize ?? PAGE_SIZE, maxBytes: PAGE_BYTES },
    level,
    seenIn: session.seenAt(level),
    hedge: hedgeOf(options.hedge),
    session,
    timeoutMs: options.timeoutMs,
    signal: options.signal,
  });
}
