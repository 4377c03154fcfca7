/**
 * What clients ask of a partition: writes, reads at the five consistency levels, scans, the change feed.
 *
 * Nobody is shown what is not globally committed, at any level: a copy answers from its log up to the GCLSN that it knows. A
 * strong read waits while a newer version of its document lies in the log; a session waits until the copy has got as far as
 * the session has; a refusal ("there is such a document already") waits until what it rests on is committed, because it
 * reveals it.
 */
import { evaluate, type Evaluation } from '../documents/evaluate.ts';
import type { WriteRequest } from '../documents/request.ts';
import { type DocumentKey, type Entry, gcnOf, type Position, type Version } from '../model.ts';
import {
  isStronger,
  type ReadAnswer,
  type ReadRequest,
  type RefusalCode,
  type Refused,
  type ScanAnswer,
  type ScanRequest,
  type WriteAnswer,
} from './answers.ts';
import type { GrantLevel } from './messages.ts';
import type { PartitionStateMachine } from './partition.ts';
import { contains } from './progress-table.ts';
import type { Reign, WaitingWrite } from './reign.ts';
import { shownBy, shownInEntry } from './returning.ts';
import { scanAt } from './scan.ts';

/** A client that is told to come back later. */
const RETRY_AFTER_MS = 20;
/** How often a reader asks for a grant that it has not got. */
const ASK_AGAIN_MS = 100;

export class Requests {
  readonly #partition: PartitionStateMachine;
  #askedAt = -Infinity;
  #lastAt = 0;
  #timedReign: Reign | undefined;

  constructor(partition: PartitionStateMachine) {
    this.#partition = partition;
  }

  // ---- writes

  /** `done` is called once. An outcome that is not known by the deadline is unknown. */
  write(request: WriteRequest, deadlineAt: number, done: (answer: WriteAnswer) => void): void {
    if (this.#isFull()) {
      // Whoever does not write here has no use for coming back.
      done(
        this.#acceptingReign === undefined
          ? refused('NOT_WRITER')
          : refused('TOO_MANY_REQUESTS', RETRY_AFTER_MS),
      );
      return;
    }
    const attempt = (): boolean => {
      const reign = this.#acceptingReign;
      const { diskError, port } = this.#partition;
      if (reign === undefined) {
        if (this.#partition.isRecovering && port.mayWrite()) return false;
        done(refused('NOT_WRITER'));
      } else if (diskError !== undefined) done(refused('DISK_FULL'));
      else if (reign.isHeldBack(port.now())) return false;
      else this.#evaluate(reign, request, deadlineAt, done);
      return true;
    };
    const expire = (): void => done(refused('TOO_MANY_REQUESTS', RETRY_AFTER_MS));
    this.#partition.waits.add({ attempt, deadlineAt, expire });
  }

  get #acceptingReign(): Reign | undefined {
    const { reign, port } = this.#partition;
    return reign !== undefined && reign.role.accepts && port.mayWrite() ? reign : undefined;
  }

  #isFull(): boolean {
    const { waits, options, reign } = this.#partition;
    return (reign?.waiting ?? 0) + waits.size >= options.maxWaiting;
  }

  #evaluate(
    reign: Reign,
    request: WriteRequest,
    deadlineAt: number,
    done: (answer: WriteAnswer) => void,
  ): void {
    const { store } = this.#partition;
    const now = this.#time(reign);
    let found: Entry | Evaluation;
    try {
      const repeated = request.operation === undefined ? undefined : store.operation(request.operation);
      found = repeated ?? this.#tried(request, now);
    } catch (error) {
      this.#partition.noticeDamage(error);
      done(refused('DAMAGED', RETRY_AFTER_MS));
      return;
    }
    if (!('outcome' in found)) {
      const { epoch, lsn, statuses } = found;
      const results = statuses.map((status) => ({ status }));
      const shown = request.returning && {
        shown: shownInEntry(found, request, this.#partition.options.json),
      };
      this.#whenCommitted(reign, lsn, deadlineAt, done, { results, position: { epoch, lsn }, ...shown });
    } else if (found.outcome === 'write') {
      this.#append(reign, request, found, { now, deadlineAt, done });
    } else {
      const { results, sawLsn } = found;
      const shown = request.returning && { shown: shownBy(results, request, undefined) };
      this.#whenCommitted(reign, sawLsn, deadlineAt, done, { results, ...shown });
    }
  }

  /** The wall clock, never before what the log says already: it may have been written by the light of another one. */
  #time(reign: Reign): number {
    const { store, port } = this.#partition;
    if (this.#timedReign !== reign) {
      this.#timedReign = reign;
      try {
        this.#lastAt = Math.max(this.#lastAt, store.entry(store.tail.lsn)?.at ?? 0);
      } catch (error) {
        this.#partition.noticeDamage(error);
      }
    }
    return Math.max(port.wallClock(), this.#lastAt);
  }

  #tried(request: WriteRequest, now: number): Evaluation {
    const { store, options } = this.#partition;
    const { settings, limits, json } = options;
    const view = {
      glance: (key: DocumentKey) => store.glance(key),
      find: (key: DocumentKey) => store.newest(key),
    };
    return evaluate(request, view, { settings, limits, json, now });
  }

  #append(
    reign: Reign,
    request: WriteRequest,
    { changes, results }: Extract<Evaluation, { outcome: 'write' }>,
    { now: at, deadlineAt, done }: { now: number; deadlineAt: number; done: (answer: WriteAnswer) => void },
  ): void {
    const { operation } = request;
    const entry: Entry = {
      epoch: reign.epoch,
      lsn: this.#partition.store.tail.lsn + 1,
      at,
      ...(operation !== undefined && { operation }),
      statuses: results.map(({ status }) => status),
      changes,
    };
    const { epoch, lsn } = entry;
    this.#add(reign, entry, {
      deadlineAt,
      done: (isCommitted) => {
        if (!isCommitted) {
          done({ outcome: 'unknown' });
          return;
        }
        const shown = request.returning && { shown: shownBy(results, request, entry) };
        done({ outcome: 'done', results, position: { epoch, lsn }, entry, ...shown });
      },
    });
  }

  #add(reign: Reign, entry: Entry, write: WaitingWrite): void {
    this.#lastAt = entry.at;
    reign.append(entry, this.#partition.port.now(), write);
    this.#partition.wantFlush();
  }

  #whenCommitted(
    reign: Reign,
    lsn: number,
    deadlineAt: number,
    done: (answer: WriteAnswer) => void,
    answer: Pick<Extract<WriteAnswer, { outcome: 'done' }>, 'results' | 'shown'> & { position?: Position },
  ): void {
    const attempt = (): boolean => {
      const { store, committed, reign: current } = this.#partition;
      if (current !== reign) done({ outcome: 'unknown' });
      else if (store.notes.gclsn >= lsn) done({ outcome: 'done', position: committed, ...answer });
      else return false;
      return true;
    };
    this.#partition.waits.add({ attempt, deadlineAt, expire: () => done({ outcome: 'unknown' }) });
  }

  /** Writes the deletion of documents whose time to live is over. Says how many. */
  expire(limit: number): number {
    const { port, store, diskError } = this.#partition;
    const reign = this.#acceptingReign;
    if (reign === undefined || diskError !== undefined) return 0;
    if (reign.isHeldBack(port.now())) return 0;
    const at = this.#time(reign);
    let expired: readonly Version[];
    try {
      expired = store.expired(at, limit);
    } catch (error) {
      this.#partition.noticeDamage(error);
      return 0;
    }
    if (expired.length === 0) return 0;
    const changes = expired.map(({ epk, id, partitionKey, createdLsn, lsn }) => ({
      epk,
      id,
      partitionKey,
      createdLsn,
      previous: lsn,
    }));
    const entry: Entry = { epoch: reign.epoch, lsn: store.tail.lsn + 1, at, statuses: [], changes };
    this.#add(reign, entry, { deadlineAt: Infinity, done: () => {} });
    return changes.length;
  }

  // ---- reads

  read(request: ReadRequest, deadlineAt: number, done: (answer: ReadAnswer) => void): void {
    this.#show(request, deadlineAt, done, () => this.#point(request));
  }

  /** Answers as soon as the level and the session allow it, and `look` has something to show. */
  #show<A extends { readonly outcome: 'done' }>(
    { level, session }: Pick<ReadRequest, 'level' | 'session'>,
    deadlineAt: number,
    done: (answer: A | Refused) => void,
    look: () => A | RefusalCode,
  ): void {
    if (this.#isFull()) {
      done(refused('TOO_MANY_REQUESTS', RETRY_AFTER_MS));
      return;
    }
    let missing: RefusalCode = 'NOT_READY';
    const attempt = (): boolean => {
      const answer = this.#readable(level, session, look);
      if (typeof answer === 'string') missing = answer;
      else done(answer);
      return typeof answer !== 'string';
    };
    this.#partition.waits.add({ attempt, deadlineAt, expire: () => done(refused(missing)) });
  }

  #point({ key, level }: ReadRequest): Extract<ReadAnswer, { outcome: 'done' }> | RefusalCode {
    const { store, committed } = this.#partition;
    const newest = store.newest(key);
    if (level === 'Strong' && newest !== undefined && newest.lsn > committed.lsn) return 'NOT_READY';
    return { outcome: 'done', version: this.#versionAt(key, newest, committed.lsn), position: committed };
  }

  /** Documents in order, as they were at one moment. */
  scan(request: ScanRequest, deadlineAt: number, done: (answer: ScanAnswer) => void): void {
    let atLeast = request.level === 'Strong' ? undefined : 0;
    this.#show<Extract<ScanAnswer, { outcome: 'done' }>>(request, deadlineAt, done, () => {
      const { committed, store } = this.#partition;
      // Strongly: from when it may be shown at all, everything that was acknowledged is in the log, and has to be committed.
      atLeast ??= store.tail.lsn;
      if (committed.lsn < atLeast) return 'NOT_READY';
      const versions = scanAt(this.#partition, request.options, committed.lsn, request.compare);
      return { outcome: 'done', versions, position: committed };
    });
  }

  #versionAt(key: DocumentKey, newest: Version | undefined, lsn: number): Version | undefined {
    let version = newest;
    while (version !== undefined && version.lsn > lsn) {
      version = version.previous === 0 ? undefined : this.#partition.store.version(key, version.previous);
    }
    return version;
  }

  /** What `look` shows, or the reason why there is none yet. A damaged document is an answer too: somebody else has it. */
  #readable<A extends { readonly outcome: 'done' }>(
    level: ReadRequest['level'],
    session: Position | undefined,
    look: () => A | RefusalCode,
  ): A | Refused | RefusalCode {
    if (isStronger(level, this.#partition.consistency.level)) return refused('LEVEL_TOO_STRONG');
    if (!this.#partition.isReadable) return refused('NOT_READY');
    const missing =
      level === 'Strong' || level === 'BoundedStaleness'
        ? this.#notStrong(level)
        : level === 'Session' && session !== undefined
          ? this.#notInSession(session)
          : undefined;
    if (missing !== undefined) return missing;
    try {
      return look();
    } catch (error) {
      this.#partition.noticeDamage(error);
      return refused('DAMAGED', RETRY_AFTER_MS);
    }
  }

  /** Why nothing can be shown strongly here now. */
  #notStrong(level: GrantLevel): Refused | RefusalCode | undefined {
    const { reign, following, port, incarnation } = this.#partition;
    if (reign !== undefined) {
      if (!port.mayWrite()) return refused('NOT_READY');
      return reign.isRecommitted ? undefined : 'NOT_READY';
    }
    if (following === undefined || port.isStopping?.() === true) return refused('NOT_READY');
    const now = port.now();
    // A grant that is used is renewed before it ends.
    if (!following.isGrantFresh(level, now) && now - this.#askedAt >= ASK_AGAIN_MS) {
      this.#askedAt = now;
      following.askForGrant(incarnation, now);
    }
    return following.mayRead(level, now) ? undefined : 'NOT_READY';
  }

  #notInSession(session: Position): Refused | RefusalCode | undefined {
    const { store, reign, following, fence, committed } = this.#partition;
    if (contains({ table: store.notes.table, tail: store.tail }, session))
      return committed.lsn < session.lsn ? 'SESSION_AHEAD' : undefined;
    // Another history than the session's. Only who is part of the newest one, and as far as the session has got, knows which
    // of the two was undone; its writer knows all of it.
    const isCurrent =
      reign !== undefined || (following?.isFollowing === true && committed.lsn >= session.lsn);
    return isCurrent && fence >= gcnOf(session.epoch) ? refused('SESSION_UNDONE') : 'SESSION_AHEAD';
  }
}

function refused(code: RefusalCode, retryAfterMs?: number): Refused {
  return { outcome: 'refused', code, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}
