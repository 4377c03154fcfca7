/**
 * The writer's commit set (rules 12 to 18): whose durable acknowledgement its commits wait for. It always contains the lease
 * set; it is ahead of it when a region joins and behind it when one leaves. Everything here is measured on the writer's own
 * clock, and nothing that it does not know for certain makes the set smaller.
 */
import {
  type Action,
  awakeIn,
  type Configuration,
  type FailoverState,
  heldLevel,
  keptLevel,
  type Level,
  MACHINE_VERSION,
  namesOf,
  needsLeaseSet,
  promisesMore,
  type RegionName,
  sameLevel,
  unfenced,
  wantedLevel,
  type WriterReport,
} from '../machine/index.ts';
import { certainlyOver } from '../time.ts';
import { type DriverStatus, NEAR_TAIL_MS } from './driver.ts';
import type { CommitSets } from './orders.ts';
import type { Watch } from './watch.ts';

type AcceptWrites = Extract<Action, { do: 'accept writes' }>;

/** A region that silently stopped acknowledging for this share of a lease is in the way. */
const UNANSWERED_SHARE = 1 / 3;
/** A read grant is that share of a lease long. */
export const GRANT_SHARE = 1 / 3;

export interface Takeover {
  readonly epoch: number;
  /** When nobody can have rights under an older GCN any more (rules 12 and 13). */
  readonly oldRightsEndAt: number;
  /** Rule 12: no writes before that, unless everybody has reported. */
  readonly mustWait: boolean;
  /** Rule 13: an earlier process of this region granted what this one does not know of. */
  readonly isRestart: boolean;
}

export interface TakeoverBy {
  readonly status: DriverStatus;
  readonly now: number;
  /** The process began its life as this epoch's writer: it knows nothing of what its predecessor granted (rule 13). */
  readonly isRestart: boolean;
  readonly startedAt: number;
}

export class WriterDuties {
  readonly takeover: Takeover;
  /** Where the log taken over ends, rule 16's bound. Undefined: the driver recovers, and still takes it over from somebody else. */
  #takenOver: number | undefined;
  #commitSet: ReadonlySet<RegionName>;
  /** Rule 14: whom an update of one's own may have put into the lease set, or may put there yet; nobody knows. */
  #doubtful: ReadonlySet<RegionName> = new Set();
  /** An update of one's own may have put a weaker level in force, or may yet; nobody knows. */
  #mayBeWeaker = false;
  /** Since when, by its log, the driver has kept the level that is wanted. */
  #kept: { readonly level: Level; readonly lsn: number } | undefined;
  /** A weaker level waits for the end of what was granted. */
  #isEnding = false;
  /** Members of the commit set that have left the lease set, and when that became known. */
  readonly #leaving = new Map<RegionName, number>();
  /** When `follow` last looked: what was due by then has been dealt with. */
  #followedAt = -Infinity;
  /** The last grant to each region: to which process of it, and when it is certainly over. */
  readonly #grants = new Map<RegionName, { readonly incarnation: number; readonly endsAt: number }>();

  constructor(state: FailoverState, action: AcceptWrites, watch: Watch, by: TakeoverBy) {
    const { status, now, isRestart, startedAt } = by;
    const wholeLease = certainlyOver(state.leaseMs);
    const { waitFor, after } = action;
    // From when exactly that triple was held; otherwise from receiving the state that carries it: now (rule 12).
    const since = after === undefined ? now : (watch.heldSince(after) ?? now);
    const restartedSince = status.progress.epoch === state.gcn ? startedAt : now;
    this.takeover = {
      epoch: state.gcn,
      oldRightsEndAt: isRestart
        ? restartedSince + wholeLease
        : after === undefined
          ? now
          : since + wholeLease,
      mustWait: waitFor !== undefined,
      isRestart,
    };
    this.#lookAtLog(status);
    const all = waitFor !== undefined || isRestart;
    this.#commitSet = new Set(all ? namesOf(state) : state.leaseSet);
  }

  get commitSet(): readonly RegionName[] {
    return [...this.#commitSet];
  }

  /** Rule 12: whether writes and strong reads may begin. */
  mayAccept(action: AcceptWrites, now: number): boolean {
    return action.waitFor === undefined || this.hasWaited(now);
  }

  hasWaited(now: number): boolean {
    return !this.takeover.mustWait || now >= this.takeover.oldRightsEndAt;
  }

  /** When something here will change by the passing of time alone. */
  get nextAt(): number {
    const awaited = this.#isEnding ? this.#grants.keys() : this.#leaving.keys();
    const ends = [...awaited].map((region) => this.#grants.get(region)?.endsAt ?? -Infinity);
    const isAwaited = this.takeover.mustWait || this.#isEnding || ends.length > 0;
    const waits = isAwaited ? [this.takeover.oldRightsEndAt] : [];
    return Math.min(Infinity, ...[...ends, ...waits].filter((at) => at > this.#followedAt));
  }

  /**
   * Rule 14: an update is on its way that makes this of the state, if it gets there. Whoever is a member in it stays in the commit
   * set, whatever becomes of that update, of its answer, or of the region. And if it makes the level weaker, nothing is granted any more.
   */
  asked(found: FailoverState, { gcn, leaseSet, configuration }: FailoverState): void {
    if (gcn !== this.takeover.epoch) return;
    this.#doubtful = new Set([...this.#doubtful, ...leaseSet]);
    this.#mayBeWeaker ||= promisesMore(heldLevel(found.configuration), heldLevel(configuration));
  }

  /**
   * A later update of one's own is in the register: what came before it is in that state, or never will be in any. One process has
   * one update under way, so the earlier ones had an older ballot, or built on a state without this one. Of two ballots
   * that are both chosen the later one's value descends from the earlier one's (`spec/caspaxos.tla`, `ChosenDescends`); so none of
   * those can still be chosen. A read promises nothing to anybody, and settles nothing.
   */
  settled(): void {
    this.#doubtful = new Set();
    this.#mayBeWeaker = false;
  }

  /** While writes are quiesced nobody leaves (rule 18): what was due by now is looked at again afterwards. */
  postpone(now: number): void {
    this.#followedAt = now;
  }

  /** The lease set as the last successful update returned it, and how replication stands. */
  follow(state: FailoverState, action: AcceptWrites, status: DriverStatus, now: number): void {
    this.#followedAt = now;
    this.#lookAtLog(status);
    this.#isEnding = isWeakening(state.configuration);
    const members = new Set([...state.leaseSet, ...this.#doubtful]);
    const next = new Set([...this.#commitSet, ...members]);
    for (const region of members) this.#leaving.delete(region);
    for (const region of this.#commitSet) {
      if (members.has(region) || region === state.writer) continue;
      if (this.#isJoining(state, region, status)) this.#leaving.delete(region);
      else if (!this.#leaving.has(region)) this.#leaving.set(region, now);
      if (this.#mayLeave(state, action, region, now)) {
        next.delete(region);
        this.#leaving.delete(region);
      }
    }
    // Rule 18: pending changes are finished before the writes are quiesced, and none begins on the way there.
    if (needsLeaseSet(state.configuration.consistency) && state.phase === 'Steady') {
      for (const region of namesOf(state)) if (this.#isJoining(state, region, status)) next.add(region);
    }
    this.#commitSet = next;
  }

  /**
   * A log that is being recovered grows by what others have, and by what was committed long ago: neither rule 16's bound nor what was
   * acknowledged under another level can be told before that has ended.
   */
  #lookAtLog({ recovering, progress }: DriverStatus): void {
    if (recovering !== true) this.#takenOver ??= progress.lsn;
    else this.#takenOver = this.#kept = undefined;
  }

  /** Rule 17: the removal is known, its grant has certainly run out, and the waits of rules 12 and 13 are over. */
  #mayLeave(state: FailoverState, action: AcceptWrites, region: RegionName, now: number): boolean {
    if (!this.#leaving.has(region) || state.quiesce === true) return false;
    const grant = this.#grants.get(region);
    // Rule 22: the very process that got the last grant has stopped. It says nothing of another process, nor of what an
    // earlier life of this writer granted.
    const { stop } = state.regions[region] ?? {};
    if (
      stop !== undefined &&
      !this.takeover.isRestart &&
      (grant === undefined || grant.incarnation === stop)
    ) {
      return true;
    }
    const isUnfenced = this.takeover.isRestart || (action.unfenced?.includes(region) ?? false);
    if (isUnfenced && now < this.takeover.oldRightsEndAt) return false;
    return now >= (grant?.endsAt ?? -Infinity);
  }

  /** Rule 16, first half: built, fenced, acknowledging and nearly at the tail. */
  #isJoining(state: FailoverState, region: RegionName, status: DriverStatus): boolean {
    const known = state.regions[region];
    const peer = status.peers[region];
    if (known === undefined || peer === undefined || region === state.writer) return false;
    return (
      known.building !== true &&
      known.leaving !== true &&
      known.stop === undefined &&
      known.report !== undefined &&
      peer.acknowledgedMsAgo < unansweredMs(state.configuration) &&
      peer.behindMs <= NEAR_TAIL_MS
    );
  }

  /** What the writer says and asks for in its next report; of its driver only what that has carried out. */
  report(state: FailoverState, status: DriverStatus, driver: CommitSets, now: number): WriterReport {
    this.#lookAtLog(status);
    const { configuration, leaseSet, writer } = state;
    const limit = unansweredMs(configuration);
    const floor = Math.max(status.gclsn, this.#takenOver ?? Infinity);
    const peers = Object.entries(status.peers);
    const add = peers
      .filter(([name, { lsn }]) => !leaseSet.includes(name) && this.#commitSet.has(name) && lsn >= floor)
      .filter(([name]) => driver.certain.has(name) && this.#isJoining(state, name, status))
      .map(([name]) => name);
    // At weaker levels nobody waits for the lease set, and it follows the reports by itself.
    const mayAsk = needsLeaseSet(configuration.consistency);
    const isSilent = (name: RegionName): boolean =>
      (status.peers[name]?.acknowledgedMsAgo ?? Infinity) >= limit;
    const isGoing = (name: RegionName): boolean => {
      const { leaving, stop } = state.regions[name] ?? {};
      return leaving === true || stop !== undefined;
    };
    // While it recovers, whoever it does not hear may have what it lacks.
    const mayRemove = mayAsk && status.recovering !== true;
    const remove = leaseSet.filter(
      (name) => mayRemove && name !== writer && (isGoing(name) || isSilent(name)),
    );
    const wanted = wantedLevel(configuration);
    const isReady = wanted !== undefined && this.#isReady(state, status, driver, now);
    return {
      commitSet: [...new Set([...this.#commitSet, ...driver.possible])],
      caughtUp: peers.filter(([, { behindMs }]) => behindMs <= NEAR_TAIL_MS).map(([name]) => name),
      ...(add.length > 0 && { add }),
      ...(remove.length > 0 && { remove }),
      ...(isReady && { readyFor: wanted.level }),
    };
  }

  /**
   * Whether the wanted level can be put in force. What was acknowledged before the driver kept it is on the whole commit set; what was
   * acknowledged since then waited for that anyway. And where it is weaker, nobody has a right to read by the stronger one.
   */
  #isReady(state: FailoverState, status: DriverStatus, { keeps }: CommitSets, now: number): boolean {
    const { configuration } = state;
    if (keeps === undefined || !sameLevel(keeps, keptLevel(configuration))) {
      this.#kept = undefined;
      return false;
    }
    if (this.#takenOver === undefined) return false;
    if (this.#kept === undefined || !sameLevel(this.#kept.level, keeps))
      this.#kept = { level: keeps, lsn: status.progress.lsn };
    // What the editor would not take is not asked for again and again.
    if (state.phase !== 'Steady') return false;
    if (isWeakening(configuration)) {
      const isTooEarly = awakeIn(state, MACHINE_VERSION) < 3 || this.#hasGranted(state, now);
      if (isTooEarly) return false;
    }
    if (!isRising(configuration)) return true;
    if (this.#commitSet.size < configuration.minDurability) return false;
    const { lsn } = this.#kept;
    // A region of which the driver knows nothing is not known to have anything.
    const hasAll = (name: RegionName): boolean => {
      const peer = status.peers[name];
      return peer !== undefined && peer.acknowledgedMsAgo < Infinity && peer.lsn >= lsn;
    };
    return [...this.#commitSet].every((name) => name === state.writer || hasAll(name));
  }

  /** Whether a grant may run: one of its own, of an earlier process of this region, or of an older GCN. */
  #hasGranted(state: FailoverState, now: number): boolean {
    const isOlder = this.takeover.isRestart || unfenced(state).length > 0;
    return this.rightsLeftMs(now) > 0 || (isOlder && now < this.takeover.oldRightsEndAt);
  }

  /**
   * For how long from now something may run that this region has given, or an earlier process of it: grants, and what those granted
   * that it knows nothing of. However short the leases have become since, silence is measured by no less (rule 4).
   */
  rightsLeftMs(now: number): number {
    const ends = [...this.#grants.values()].map(({ endsAt }) => endsAt);
    const earlier = this.takeover.isRestart ? [this.takeover.oldRightsEndAt] : [];
    return Math.max(0, ...[...ends, ...earlier].map((endsAt) => endsAt - now));
  }

  /** Rule 15: for how long the asking process may serve strong reads; 0 is no. It counts from when it asked. */
  grant(state: FailoverState, asker: Asker, leaseLeftMs: number, now: number): number {
    const { region, incarnation } = asker;
    const { configuration } = state;
    // Strong and bounded reads end with their level, and nothing new may begin that a weaker one would have to wait for.
    const isOver =
      this.#mayBeWeaker || isWeakening(configuration) || !needsLeaseSet(configuration.consistency);
    if (isOver) return 0;
    const isMember = this.#commitSet.has(region) && state.leaseSet.includes(region);
    const known = state.regions[region];
    // A process of that region which a later one has replaced.
    const isOutlived = incarnation < (known?.incarnation ?? 0);
    if (!isMember || isOutlived || state.final !== undefined || known?.stop !== undefined) return 0;
    const ms = Math.max(0, Math.min(state.leaseMs * GRANT_SHARE, leaseLeftMs));
    const endsAt = now + certainlyOver(ms);
    const earlier = this.#grants.get(region)?.endsAt ?? -Infinity;
    if (ms > 0) this.#grants.set(region, { incarnation, endsAt: Math.max(endsAt, earlier) });
    return ms;
  }
}

/** Who asks for a grant: a region, and which process of it. */
export interface Asker {
  readonly region: RegionName;
  readonly incarnation: number;
}

/** Whether a level is wanted that promises more than the one in force; another bound may promise more and less. */
function isRising(configuration: Configuration): boolean {
  const wish = wantedLevel(configuration);
  return wish !== undefined && promisesMore(wish, heldLevel(configuration));
}

/** Whether a level is wanted that promises less than the one in force. */
function isWeakening(configuration: Configuration): boolean {
  const wish = wantedLevel(configuration);
  return wish !== undefined && promisesMore(heldLevel(configuration), wish);
}

export function unansweredMs({ timings }: Configuration): number {
  return timings.leaseMs * UNANSWERED_SHARE;
}
