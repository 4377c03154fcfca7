/**
 * The time in which this region is the writer of one GCN: the writes that wait for their commit, and when they are committed.
 * At Strong an entry is globally committed when every region of the commit set has it on disk, said in this reign; at weaker
 * levels as soon as this region has it. Here a quorum of replicas will stand for `durable` when a region keeps several.
 *
 * A new writer knows only the GCLSN it knows. It shows nothing strongly before the whole log that it took over has been
 * committed again by its commit set (rule 6), and a write that is still waiting when the reign ends has no known outcome.
 */
import type { Entry, Epoch } from '../model.ts';
import type { PartitionStore } from '../store.ts';
import type { ReadLevel } from './answers.ts';
import { Forwarder, type ForwarderLimits, type ForwarderPort, type RegionName } from './forwarder.ts';
import type { Marks } from './messages.ts';
import { noteEpochs } from './notes.ts';

export interface Consistency {
  readonly level: ReadLevel;
  /** A reader is at most so many writes and seconds behind: at BoundedStaleness, and on the way from there to Strong. */
  readonly staleness?: { readonly writes: number; readonly seconds: number };
}

export interface WriterRole {
  readonly epoch: number;
  readonly accepts: boolean;
  readonly commitSet: readonly RegionName[];
  /** From now on: what reads are promised, and what commits wait for. Absent: as before. */
  readonly serves?: Consistency;
  readonly keeps?: Consistency;
  /** For a process that has to recover first (`recovery.ts`): whose answers tell what is committed. Absent: the commit set. */
  readonly leaseSet?: readonly RegionName[];
  /** As of a reader. */
  readonly sureFrom?: number;
}

/** A write that is in the log and not committed yet. */
export interface WaitingWrite {
  readonly deadlineAt: number;
  /** True: it is committed. False: nobody knows. */
  readonly done: (isCommitted: boolean) => void;
}

/** When an entry was written, on this clock: one of many. */
interface Sample {
  readonly lsn: number;
  readonly at: number;
}

const SAMPLE_MS = 50;
const LOOK_MS = 100;

export interface ReignOptions {
  readonly gcn: number;
  readonly epoch: Epoch;
  readonly region: RegionName;
  readonly others: readonly RegionName[];
  readonly durable: number;
  readonly now: number;
  readonly limits?: ForwarderLimits;
}

export class Reign {
  readonly gcn: number;
  readonly epoch: Epoch;
  readonly forwarder: Forwarder;
  readonly #options: ReignOptions;
  readonly #store: PartitionStore;
  /** Where the log ended that this reign began with, and up to where it is to be committed again before it is shown strongly. */
  readonly #began: number;
  #takenOver: number;
  #role: WriterRole;
  #consistency: Consistency;
  #durable: number;
  #safe = 0;
  #everywhere = 0;
  #waiting: (WaitingWrite & { readonly lsn: number })[] = [];
  #samples: Sample[] = [];
  #lookedAt = 0;

  constructor(
    options: ReignOptions,
    role: WriterRole,
    consistency: Consistency,
    store: PartitionStore,
    port: ForwarderPort,
  ) {
    this.gcn = options.gcn;
    this.epoch = options.epoch;
    this.#options = options;
    this.#store = store;
    this.#role = role;
    this.#consistency = consistency;
    this.#began = store.tail.lsn;
    this.#takenOver = this.#began;
    this.#durable = options.durable;
    this.#samples = [{ lsn: this.#takenOver, at: options.now }];
    this.forwarder = new Forwarder(options.epoch, store, port, options.limits);
    for (const other of options.others) this.forwarder.invite(other, options.now);
  }

  get role(): WriterRole {
    return this.#role;
  }

  set role(role: WriterRole) {
    this.#role = role;
  }

  /** What was committed under a weaker level may be here alone: before it is shown strongly, everybody has to have it. */
  set consistency(consistency: Consistency) {
    if (consistency.level !== this.#consistency.level) this.#takenOver = this.#store.tail.lsn;
    this.#consistency = consistency;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Whether the log that it began with is on this disk: the end of it may have come from another region a moment ago. */
  get isOnDisk(): boolean {
    return this.#durable >= this.#began;
  }

  /** Rule 6. */
  get isRecommitted(): boolean {
    return this.#safe >= this.#takenOver;
  }

  get marks(): Marks {
    return { gclsn: this.#store.notes.gclsn, safe: this.#safe, everywhere: this.#everywhere };
  }

  /** Takes an entry of this epoch that follows the tail. */
  append(entry: Entry, now: number, write: WaitingWrite): void {
    noteEpochs(this.#store, [entry]);
    this.#store.append([entry]);
    this.#waiting.push({ ...write, lsn: entry.lsn });
    const isDue = now - this.#samples.at(-1)!.at >= SAMPLE_MS;
    if (isDue && this.#bound !== undefined) this.#samples.push({ lsn: entry.lsn, at: now });
  }

  onDurable(lsn: number): void {
    this.#durable = Math.max(this.#durable, lsn);
  }

  /** Commits what can be committed. True if the GCLSN rose, or the reign's log became safe. */
  settle(): boolean {
    const { commitSet } = this.#role;
    const safe = Math.min(
      this.#durable,
      ...commitSet
        .filter((region) => region !== this.#options.region)
        .map((region) => this.forwarder.durableAt(region)),
    );
    const { others } = this.#options;
    const everywhere = Math.min(this.#durable, ...others.map((region) => this.forwarder.durableAt(region)));
    // A region that went away still has what it had.
    this.#everywhere = Math.max(this.#everywhere, everywhere);
    const isSafer = safe > this.#safe;
    this.#safe = Math.max(this.#safe, safe);
    const committed = this.#consistency.level === 'Strong' ? safe : this.#durable;
    const isNews = committed > this.#store.notes.gclsn;
    if (isNews) this.#store.note({ gclsn: committed });
    this.#answer();
    return isNews || isSafer;
  }

  #answer(): void {
    const { gclsn } = this.#store.notes;
    let count = 0;
    while (count < this.#waiting.length && this.#waiting[count]!.lsn <= gclsn) count += 1;
    if (count === 0) return;
    for (const { done } of this.#waiting.splice(0, count)) done(true);
  }

  /** When to look again for writes whose time is over. */
  get nextAt(): number {
    return this.#waiting.length === 0 ? Infinity : this.#lookedAt + LOOK_MS;
  }

  /** Whoever waited too long is told that nobody knows; the entry stays in the log. */
  wake(now: number): void {
    if (now < this.nextAt) return;
    this.#lookedAt = now;
    const late = this.#waiting.filter(({ deadlineAt }) => deadlineAt <= now);
    if (late.length === 0) return;
    this.#waiting = this.#waiting.filter(({ deadlineAt }) => deadlineAt > now);
    for (const { done } of late) done(false);
  }

  /** The role ends, and nobody knows what becomes of what waits. */
  end(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { done } of waiting) done(false);
  }

  get #bound(): Consistency['staleness'] {
    const { level, staleness } = this.#consistency;
    return level === 'BoundedStaleness' || level === 'Strong' ? staleness : undefined;
  }

  /** Bounded staleness: whether a region of the lease set is so far behind that no further write may be taken. */
  isHeldBack(now: number): boolean {
    const staleness = this.#bound;
    if (staleness === undefined) return false;
    const known = this.#leastKnown();
    const isFull = this.#store.tail.lsn - known >= staleness.writes;
    return isFull || this.#ageOf(known, now) >= staleness.seconds * 1000;
  }

  /** Until a reader that gets a grant now could be too far behind: for how long the grant may run. */
  freshForMs(region: RegionName, now: number): number {
    const staleness = this.#bound;
    if (staleness === undefined) return Infinity;
    const known = this.forwarder.committedAt(region);
    // How old the log is that was taken over, nobody here knows.
    if (known < this.#takenOver) return 0;
    return staleness.seconds * 1000 - this.#ageOf(known, now);
  }

  /** What every other region of the commit set has on disk and knows to be committed. */
  #leastKnown(): number {
    const others = this.#role.commitSet.filter((region) => region !== this.#options.region);
    const known = others.flatMap((region) => [
      this.forwarder.durableAt(region),
      this.forwarder.committedAt(region),
    ]);
    return Math.min(this.#store.tail.lsn, ...known);
  }

  /** How old the first entry behind that LSN is: a little more than the truth, never less. */
  #ageOf(lsn: number, now: number): number {
    if (lsn >= this.#store.tail.lsn) return 0;
    const least = this.#leastKnown() + 1;
    let drop = 0;
    while (drop + 1 < this.#samples.length && this.#samples[drop + 1]!.lsn <= least) drop += 1;
    if (drop > 0) this.#samples = this.#samples.slice(drop);
    // An entry without a sample came soon after the one before it that has one.
    return now - (this.#samples.findLast((sample) => sample.lsn <= lsn + 1)?.at ?? this.#options.now);
  }
}
