/**
 * A simple model of replication for experiments with the failover agents: the logs of one partition-set's regions, advanced
 * analytically from one event to the next. Writes arrive at a steady rate; the writer takes them while its role and lease
 * allow it; readers that follow its epoch over a working link keep up with it, and catch up at a multiple of that rate; at
 * Strong a commit waits for the whole commit set. A log is a list of epochs with the LSN that each ends at, so that false
 * progress is undone where histories part, as in the engine that takes this model's place later.
 */
import {
  type DriverStatus,
  type PeerStatus,
  type Progress,
  type RegionName,
  type Role,
} from '../../failover/index.ts';

export interface ReplicationOptions {
  readonly regions: readonly RegionName[];
  readonly isStrong: boolean;
  readonly writesPerSecond: number;
  /** How much faster than the writes come a region can catch up. */
  readonly catchUpFactor: number;
  /** One way between two regions. */
  readonly delayMs: (from: number, to: number) => number;
}

interface Segment {
  readonly epoch: number;
  end: number;
}

export interface Copy {
  readonly name: RegionName;
  isUp: boolean;
  role: Role | undefined;
  /** Until when it may accept writes, in true time. */
  leaseUntil: number;
  log: Segment[];
  /** The last epoch that it was writer of. */
  wroteIn: number;
  gclsn: number;
  /** When each other region last proved that it makes durable what it is sent. */
  readonly heardAt: number[];
  canCommit: boolean;
}

/** Writes that a writer takes although they cannot be committed yet. */
const WINDOW = 100;

export class Replication {
  readonly copies: readonly Copy[];
  readonly #options: ReplicationOptions;
  readonly #isLinked: (from: number, to: number) => boolean;
  #now = 0;
  /** The longest log prefix that a client was told is safe: its last epoch and LSN. */
  acknowledged: Progress = { epoch: 0, lsn: 0 };
  lostWrites = 0;
  /** Told whenever a stretch of time passed in which a region's commits went on. */
  onService: (region: number, from: number, to: number) => void = () => {};
  onAccepting: (region: number, from: number, to: number) => void = () => {};

  constructor(options: ReplicationOptions, isLinked: (from: number, to: number) => boolean) {
    this.#options = options;
    this.#isLinked = isLinked;
    this.copies = options.regions.map((name) => ({
      name,
      isUp: true,
      role: undefined,
      leaseUntil: -Infinity,
      log: [],
      wroteIn: 0,
      gclsn: 0,
      heardAt: options.regions.map(() => 0),
      canCommit: true,
    }));
  }

  /** Everything that replication does by itself up to now. Called before anything else changes. */
  advance(now: number): void {
    const from = this.#now;
    if (now <= from) return;
    this.#now = now;
    this.#listen(now);
    for (let index = 0; index < this.copies.length; index += 1) {
      const copy = this.copies[index]!;
      if (copy.isUp && copy.role?.role === 'writer') this.#write(index, copy, copy.role, from, now);
    }
  }

  /** The region takes that role; what its log has that the writer's has not is undone (rule 5). */
  assume(index: number, role: Role): void {
    const copy = this.copies[index]!;
    copy.role = role;
    if (role.role !== 'writer' || copy.wroteIn >= role.epoch) return;
    copy.wroteIn = role.epoch;
    this.#checkNothingLost(copy);
  }

  status(index: number, now: number): DriverStatus {
    this.advance(now);
    const copy = this.copies[index]!;
    const peers: Record<RegionName, PeerStatus> = {};
    for (const [other, { name }] of this.copies.entries()) {
      if (other === index) continue;
      const lsn = this.#durableOn(index, other);
      const missing = (copy.log.at(-1)?.end ?? 0) - lsn;
      peers[name] = {
        acknowledgedMsAgo: now - copy.heardAt[other]!,
        lsn: Math.floor(lsn),
        behindMs: this.#options.delayMs(index, other) + missing / this.#catchUpPerMs,
      };
    }
    return {
      build: 'Built',
      progress: endOf(copy.log),
      gclsn: Math.floor(copy.gclsn),
      canCommit: copy.canCommit,
      peers,
      quiesced: copy.role?.role !== 'writer' || !copy.role.accepts,
    };
  }

  /** Whether the follower has everything of its writer's log. */
  isCaughtUp(index: number): boolean {
    const { role, log } = this.copies[index]!;
    if (role?.role !== 'reader') return false;
    const writer = this.copies.find(({ name }) => name === role.writer);
    return writer !== undefined && (writer.log.at(-1)?.end ?? 0) === (log.at(-1)?.end ?? 0);
  }

  /** Whether a writer has not heard for that long from a region that its commits may wait for. */
  hasSilentMember(now: number, ms: number): boolean {
    this.advance(now);
    return this.copies.some(({ isUp, role, heardAt }, index) => {
      if (!isUp || role?.role !== 'writer') return false;
      return heardAt.some(
        (at, other) => other !== index && now - at > ms && role.commitSet.includes(this.copies[other]!.name),
      );
    });
  }

  get #catchUpPerMs(): number {
    return (this.#options.writesPerSecond / 1000) * this.#options.catchUpFactor;
  }

  #listen(now: number): void {
    const { copies } = this;
    for (let index = 0; index < copies.length; index += 1) {
      const copy = copies[index]!;
      if (!copy.isUp) continue;
      for (let other = 0; other < copies.length; other += 1) {
        const peer = copies[other]!;
        const isHeard =
          other !== index && peer.isUp && this.#isLinked(index, other) && this.#isLinked(other, index);
        if (isHeard && this.#acknowledges(copy, peer)) copy.heardAt[other] = now;
      }
    }
  }

  /** A writer hears only from those that follow its epoch; others prove themselves to each other by a probe. */
  #acknowledges({ role }: Copy, peer: Copy): boolean {
    if (role?.role !== 'writer') return true;
    const { role: theirs } = peer;
    return theirs?.role === 'reader' && theirs.epoch === role.epoch;
  }

  #write(
    index: number,
    copy: Copy,
    role: Extract<Role, { role: 'writer' }>,
    from: number,
    now: number,
  ): void {
    const until = Math.max(from, Math.min(now, copy.leaseUntil));
    const isAccepting = role.accepts && until > from && copy.canCommit;
    if (isAccepting) this.onAccepting(index, from, until);
    const before = copy.log.at(-1)?.end ?? 0;
    const rate = this.#options.writesPerSecond / 1000;
    const wanted = isAccepting ? before + rate * (until - from) : before;
    const members = this.#members(role);
    extend(
      copy.log,
      role.epoch,
      Math.min(wanted, this.#slowest(index, members) + WINDOW + rate * (until - from)),
    );
    for (let other = 0; other < this.copies.length; other += 1) {
      if (other !== index) this.#replicate(index, copy, other, this.copies[other]!, now - from);
    }
    const slowest = this.#slowest(index, members);
    this.#commit(index, copy, Math.min(copy.log.at(-1)?.end ?? 0, slowest), from, until, isAccepting);
  }

  #members(role: Extract<Role, { role: 'writer' }>): readonly number[] {
    if (!this.#options.isStrong) return [];
    return role.commitSet.map((name) => this.copies.findIndex((copy) => copy.name === name));
  }

  #slowest(index: number, members: readonly number[]): number {
    let slowest = Infinity;
    for (const member of members) {
      if (member !== index) slowest = Math.min(slowest, this.#durableOn(index, member));
    }
    return slowest;
  }

  /** Up to where the other region holds the writer's history. */
  #durableOn(index: number, other: number): number {
    const writer = this.copies[index]!.log;
    return commonPrefix(writer, this.copies[other]!.log);
  }

  #replicate(index: number, copy: Copy, other: number, peer: Copy, ms: number): void {
    const { role } = peer;
    const follows =
      role?.role === 'reader' &&
      role.writer === copy.name &&
      'epoch' in copy.role! &&
      role.epoch === copy.role.epoch;
    if (!follows || !peer.isUp || !this.#isLinked(index, other) || !this.#isLinked(other, index)) return;
    const shared = commonPrefix(copy.log, peer.log);
    const rate = this.#options.writesPerSecond / 1000;
    const underWay = rate * this.#options.delayMs(index, other);
    const tail = copy.log.at(-1)?.end ?? 0;
    const isQuiet = copy.role?.role === 'writer' && !copy.role.accepts;
    const goal = Math.max(shared, isQuiet ? tail : tail - underWay);
    const reached = Math.min(goal, shared + Math.max(1, this.#catchUpPerMs * ms));
    peer.log = upTo(copy.log, reached);
    peer.gclsn = Math.min(copy.gclsn, reached);
  }

  #commit(index: number, copy: Copy, lsn: number, from: number, until: number, isAccepting: boolean): void {
    if (lsn <= copy.gclsn) return;
    copy.gclsn = lsn;
    const { epoch } = endOf(copy.log);
    if (epoch > this.acknowledged.epoch || lsn > this.acknowledged.lsn) this.acknowledged = { epoch, lsn };
    if (isAccepting) this.onService(index, from, until);
  }

  /** A Strong acknowledged write is in every later writer's log. */
  #checkNothingLost({ log }: Copy): void {
    if (!this.#options.isStrong) return;
    const missing = Math.floor(this.acknowledged.lsn) - endOf(log).lsn;
    if (missing > 0) this.lostWrites += missing;
  }
}

/** The epoch of the last entry, and its LSN. The model counts in fractions of writes; people in whole ones. */
function endOf(log: readonly Segment[]): Progress {
  const last = log.at(-1);
  return last === undefined ? { epoch: 0, lsn: 0 } : { epoch: last.epoch, lsn: Math.floor(last.end) };
}

/** Never shortens: what was written stays written until somebody undoes it. */
function extend(log: Segment[], epoch: number, end: number): void {
  const last = log.at(-1);
  if (end <= (last?.end ?? 0)) return;
  if (last?.epoch === epoch) last.end = end;
  else log.push({ epoch, end });
}

/** Up to which LSN two logs tell the same history. */
function commonPrefix(a: readonly Segment[], b: readonly Segment[]): number {
  let shared = 0;
  for (let at = 0; at < Math.min(a.length, b.length); at += 1) {
    if (a[at]!.epoch !== b[at]!.epoch) return shared;
    shared = Math.min(a[at]!.end, b[at]!.end);
    if (a[at]!.end !== b[at]!.end) return shared;
  }
  return shared;
}

function upTo(log: readonly Segment[], lsn: number): Segment[] {
  const copied: Segment[] = [];
  for (const { epoch, end } of log) {
    copied.push({ epoch, end: Math.min(end, lsn) });
    if (end >= lsn) break;
  }
  return copied;
}
