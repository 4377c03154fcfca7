/**
 * All items, page by page: of a container, of a range, of a part of a range, of one partition key. The ranges are gone through in
 * order with one continuation, which names a range and the last item that was shown. Both mean the same in every region, so a
 * partition-set may move between two pages. Each page of a range is as it was at one moment.
 *
 * A page is bounded by items, by bytes, and by how many ranges are asked for it: an empty page with a continuation is a page.
 */
import type { PartitionPage } from '../../../client/index.ts';
import {
  type DocumentKey,
  epkOf,
  formatPartitionKey,
  type PartitionKey,
  type Position,
  type Version,
} from '../../../engine/index.ts';
import type { GatewayAnswer } from '../context.ts';
import { badRequest, unavailable } from '../errors.ts';
import { headerOf, integerOf } from '../headers.ts';
import {
  type Call,
  isReadable,
  ownerHeaders,
  pay,
  payRest,
  type ReadableVersion,
  shownIn,
  timeLeft,
  unitsOf,
} from './answers.ts';
import { type Continuation, formatContinuation, parseContinuation } from './continuation.ts';
import { keyIn } from './keys.ts';
import { inSession } from './partitions.ts';
import { type Reading, readingOf, sessionToken } from './session.ts';
import { type ItemRange, rangeNamed, rangeOfKey } from './target.ts';

const PAGE_ITEMS = 100;
const MOST_ITEMS = 1000;
const PAGE_BYTES = 1024 * 1024;
const MOST_RANGES = 32;

/** What is looked at of one range. */
export interface Stretch {
  readonly range: ItemRange;
  readonly from: string;
  readonly to: string;
}

/** What a request for many items is for. */
export interface Extent {
  /** In order; at least one. */
  readonly stretches: readonly Stretch[];
  /** Only items of this key: another may have the same hash. */
  readonly partitionKey: string | undefined;
}

/** Throws 400 or 410. */
export function extentOf({ request, target }: Call): Extent {
  const { headers } = request;
  const key = keyIn(request, target);
  if (key !== undefined) return extentOfKey(key, rangeOfKey(target, key));
  const id = headerOf(headers, 'x-ms-documentdb-partitionkeyrangeid');
  const ranges = id === undefined ? target.ranges : [rangeNamed(target, id)];
  const from = epkIn(headers['x-ms-start-epk'], '');
  const to = epkIn(headers['x-ms-end-epk'], 'FF');
  const stretches = ranges
    .map((range) => ({
      range,
      from: from > range.min ? from : range.min,
      to: to < range.max ? to : range.max,
    }))
    .filter((stretch) => stretch.from < stretch.to);
  if (stretches.length === 0) throw badRequest('The request is for an empty range of partition keys.');
  return { stretches, partitionKey: undefined };
}

function extentOfKey(key: PartitionKey, range: ItemRange): Extent {
  const from = epkOf(key);
  return { stretches: [{ range, from, to: nextAfter(from) }], partitionKey: formatPartitionKey(key) };
}

/** The two highest bits of a hash are clear: there is always a next one. */
function nextAfter(epk: string): string {
  return (BigInt(`0x${epk}`) + 1n).toString(16).padStart(epk.length, '0').toUpperCase();
}

function epkIn(header: string | string[] | undefined, otherwise: string): string {
  if (typeof header !== 'string' || header === '') return otherwise;
  if (!/^[0-9A-Fa-f]{1,32}$/.test(header))
    throw badRequest('The bounds of a range of partition keys must be up to 32 hexadecimal digits.');
  return header.toUpperCase();
}

export function isWithin({ epk }: DocumentKey, { from, to }: Stretch): boolean {
  return from <= epk && epk < to;
}

/** How many items a page may have; -1 leaves it to us. */
export function limitIn({ request }: Call): number {
  const asked = integerOf(request.headers, 'x-ms-max-item-count');
  if (asked === undefined) return PAGE_ITEMS;
  if (asked === -1) return MOST_ITEMS;
  if (asked < 1) throw badRequest('The header x-ms-max-item-count must be -1 or at least 1.');
  return Math.min(asked, MOST_ITEMS);
}

export async function readItems(call: Call): Promise<GatewayAnswer> {
  const { request, context } = call;
  const reading = readingOf(request, context);
  const extent = extentOf(call);
  const token = headerOf(request.headers, 'x-ms-continuation');
  const page = new Page(call, reading, extent, limitIn(call));
  page.begin(token === undefined ? undefined : parseContinuation(token, call.target));
  pay(call, 1);
  await page.fill();
  const charge = unitsOf('read', page.bytes);
  payRest(call, charge - 1);
  return { ...listOf(call, page.versions), headers: page.headers, charge };
}

class Page {
  readonly versions: ReadableVersion[] = [];
  bytes = 0;
  readonly #call: Call;
  readonly #reading: Reading;
  readonly #extent: Extent;
  readonly #limit: number;
  readonly #tokens = new Map<string, string>();
  /** The next stretch, and where in it. */
  #at = 0;
  #after: DocumentKey | undefined;

  constructor(call: Call, reading: Reading, extent: Extent, limit: number) {
    this.#call = call;
    this.#reading = reading;
    this.#extent = extent;
    this.#limit = limit;
  }

  /** Throws 400 for a continuation of another request. */
  begin(continuation: Continuation | undefined): void {
    if (continuation === undefined) return;
    this.#at = this.#extent.stretches.findIndex(({ range }) => range.id === continuation.rangeId);
    if (this.#at < 0) throw badRequest('The continuation belongs to another request.');
    this.#after = continuation.after;
  }

  async fill(): Promise<void> {
    const { stretches } = this.#extent;
    for (let asked = 0; asked < MOST_RANGES && this.#at < stretches.length; asked += 1) {
      const wanted = this.#limit - this.versions.length;
      if (wanted === 0 || this.bytes >= PAGE_BYTES) return;
      const hasMore = await this.#scan(stretches[this.#at]!, wanted);
      if (hasMore) continue;
      this.#at += 1;
      this.#after = undefined;
    }
  }

  /** Whether there may be more behind. */
  async #scan(stretch: Stretch, limit: number): Promise<boolean> {
    let page = await this.#scanned(stretch, limit);
    // All of these have outlived their time and are not deleted yet: behind which of them to go on, nobody says.
    if (page.versions.length === 0 && page.hasMore) page = await this.#scanned(stretch, MOST_ITEMS);
    if (page.versions.length === 0 && page.hasMore)
      throw unavailable('Many items of this range have just outlived their time; they are being deleted.');
    const { range } = stretch;
    this.#tokens.set(range.id, sessionToken(range, page.position));
    const taken = page.versions.slice(0, limit);
    for (const version of taken) this.#take(version);
    const last = taken.at(-1);
    if (last === undefined) return false;
    this.#after = { epk: last.epk, id: last.id };
    return page.hasMore || taken.length < page.versions.length;
  }

  #scanned({ range, from, to }: Stretch, limit: number): Promise<PartitionPage> {
    const call = this.#call;
    const { context, target, request } = call;
    return inSession(call, this.#reading, range, (session: Position | undefined, preferred?: string) =>
      context.partitions.scan({
        container: target.name,
        partitionSet: range.partitionSet,
        from,
        to,
        after: this.#after,
        limit,
        maxBytes: PAGE_BYTES - this.bytes,
        level: this.#reading.level,
        session,
        preferred,
        timeoutMs: timeLeft(call, 'read'),
        signal: request.signal,
      }),
    );
  }

  #take(version: Version): void {
    const { partitionKey } = this.#extent;
    if (!isReadable(version)) return;
    if (partitionKey !== undefined && version.partitionKey !== partitionKey) return;
    this.versions.push(version);
    this.bytes += version.body.length;
  }

  get headers(): Readonly<Record<string, string>> {
    const next = this.#extent.stretches[this.#at];
    return {
      ...ownerHeaders(this.#call),
      'x-ms-item-count': String(this.versions.length),
      ...(this.#tokens.size > 0 && { 'x-ms-session-token': [...this.#tokens.values()].join(',') }),
      ...(next !== undefined && {
        'x-ms-continuation': formatContinuation(this.#call.target, next.range, this.#after),
      }),
    };
  }
}

const COMMA = Buffer.from(',');

/** The list of a feed, item by item: so that it is put together as fast as its reader takes it. */
export function listOf(
  call: Call,
  versions: readonly ReadableVersion[],
  withLsn = false,
): Pick<GatewayAnswer, 'status' | 'body'> {
  async function* pieces(): AsyncGenerator<Uint8Array, void, undefined> {
    yield Buffer.from(`{"_rid":"${call.target.rid}","Documents":[`);
    for (const [at, version] of versions.entries()) {
      const shown = shownIn(call, version, withLsn);
      yield at === 0 ? shown : Buffer.concat([COMMA, shown]);
    }
    yield Buffer.from(`],"_count":${versions.length}}`);
  }
  return { status: 200, body: pieces() };
}
