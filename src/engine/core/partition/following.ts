/**
 * A reader that follows a writer (the paper's XP secondary): it asks to follow, is told the writer's history, undoes what it
 * has besides it (rule 5), takes the entries in their order and says what is on disk. When its log ends before the writer's
 * begins, it takes everything anew, and gives up what it has only when the writer has read its log through (`reading-through.ts`).
 *
 *   asking ──welcome──▶ undoing ──on disk──▶ ready ──entries──▶ following
 *     ▲                                                            │ link lost, invited again
 *     └────────────────────────────────────────────────────────────┘
 *
 * It also pulls the read grants (rule 15): asked for at t0, a grant counts from t0.
 */
import type { Entry, Position } from '../model.ts';
import type { PartitionStore } from '../store.ts';
import type { RegionName } from './forwarder.ts';
import {
  type Entries,
  type Grant,
  type GrantLevel,
  higherMarks,
  type Marks,
  NO_MARKS,
  type PartitionMessage,
  type Welcome,
} from './messages.ts';
import { noteEpochs } from './notes.ts';
import { epochAt, type ProgressTable, sharedUpTo, upTo } from './progress-table.ts';
import { giveUpBehind, needsCopy, undoBehind } from './undoing.ts';

export interface FollowingPort {
  send(to: RegionName, message: PartitionMessage): void;
  now(): number;
  wallClock(): number;
  /** Calls `flush` of the partition soon. */
  flushSoon(): void;
  /** Entries were undone: from behind that LSN on. `committed`: this copy knew the first of them to be globally committed. */
  undone(count: number, after: number, committed: boolean): void;
  /** So many of them were damaged, and are in no list here. */
  unlisted(count: number): void;
  /** Entries came in, or marks. */
  advanced(entries: readonly Entry[]): void;
  /** Whether that entry, which is known here to be globally committed, may be undone (`undoing.ts`). */
  mayUndo(position: Position): boolean;
  /** The writer's log lacks that entry, which is globally committed: it is not followed. */
  refused(position: Position): void;
  /** Everything that the writer had when it welcomed this copy is on disk here. */
  reconciled(): void;
  /** A full copy is complete. */
  built(): void;
}

export interface FollowingTimings {
  /** A question that is not answered is asked again after this, and later each time up to the longest. */
  readonly askAgainMs: number;
  readonly longestMs: number;
}

export const FOLLOWING_TIMINGS: FollowingTimings = { askAgainMs: 100, longestMs: 2000 };

type Stage = 'asking' | 'undoing' | 'ready' | 'following';

export class Following {
  readonly gcn: number;
  readonly writer: RegionName;
  readonly #store: PartitionStore;
  readonly #port: FollowingPort;
  readonly #timings: FollowingTimings;
  readonly #newSession: () => number;
  #stage: Stage = 'asking';
  #session = 0;
  /** Of the welcome. */
  #epoch = 0;
  #base = 1;
  /** While it undoes, the session has come to its end. */
  #isOver = false;
  #asks = 0;
  #askAt = 0;
  #received = 0;
  #durable = 0;
  #marks: Marks = NO_MARKS;
  /** A full copy is complete when the log reaches this. */
  #builtAt = 0;
  #isReconciled = false;
  /** It has to copy everything, and the writer has been told so. */
  #copies = false;
  /** Of the welcome that was refused last. */
  #refusedEpoch: number | undefined;
  /** Until when strong reads are shown, and until when bounded ones: a grant for the first is one for both. */
  #strongUntil = -Infinity;
  #boundedUntil = -Infinity;
  #grantedMs = 0;
  #grantAsked: { readonly number: number; readonly at: number } | undefined;
  #grantNumber = 0;

  constructor(
    options: { readonly gcn: number; readonly writer: RegionName; readonly newSession: () => number },
    store: PartitionStore,
    port: FollowingPort,
    timings = FOLLOWING_TIMINGS,
  ) {
    this.gcn = options.gcn;
    this.writer = options.writer;
    this.#newSession = options.newSession;
    this.#store = store;
    this.#port = port;
    this.#timings = timings;
  }

  /** Whether the writer was refused, and nothing better has come since. */
  get isRefusing(): boolean {
    return this.#refusedEpoch !== undefined && !this.isFollowing;
  }

  get isFollowing(): boolean {
    return this.#stage === 'ready' || this.#stage === 'following';
  }

  /** What the writer said last. It holds for this copy as far as its log goes. */
  get marks(): Marks {
    return this.#marks;
  }

  get nextAt(): number {
    return this.#stage === 'asking' || this.#stage === 'ready' ? this.#askAt : Infinity;
  }

  wake(now: number): void {
    if (now < this.nextAt) return;
    if (this.#stage === 'ready') this.#sayReady(now);
    else this.#ask(now);
  }

  /** The writer is there, or there again. */
  invited(now: number): void {
    if (this.#stage === 'undoing') this.#isOver = true;
    else this.#begin(now);
  }

  linkLost(): void {
    if (this.#stage === 'undoing') this.#isOver = true;
    if (!this.isFollowing) return;
    this.#stage = 'asking';
    this.#asks = 0;
    this.#askAt = Infinity;
  }

  #begin(now: number): void {
    this.#stage = 'asking';
    this.#asks = 0;
    this.#ask(now);
  }

  #ask(now: number): void {
    const { askAgainMs, longestMs } = this.#timings;
    this.#session = this.#newSession();
    this.#askAt = now + Math.min(longestMs, askAgainMs * 2 ** Math.min(this.#asks, 10));
    this.#asks += 1;
    const follow = { type: 'follow', gcn: this.gcn, session: this.#session } as const;
    this.#port.send(this.writer, this.#copies ? { ...follow, copies: true } : follow);
  }

  /** Again and again until something comes: it may have been lost. */
  #sayReady(now: number): void {
    this.#askAt = now + this.#timings.longestMs;
    this.#port.send(this.writer, {
      type: 'ready',
      gcn: this.gcn,
      session: this.#session,
      epoch: this.#epoch,
      base: this.#base,
      lsn: this.#durable,
    });
  }

  /** Rule 5: finds where the histories part, and undoes what is only in this one. */
  onWelcome({ session, epoch, table, tail, base, whole }: Welcome): void {
    if (this.#stage !== 'asking' || session !== this.#session) return;
    const own = { table: this.#store.notes.table, tail: this.#store.tail };
    const shared = sharedUpTo(own, { table, tail });
    const hasSomething = own.tail.lsn > 0;
    if (whole === false && hasSomething && needsCopy(this.#store, shared, base, this.#port)) {
      this.#askToCopy();
      return;
    }
    this.#copies = false;
    this.#stage = 'undoing';
    this.#isOver = false;
    this.#epoch = epoch;
    this.#base = base;
    const undone = undoBehind(this.#store, shared, this.#port);
    if (undone === 'refused') {
      this.#refuse(epoch);
      return;
    }
    const isTooOld = shared + 1 < base;
    if (isTooOld || undone === 'useless') this.#startCopy(table, base, shared);
    this.#builtAt = Math.max(tail.lsn, base - 1);
    this.#finishCopyAt(this.#store.tail.lsn);
    const { lsn } = this.#store.tail;
    this.#received = lsn;
    this.#store.sync((error) => {
      if (this.#stage !== 'undoing' || session !== this.#session) return;
      this.#stage = 'asking';
      this.#port.flushSoon();
      if (this.#isOver) this.#begin(this.#port.now());
      if (error !== undefined || this.#isOver) return;
      this.#stage = 'ready';
      this.#durable = lsn;
      this.#sayReady(this.#port.now());
      this.#noteReconciled();
    });
    this.#port.flushSoon();
  }

  /** What is here may be the last whole copy of something that is damaged there: nothing is given up before all of it could be read. */
  #askToCopy(): void {
    if (this.#copies) return;
    this.#copies = true;
    this.#ask(this.#port.now());
  }

  /** It is asked again from time to time: it may recover, or another process of it may. */
  #refuse(epoch: number): void {
    const { notes, tail } = this.#store;
    const lsn = Math.min(notes.gclsn, tail.lsn);
    const missing = { epoch: epochAt(notes.table, lsn), lsn };
    this.#stage = 'asking';
    this.#askAt = this.#port.now() + this.#timings.longestMs;
    this.#port.send(this.writer, { type: 'short', gcn: this.gcn, session: this.#session, ...missing });
    if (this.#refusedEpoch === epoch) return;
    this.#refusedEpoch = epoch;
    this.#port.refused(missing);
  }

  #noteReconciled(): void {
    if (this.#isReconciled || this.#store.notes.building || this.#durable < this.#builtAt) return;
    this.#isReconciled = true;
    this.#port.reconciled();
  }

  /** Below the base the writer's log has gaps, and only its table knows where those epochs began. */
  #startCopy(table: ProgressTable, base: number, shared: number): void {
    this.#store.note({ building: true });
    giveUpBehind(this.#store, shared, this.#port);
    this.#store.clear(base);
    this.#store.note({ table: upTo(table, base - 1), gclsn: 0 });
  }

  #finishCopyAt(lsn: number): void {
    if (!this.#store.notes.building || lsn < this.#builtAt) return;
    this.#store.note({ building: false });
    this.#port.built();
  }

  onEntries({ session, after, entries, marks }: Entries): void {
    if (!this.isFollowing || session !== this.#session) return;
    this.#stage = 'following';
    if (after > this.#received) {
      this.#acknowledge({ gap: true });
      return;
    }
    const fresh = entries.filter(({ lsn }) => lsn > this.#received);
    if (fresh.length > 0) this.#take(fresh);
    this.#marks = higherMarks(this.#marks, marks);
    const gclsn = Math.min(marks.gclsn, this.#received);
    if (gclsn > this.#store.notes.gclsn) this.#store.note({ gclsn });
    this.#port.advanced(fresh);
    // With entries the acknowledgement waits for the disk.
    if (fresh.length === 0) this.#acknowledge();
    else this.#port.flushSoon();
  }

  #take(entries: readonly Entry[]): void {
    noteEpochs(this.#store, entries);
    this.#store.append(entries);
    this.#received = entries.at(-1)!.lsn;
    this.#finishCopyAt(this.#received);
  }

  /** Everything up to there is on disk. */
  onDurable(lsn: number): void {
    const reached = Math.min(lsn, this.#received);
    if (!this.isFollowing || reached <= this.#durable) return;
    this.#durable = reached;
    this.#noteReconciled();
    this.#acknowledge();
  }

  #acknowledge(how: { readonly gap?: true } = {}): void {
    this.#port.send(this.writer, {
      type: 'ack',
      gcn: this.gcn,
      session: this.#session,
      durable: this.#durable,
      received: this.#received,
      gclsn: this.#store.notes.gclsn,
      safe: this.#marks.safe,
      ...how,
    });
  }

  // ---- read grants

  mayRead(level: GrantLevel, now: number): boolean {
    return now < this.#grantUntil(level);
  }

  /** Whether more than half of it is left. */
  isGrantFresh(level: GrantLevel, now: number): boolean {
    return this.#grantUntil(level) - now > this.#grantedMs / 2;
  }

  #grantUntil(level: GrantLevel): number {
    return level === 'Strong' ? this.#strongUntil : this.#boundedUntil;
  }

  askForGrant(incarnation: number, now: number): void {
    if (!this.isFollowing) return;
    this.#grantNumber += 1;
    this.#grantAsked = { number: this.#grantNumber, at: now };
    this.#port.send(this.writer, {
      type: 'ask',
      gcn: this.gcn,
      session: this.#session,
      number: this.#grantNumber,
      incarnation,
    });
  }

  onGrant({ session, number, ms, level = 'Strong' }: Grant): void {
    const asked = this.#grantAsked;
    if (session !== this.#session || asked?.number !== number) return;
    this.#grantAsked = undefined;
    const until = asked.at + ms;
    this.#boundedUntil = Math.max(this.#boundedUntil, until);
    if (level === 'Strong') this.#strongUntil = Math.max(this.#strongUntil, until);
    this.#grantedMs = ms;
  }

  /** The process stood still: what it was granted may be over. */
  dropGrant(): void {
    this.#strongUntil = -Infinity;
    this.#boundedUntil = -Infinity;
    this.#grantAsked = undefined;
  }
}
