/**
 * A writer's restart is a recovery. A process that is told to go on as the writer, and has not yet seen what the others have, may
 * stand on a disk that came back older than it was, or that lost what was on its way to it. Whoever welcomes readers to a shorter
 * log makes them throw away the rest, so nobody is welcomed before this is over:
 *
 *   asking ──answers──▶ compare ──own log is the longest──▶ reign
 *     ▲                    └──somebody has more──▶ taking ──all of it──▶ reign
 *     └────────── the source is gone, or lacks it ───┘
 *
 * At Strong every member of the lease set has everything that is globally committed, so the answer of one of them is enough, and
 * one is needed. The longest log, by the epoch of its last entry and then by its length, contains what all members have: it
 * was written on top of a log that had been recovered in the same way. What nobody waited for may be longer in a region that does not
 * answer; then it was not committed. At the weaker levels commits wait for nobody, and what the writer had acknowledged may be at any
 * one member: the answers of all of them are needed.
 *
 * A region that has lost its data answers too: that it has nothing. The agent bounds the whole by emptying the list of members:
 * at the weaker levels after a third of a lease, at the others when none of them has taken the writes over in time.
 */
import { comparePositions, type Entry, type Position } from '../model.ts';
import type { PartitionStore } from '../store.ts';
import type { RegionName } from './forwarder.ts';
import type { Fetched, PartitionMessage, Standing } from './messages.ts';
import { noteEpochs } from './notes.ts';
import { sharedUpTo } from './progress-table.ts';
import { undoBehind } from './undoing.ts';

export interface RecoveryPort {
  send(to: RegionName, message: PartitionMessage): void;
  now(): number;
  wallClock(): number;
  flushSoon(): void;
  /** Entries behind that LSN were undone. */
  undone(count: number, after: number, committed: boolean): void;
  /** So many of them were damaged, and are in no list here. */
  unlisted(count: number): void;
  /** The log ends earlier than it did, and all that is left of it was there before. */
  cut(): void;
  /** Whether that entry, which is known here to be globally committed, may be undone (`undoing.ts`). */
  mayUndo(position: Position): boolean;
  /** The log is the longest now. `unheard`: those that were to answer, if none could tell what is committed. */
  recovered(unheard: readonly RegionName[]): void;
  /** This copy cannot be made whole from another log entry by entry: it has to be built. */
  useless(): void;
}

/** Where one answer is enough the others are waited for so long. So is a source that does not go on. */
export const RECOVERY_PATIENCE_MS = 500;
/** A question that is not answered is asked again. */
const AGAIN_MS = 200;
const FETCH_BYTES = 1024 * 1024;

export interface RecoveryOptions {
  readonly gcn: number;
  readonly others: readonly RegionName[];
  /** Where every member has what is committed: the answer of one is enough. */
  readonly isOneEnough: boolean;
  readonly newSession: () => number;
}

export class Recovery {
  readonly gcn: number;
  readonly #options: RecoveryOptions;
  readonly #store: PartitionStore;
  readonly #port: RecoveryPort;
  readonly #standings = new Map<RegionName, Standing>();
  #members: readonly RegionName[] = [];
  /** All that have been members meanwhile. */
  readonly #asked = new Set<RegionName>();
  #session: number;
  #source: { readonly region: RegionName; readonly standing: Standing; movedAt: number } | undefined;
  /** When those that have answered decide; Infinity: it is past, or all have to answer. */
  #patientUntil: number;
  #askAt: number;
  #isOver = false;

  constructor(options: RecoveryOptions, store: PartitionStore, port: RecoveryPort) {
    this.gcn = options.gcn;
    this.#options = options;
    this.#store = store;
    this.#port = port;
    this.#session = options.newSession();
    this.#askAt = port.now();
    this.#patientUntil = options.isOneEnough ? this.#askAt + RECOVERY_PATIENCE_MS : Infinity;
  }

  /** The other members of the lease set, as they are known now. */
  follow(members: readonly RegionName[]): void {
    this.#members = members;
    for (const region of members) this.#asked.add(region);
    if (this.#isOver || this.#source !== undefined) return;
    if (this.#askAt <= this.#port.now()) this.#ask();
    this.#decide();
  }

  get nextAt(): number {
    return this.#isOver ? Infinity : Math.min(this.#askAt, this.#patientUntil);
  }

  wake(now: number): void {
    if (this.#isOver) return;
    if (now >= this.#patientUntil) this.#patientUntil = Infinity;
    if (this.#source !== undefined && now - this.#source.movedAt >= RECOVERY_PATIENCE_MS) this.#forsake();
    if (now >= this.#askAt) this.#ask();
    this.#decide();
  }

  /** The link is there: it can answer now. */
  linkReady(region: RegionName): void {
    if (!this.#isOver && !this.#standings.has(region)) this.#survey(region);
  }

  linkLost(region: RegionName): void {
    if (this.#source?.region === region) this.#forsake();
  }

  onStanding(from: RegionName, standing: Standing): void {
    if (this.#isOver || standing.session !== this.#session || this.#standings.has(from)) return;
    this.#standings.set(from, standing);
    this.#decide();
  }

  onFetched(from: RegionName, { session, after, entries }: Fetched): void {
    const source = this.#source;
    const { tail } = this.#store;
    if (source?.region !== from || session !== this.#session || after !== tail.lsn) return;
    const wanted = entries.filter(({ lsn }) => lsn <= source.standing.tail.lsn);
    if (!follows(tail, wanted)) {
      this.#forsake();
      return;
    }
    noteEpochs(this.#store, wanted);
    this.#store.append(wanted);
    source.movedAt = this.#port.now();
    this.#port.flushSoon();
    if (comparePositions(this.#store.tail, source.standing.tail) < 0) this.#fetch();
    else this.#finish(source.standing.gclsn);
  }

  #ask(): void {
    this.#askAt = this.#port.now() + AGAIN_MS;
    if (this.#source !== undefined) this.#fetch();
    else for (const region of this.#options.others) if (!this.#standings.has(region)) this.#survey(region);
  }

  #survey(region: RegionName): void {
    this.#port.send(region, { type: 'survey', gcn: this.gcn, session: this.#session });
  }

  #fetch(): void {
    const { region } = this.#source!;
    const after = this.#store.tail.lsn;
    this.#askAt = this.#port.now() + AGAIN_MS;
    this.#port.send(region, {
      type: 'fetch',
      gcn: this.gcn,
      session: this.#session,
      after,
      maxBytes: FETCH_BYTES,
    });
  }

  /** It is gone, or does not have what it said: everybody is asked anew. */
  #forsake(): void {
    this.#source = undefined;
    this.#standings.clear();
    this.#session = this.#options.newSession();
    this.#ask();
  }

  #decide(): void {
    if (this.#isOver || this.#source !== undefined || !this.#isSettled()) return;
    const [best] = [...this.#standings]
      .filter(([, { building }]) => !building)
      .sort(([, a], [, b]) => comparePositions(b.tail, a.tail));
    if (best === undefined || comparePositions(best[1].tail, this.#store.tail) <= 0) {
      this.#finish(0);
      return;
    }
    const [region, standing] = best;
    this.#takeFrom(region, standing);
  }

  #isSettled(): boolean {
    if (this.#members.every((region) => this.#standings.has(region))) return true;
    if (!this.#options.isOneEnough || this.#patientUntil !== Infinity) return false;
    return this.#members.some((region) => this.#hasSaid(region));
  }

  #takeFrom(region: RegionName, standing: Standing): void {
    const { notes, tail } = this.#store;
    const shared = sharedUpTo({ table: notes.table, tail }, standing);
    const undone = undoBehind(this.#store, shared, this.#port);
    this.#port.cut();
    if (undone === 'refused') {
      // What is committed is here, and not there.
      this.#standings.set(region, { ...standing, building: true });
      this.#decide();
    } else if (undone === 'useless' || shared + 1 < standing.base) {
      this.#isOver = true;
      this.#port.useless();
    } else {
      this.#source = { region, standing, movedAt: this.#port.now() };
      this.#fetch();
    }
  }

  #finish(gclsn: number): void {
    const { notes, tail } = this.#store;
    const known = Math.min(gclsn, tail.lsn);
    if (known > notes.gclsn) this.#store.note({ gclsn: known });
    this.#isOver = true;
    const asked = [...this.#asked];
    this.#port.recovered(asked.some((region) => this.#hasSaid(region)) ? [] : asked);
  }

  /** A copy that is being built says nothing of what was committed. */
  #hasSaid(region: RegionName): boolean {
    return this.#standings.get(region)?.building === false;
  }
}

/** One after the other, without a gap. */
function follows(tail: Position, entries: readonly Entry[]): boolean {
  return entries.length > 0 && entries.every(({ lsn }, at) => lsn === tail.lsn + 1 + at);
}
