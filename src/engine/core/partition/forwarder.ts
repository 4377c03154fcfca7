/**
 * The forwarder (the paper's XP primary, section 2): carries the writer's log to the read regions. One session for each
 * region that follows; many messages are under way in it, up to a window of bytes that are not on disk there yet; entries are
 * read from the store when they are sent, so a region that is far behind costs no more memory than one that keeps up. With one
 * replica in a region the primary forwards itself; with several this object moves to a secondary.
 *
 * Nothing is counted that was not said in the session in force (rule 5).
 */
import { type Epoch, gcnOf, type Position, sizeOf } from '../model.ts';
import type { PartitionStore } from '../store.ts';
import { entriesOf } from './copying.ts';
import type { Ack, Entries, Follow, Marks, PartitionMessage, Ready, Welcome } from './messages.ts';
import { ReadingThrough } from './reading-through.ts';

export type RegionName = string;

export interface ForwarderPort {
  send(to: RegionName, message: PartitionMessage): void;
  /** Whether the link is there and takes more now; when it does again, the host calls `invite` and `pump`. */
  canSend(to: RegionName): boolean;
}

export interface ForwarderLimits {
  /** Sent to one region and not on disk there. */
  readonly windowBytes: number;
  readonly messageBytes: number;
  /** No progress for so long: what is under way is sent again. */
  readonly resendMs: number;
}

export const FORWARDER_LIMITS: ForwarderLimits = {
  windowBytes: 4 * 1024 * 1024,
  messageBytes: 256 * 1024,
  resendMs: 1000,
};

/** An invitation that nobody follows is repeated later each time, at the latest after so many times the first wait. */
const LONGEST_WAIT = 32;

const NEVER_TOLD: Marks = { gclsn: -1, safe: -1, everywhere: -1 };

interface Session {
  readonly id: number;
  /** Of the log when the reader was welcomed: below it there are gaps, from there on none. */
  readonly base: number;
  isStreaming: boolean;
  /** Its log was too old, and it is being sent everything: LSNs leave gaps until the base is reached. */
  isCopy: boolean;
  sent: number;
  received: number;
  /** Behind this something was missing, and has been sent again. */
  gap: number;
  durable: number;
  /** What the reader knows to be committed, and to be safe. */
  gclsn: number;
  safe: number;
  told: Marks;
  toldAt: number;
  bytesUnderWay: number;
  underWay: { readonly lsn: number; readonly bytes: number }[];
  /** The highest LSN that was ever sent in it. */
  reached: number;
  /** When it last got something on disk, or, if it lacked nothing, when it began to be asked for something. */
  movedAt: number;
  /** When what is under way was sent. */
  sentAt: number;
  /** Entries a millisecond, lately. */
  pace: number;
  isThere: boolean;
}

export class Forwarder {
  readonly #gcn: number;
  /** Of the reign: another process of this region has another one. */
  readonly #epoch: Epoch;
  readonly #store: PartitionStore;
  readonly #port: ForwarderPort;
  readonly #limits: ForwarderLimits;
  readonly #sessions = new Map<RegionName, Session>();
  /**
   * Who was invited or welcomed and is not being sent anything yet. A reader that believes to follow does not ask: if its
   * invitation is lost, only this reminds anybody of it.
   */
  readonly #awaited = new Map<RegionName, { readonly at: number; readonly waitMs: number }>();
  readonly #reading: ReadingThrough;

  constructor(epoch: Epoch, store: PartitionStore, port: ForwarderPort, limits = FORWARDER_LIMITS) {
    this.#gcn = gcnOf(epoch);
    this.#epoch = epoch;
    this.#store = store;
    this.#port = port;
    this.#limits = limits;
    this.#reading = new ReadingThrough(store);
  }

  onFollow(from: RegionName, follow: Follow, now: number): void {
    const { session, copies } = follow;
    const known = this.#sessions.get(from);
    // The same question again, or an older one that was overtaken. A session that runs is not begun anew by it.
    if (known !== undefined && (session < known.id || (session === known.id && known.isStreaming))) return;
    if (copies === true && !this.#reading.isDone(now)) this.#reading.want(from, follow, now);
    else this.#welcome(from, follow, now);
  }

  #welcome(from: RegionName, { session }: Follow, now: number): void {
    const { notes, tail, base } = this.#store;
    this.#sessions.set(from, {
      id: session,
      base,
      isStreaming: false,
      isCopy: false,
      sent: 0,
      received: 0,
      gap: -1,
      durable: 0,
      gclsn: 0,
      safe: 0,
      told: NEVER_TOLD,
      toldAt: now,
      bytesUnderWay: 0,
      underWay: [],
      reached: 0,
      movedAt: now,
      sentAt: now,
      pace: 0,
      isThere: false,
    });
    const welcome: Welcome = {
      type: 'welcome',
      gcn: this.#gcn,
      session,
      epoch: this.#epoch,
      table: notes.table,
      tail,
      base,
      whole: this.#reading.isDone(now),
    };
    // It asks again by itself. But this question may be an old one that was overtaken.
    this.#await(from, now, this.#longestWaitMs);
    this.#port.send(from, welcome);
  }

  onReady(from: RegionName, { session: id, epoch, base, lsn }: Ready, now: number): void {
    const session = this.#known(from, id, now);
    if (session === undefined) return;
    if (epoch !== this.#epoch || base !== session.base) {
      // It was welcomed by an earlier process of this region, or to a log that has been trimmed since.
      this.#beginAnew(from, now);
      return;
    }
    this.#awaited.delete(from);
    // Said again, because nothing came in answer to it.
    session.told = NEVER_TOLD;
    if (session.isStreaming) return;
    session.isStreaming = true;
    session.isCopy = lsn + 1 < session.base;
    session.sent = session.received = session.durable = session.reached = lsn;
    session.movedAt = now;
  }

  /** True if something got on disk there. */
  onAck(from: RegionName, { session: id, durable, received, gclsn, safe, gap }: Ack, now: number): boolean {
    const session = this.#known(from, id, now);
    if (session === undefined || !session.isStreaming) return false;
    session.received = Math.max(session.received, received);
    session.gclsn = Math.max(session.gclsn, gclsn);
    session.safe = Math.max(session.safe, safe);
    // Everything that was under way behind the gap says so; it is sent again once.
    if (gap === true && session.gap !== session.received) {
      session.gap = session.received;
      this.#goBackTo(session, session.received, now);
    }
    if (durable <= session.durable) return false;
    const elapsed = Math.max(1, now - session.movedAt);
    const pace = (durable - session.durable) / elapsed;
    session.pace = session.pace === 0 ? pace : session.pace + (pace - session.pace) / 8;
    session.durable = durable;
    session.movedAt = session.sentAt = now;
    while (session.underWay.length > 0 && session.underWay[0]!.lsn <= durable) {
      session.bytesUnderWay -= session.underWay.shift()!.bytes;
    }
    return true;
  }

  /** The session of that number; whoever speaks in another is invited to begin anew. */
  #known(from: RegionName, id: number, now: number): Session | undefined {
    const session = this.#sessions.get(from);
    if (session?.id === id) return session;
    if (session === undefined) this.#beginAnew(from, now);
    return undefined;
  }

  #beginAnew(region: RegionName, now: number): void {
    this.#sessions.delete(region);
    this.invite(region, now);
  }

  /** Has that region begin anew, if it does not follow: now if it is to be reached, and again until it does. */
  invite(region: RegionName, now: number): void {
    if (this.#sessions.has(region) || !this.#port.canSend(region)) return;
    this.#await(region, now, this.#limits.resendMs);
    this.#sayInvited(region);
  }

  #await(region: RegionName, now: number, waitMs: number): void {
    this.#awaited.set(region, { at: now + waitMs, waitMs });
  }

  get #longestWaitMs(): number {
    return this.#limits.resendMs * LONGEST_WAIT;
  }

  #sayInvited(region: RegionName): void {
    this.#port.send(region, { type: 'invite', gcn: this.#gcn });
  }

  /** The link is gone, and with it what was under way; the region will ask to follow again. */
  drop(region: RegionName): void {
    this.#sessions.delete(region);
    this.#awaited.delete(region);
    this.#reading.drop(region);
  }

  /** Somebody met a damaged entry. */
  doubt(lsn: number): void {
    this.#reading.doubt(lsn);
  }

  /** Whether it has everything now, and had not when this was asked last. */
  hasCaughtUp(region: RegionName, tail: number): boolean {
    const session = this.#sessions.get(region);
    if (session?.isStreaming !== true) return false;
    const wasThere = session.isThere;
    session.isThere = session.durable >= tail;
    return session.isThere && !wasThere;
  }

  isFollowedBy(region: RegionName, session: number): boolean {
    const known = this.#sessions.get(region);
    return known?.id === session && known.isStreaming;
  }

  /** On disk there, said in this reign. */
  durableAt(region: RegionName): number {
    const session = this.#sessions.get(region);
    return session?.isStreaming === true ? session.durable : 0;
  }

  /** Known there to be committed. */
  committedAt(region: RegionName): number {
    const session = this.#sessions.get(region);
    return session?.isStreaming === true ? session.gclsn : 0;
  }

  /** How a follower is doing; undefined: it does not follow. */
  standing(
    region: RegionName,
    tail: number,
    now: number,
  ): { readonly lsn: number; readonly stuckMs: number; readonly behindMs: number } | undefined {
    const session = this.#sessions.get(region);
    if (session?.isStreaming !== true) return undefined;
    const missing = tail - session.durable;
    if (missing <= 0) return { lsn: session.durable, stuckMs: 0, behindMs: 0 };
    const behindMs = session.pace === 0 ? Infinity : missing / session.pace;
    const stuckMs = session.durable < session.reached ? now - session.movedAt : 0;
    return { lsn: session.durable, stuckMs, behindMs };
  }

  /** Sends what there is to send, as far as windows and links allow. An entry that cannot be read holds up only who needs it. */
  pump(marks: Marks, now: number, onUnreadable: (error: unknown) => void): void {
    try {
      for (const [region, follow] of this.#reading.step(now)) this.#welcome(region, follow, now);
    } catch (error) {
      onUnreadable(error);
    }
    for (const [region, session] of this.#sessions) {
      if (!session.isStreaming) continue;
      try {
        this.#pumpOne(region, session, marks, now);
      } catch (error) {
        onUnreadable(error);
      }
    }
  }

  /** When to look again whether something got lost. */
  get nextAt(): number {
    let at = this.#reading.nextAt;
    for (const session of this.#sessions.values()) at = Math.min(at, this.#againAt(session));
    for (const awaited of this.#awaited.values()) at = Math.min(at, awaited.at);
    return at;
  }

  #againAt(session: Session): number {
    if (session.underWay.length > 0) return session.sentAt + this.#limits.resendMs;
    return isUntold(session) ? session.toldAt + this.#limits.resendMs : Infinity;
  }

  wake(now: number): void {
    for (const session of this.#sessions.values()) {
      if (now < this.#againAt(session)) continue;
      session.gap = -1;
      if (session.underWay.length > 0) this.#goBackTo(session, session.durable, now);
      else session.told = NEVER_TOLD;
    }
    for (const [region, { at, waitMs }] of this.#awaited) {
      if (now < at) continue;
      this.#await(region, now, Math.min(waitMs * 2, this.#longestWaitMs));
      this.#sayInvited(region);
    }
  }

  #goBackTo(session: Session, lsn: number, now: number): void {
    session.sent = lsn;
    session.underWay = session.underWay.filter((one) => one.lsn <= lsn);
    session.bytesUnderWay = session.underWay.reduce((sum, { bytes }) => sum + bytes, 0);
    session.sentAt = now;
  }

  #pumpOne(region: RegionName, session: Session, marks: Marks, now: number): void {
    const { tail } = this.#store;
    let isTold = sameMarks(session.told, marks);
    while (
      session.sent < tail.lsn &&
      session.bytesUnderWay < this.#limits.windowBytes &&
      this.#port.canSend(region)
    ) {
      if (!this.#sendSome(region, session, marks, now)) return;
      isTold = true;
    }
    if (!isTold && session.sent >= tail.lsn) this.#send(region, session, [], marks, now);
  }

  #sendSome(region: RegionName, session: Session, marks: Marks, now: number): boolean {
    const { base } = this.#store;
    const isBelow = session.sent + 1 < base;
    const isTorn = isBelow && (!session.isCopy || base !== session.base);
    const entries = isTorn ? [] : entriesOf(this.#store, session.sent, this.#limits.messageBytes);
    if (entries.length === 0) {
      // Trimmed away under it: it begins again, and finds that it needs everything.
      this.#beginAnew(region, now);
      return false;
    }
    if (session.durable >= session.reached) session.movedAt = now;
    if (session.underWay.length === 0) session.sentAt = now;
    this.#send(region, session, entries, marks, now);
    return true;
  }

  #send(region: RegionName, session: Session, entries: Entries['entries'], marks: Marks, now: number): void {
    const { id, sent } = session;
    this.#port.send(region, {
      type: 'entries',
      gcn: this.#gcn,
      session: id,
      after: sent,
      entries,
      marks,
    });
    session.told = marks;
    session.toldAt = now;
    const last: Position | undefined = entries.at(-1);
    if (last === undefined) return;
    const bytes = entries.reduce((sum, entry) => sum + sizeOf(entry), 0);
    session.sent = last.lsn;
    session.reached = Math.max(session.reached, last.lsn);
    session.underWay.push({ lsn: last.lsn, bytes });
    session.bytesUnderWay += bytes;
  }
}

/** It has not said that it knows what it was told to be committed: that may have been lost. */
function isUntold({ isStreaming, told, gclsn, safe }: Session): boolean {
  return isStreaming && (told.gclsn > gclsn || told.safe > safe);
}

function sameMarks(a: Marks, b: Marks): boolean {
  return a.gclsn === b.gclsn && a.safe === b.safe && a.everywhere === b.everywhere;
}
