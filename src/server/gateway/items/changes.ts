/**
 * The change feed of a range, or of one partition key: the items that were written since, each as it was left last in what is
 * read at a time, without deletions. The place where a reader goes on is the etag of the answer, of one with nothing new too; it
 * is a place in the log, which means the same in every region (`FeedCursor`).
 *
 * The log is read as it is: an item that was changed or deleted again further on may be shown as it was in between, as to a reader
 * who came earlier.
 *
 * A place that was undone by a failover (at weak levels), or that the log no longer reaches, is a 400. A 410, which others answer
 * then, is taken for a range that was split: the iterator of the public client drops its place and silently begins anew.
 *
 * With `if-modified-since` the log is read from its beginning and what is older is left out; a request reads a part of it, and the
 * place moves on.
 */
import { BatonError, FeedCursor, type PartitionFeed } from '../../../client/index.ts';
import {
  BEGINNING,
  type Entry,
  expiresAt,
  type FeedPosition,
  keyText,
  type Position,
  versionIn,
} from '../../../engine/index.ts';
import type { GatewayAnswer } from '../context.ts';
import { badRequest, notSupported } from '../errors.ts';
import { headerOf } from '../headers.ts';
import {
  type Call,
  isReadable,
  pay,
  payRest,
  placeHeaders,
  type ReadableVersion,
  timeLeft,
  unitsOf,
} from './answers.ts';
import { type Extent, extentOf, isWithin, limitIn, listOf, type Stretch } from './feed.ts';
import { asked, inSession } from './partitions.ts';
import { type Reading, readingOf } from './session.ts';

const PAGE_BYTES = 1024 * 1024;
/** Of the log, for one answer: in most of it there may be nothing for this reader. */
const MOST_PAGES = 16;
/** How long news that must be seen may take to come here. */
const NEWS_MS = 300;

export function isChangeFeed({ request }: Call): boolean {
  return headerOf(request.headers, 'a-im') !== undefined;
}

export async function readChanges(call: Call): Promise<GatewayAnswer> {
  const { request, context } = call;
  if (headerOf(request.headers, 'a-im')!.toLowerCase() !== 'incremental feed')
    throw notSupported('The change feed with all versions and deletions is');
  const extent = extentOf(call);
  const [stretch, another] = extent.stretches;
  if (another !== undefined)
    throw badRequest('A change feed is read from one range at a time, or for one partition key.');
  const reading = readingOf(request, context);
  const since = sinceIn(call);
  const limit = limitIn(call);
  pay(call, 1);
  const from = headerOf(request.headers, 'if-none-match');
  if (from === '*' && since === undefined)
    return nothingNew(call, stretch!, await fromNow(call, reading, stretch!));
  const cursor =
    from === undefined || from === '*'
      ? new FeedCursor([stretch!.range.partitionSet])
      : cursorIn(from, stretch!);
  return new ChangeReader(call, reading, extent, { cursor, since, limit }).read();
}

/** Milliseconds since 1970. */
function sinceIn({ request }: Call): number | undefined {
  const text = headerOf(request.headers, 'if-modified-since');
  if (text === undefined) return undefined;
  const since = Date.parse(text);
  if (Number.isNaN(since)) throw badRequest('The header if-modified-since is not a date.');
  return since;
}

function etagOf({ token }: FeedCursor): string {
  return `"${token}"`;
}

function cursorIn(etag: string, { range }: Stretch): FeedCursor {
  const cursor = FeedCursor.from(etag.replace(/^"|"$/g, ''), [range.partitionSet]);
  if (cursor === 'TOKEN_NEWER') throw badRequest('The continuation was made by a newer version.');
  if (typeof cursor === 'string')
    throw badRequest('The continuation of the change feed is damaged, or belongs to another range.');
  return cursor;
}

/** How far the range has got. */
async function endOf(call: Call, reading: Reading, { range, from, to }: Stretch): Promise<Position> {
  const { context, target, request } = call;
  const { position } = await inSession(call, reading, range, (session, preferred) =>
    context.partitions.scan({
      container: target.name,
      partitionSet: range.partitionSet,
      from,
      to,
      limit: 1,
      maxBytes: 1,
      level: reading.level,
      session,
      preferred,
      timeoutMs: timeLeft(call, 'read'),
      signal: request.signal,
    }),
  );
  return position;
}

async function fromNow(
  call: Call,
  reading: Reading,
  stretch: Stretch,
): Promise<{ cursor: FeedCursor; position: Position }> {
  const position = await endOf(call, reading, stretch);
  const { partitionSet } = stretch.range;
  const cursor = new FeedCursor([partitionSet]);
  cursor.received(partitionSet, { entries: [], position });
  return { cursor, position };
}

function nothingNew(
  call: Call,
  { range }: Stretch,
  { cursor, position }: { readonly cursor: FeedCursor; readonly position: Position },
): GatewayAnswer {
  return { status: 304, headers: { ...placeHeaders(call, range, position), etag: etagOf(cursor) } };
}

interface From {
  readonly cursor: FeedCursor;
  readonly since: number | undefined;
  readonly limit: number;
}

class ChangeReader {
  readonly #call: Call;
  readonly #reading: Reading;
  readonly #extent: Extent;
  readonly #stretch: Stretch;
  readonly #from: From;
  /** The newest version of each item in this answer, in the order of their writing. */
  readonly #found = new Map<string, ReadableVersion>();
  #bytes = 0;
  #position: Position = BEGINNING;

  constructor(call: Call, reading: Reading, extent: Extent, from: From) {
    this.#call = call;
    this.#reading = reading;
    this.#extent = extent;
    this.#stretch = extent.stretches[0]!;
    this.#from = from;
  }

  async read(): Promise<GatewayAnswer> {
    const isAtEnd = await this.#readPages();
    const call = this.#call;
    const { cursor } = this.#from;
    if (this.#found.size === 0 && isAtEnd)
      return nothingNew(call, this.#stretch, { cursor, position: this.#position });
    const charge = unitsOf('read', this.#bytes);
    payRest(call, charge - 1);
    const headers = {
      ...placeHeaders(call, this.#stretch.range, this.#position),
      etag: etagOf(cursor),
      'x-ms-item-count': String(this.#found.size),
    };
    return { ...listOf(call, [...this.#found.values()], true), headers, charge };
  }

  /** Whether the end of the log was reached. */
  async #readPages(): Promise<boolean> {
    let isWaited = false;
    for (let pages = 0; pages < MOST_PAGES; pages += 1) {
      const page = await this.#page(0);
      if (page === 'full') return false;
      if (page === 'some') continue;
      if (this.#found.size > 0 || isWaited) return true;
      if (!(await this.#isBehind())) return true;
      isWaited = true;
      if ((await this.#page(NEWS_MS)) === 'full') return false;
    }
    return false;
  }

  /** Nothing new here; but a write that its client knows to be done, or that the session has seen, must be shown. */
  async #isBehind(): Promise<boolean> {
    const { level } = this.#reading;
    if (level === 'Eventual' || level === 'ConsistentPrefix') return false;
    const { lsn } = await endOf(this.#call, this.#reading, this.#stretch);
    return lsn > this.#position.lsn;
  }

  async #page(waitMs: number): Promise<'full' | 'some' | 'none'> {
    const { partitionSet } = this.#stretch.range;
    const { cursor, limit } = this.#from;
    const { after } = cursor.next();
    const page = await this.#fetched(after, waitMs);
    const received = cursor.received(partitionSet, page);
    if (!received.ok) throw lostPlace(received.code);
    this.#position = page.position;
    for (const entry of received.entries) {
      if (this.#found.size >= limit || this.#bytes >= PAGE_BYTES) return 'full';
      this.#take(entry);
      cursor.shown(partitionSet, entry);
      this.#position = entry;
    }
    return page.entries.length === 0 ? 'none' : 'some';
  }

  async #fetched(after: FeedPosition, waitMs: number): Promise<PartitionFeed> {
    const call = this.#call;
    const { context, target, request } = call;
    const { partitionSet } = this.#stretch.range;
    return asked(call, 'read', async () => {
      try {
        return await context.partitions.feed({
          container: target.name,
          partitionSet,
          after,
          maxBytes: PAGE_BYTES,
          waitMs,
          timeoutMs: timeLeft(call, 'read'),
          signal: request.signal,
        });
      } catch (error) {
        if (error instanceof BatonError && (error.code === 'FEED_UNDONE' || error.code === 'FEED_TRIMMED'))
          throw lostPlace(error.code);
        throw error;
      }
    });
  }

  #take(entry: Entry): void {
    const { since = 0 } = this.#from;
    const now = this.#call.context.host.wallClock();
    for (const change of entry.changes) {
      if (!isWithin(change, this.#stretch)) continue;
      const { partitionKey } = this.#extent;
      if (partitionKey !== undefined && change.partitionKey !== partitionKey) continue;
      const key = keyText(change);
      this.#bytes -= this.#found.get(key)?.body.length ?? 0;
      this.#found.delete(key);
      const version = versionIn(entry, change);
      if (!isReadable(version) || entry.at < since || now >= expiresAt(version)) continue;
      this.#found.set(key, version);
      this.#bytes += version.body.length;
    }
  }
}

function lostPlace(code: 'FEED_UNDONE' | 'FEED_TRIMMED'): Error {
  return badRequest(
    code === 'FEED_UNDONE'
      ? 'What this change feed was read up to was undone by a failover; begin it anew.'
      : 'The log does not reach back to where this change feed was read up to; begin it anew.',
  );
}
