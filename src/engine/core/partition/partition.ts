/**
 * One region's copy of a partition-set (paper 2 and 5.3): a state machine that is told what to be, takes writes and reads,
 * and talks to the other copies. No I/O and no clock here: the host carries its messages, keeps its store, and wakes it.
 *
 *   write ──▶ evaluate ──▶ append ──┬──▶ store ──on disk──┐
 *  (requests.ts)                    └──▶ forwarder ──acks─┴──▶ settle: the GCLSN rises ──▶ answers, marks to the readers
 *
 * It knows nothing of how failover is decided. It asks `mayWrite` before it takes a write or shows something strongly, and
 * tells its agent when something has changed that the agent should know of.
 */
import { comparePositions, epochOf, gcnOf, type Position, primaryOf } from '../model.ts';
import type { PartitionStore } from '../store.ts';
import { Damage } from './damage.ts';
import { Following } from './following.ts';
import type { RegionName } from './forwarder.ts';
import type { Marks, PartitionMessage } from './messages.ts';
import { putNotesRight } from './notes.ts';
import { OpenUndone } from './open-undone.ts';
import type {
  PartitionOptions,
  PartitionPort,
  PartitionRole,
  PartitionStatus,
  PeerStanding,
} from './port.ts';
import { contains, epochAt } from './progress-table.ts';
import { type Consistency, Reign, type WriterRole } from './reign.ts';
import { Verifying } from './verifying.ts';
import { Waits } from './waits.ts';

const SESSIONS = 2 ** 20;
/** A disk that did not take something is tried again. */
const DISK_AGAIN_MS = 500;

export class PartitionStateMachine {
  readonly options: PartitionOptions;
  readonly store: PartitionStore;
  readonly port: PartitionPort;
  /** Requests that wait for something of this partition. */
  readonly waits: Waits;
  readonly #incarnation: number;
  readonly damage: Damage;
  readonly #verifying: Verifying;
  readonly #undone: OpenUndone;
  #consistency: Consistency;
  #fence: number;
  #reign: Reign | undefined;
  #following: Following | undefined;
  #isGone = false;
  #durable: Position;
  /** What the disk was last asked to take. */
  #onItsWay: Position;
  #diskError: Error | undefined;
  #diskAgainAt = Infinity;
  #isDirty = false;
  #wasQuiet = false;
  #sessions = 0;

  /** The store's notes hold this process's incarnation already, on disk. */
  constructor(options: PartitionOptions, store: PartitionStore, port: PartitionPort) {
    this.options = options;
    this.store = store;
    this.port = port;
    this.waits = new Waits(() => port.now());
    putNotesRight(store);
    this.#consistency = options.consistency;
    this.#incarnation = store.notes.incarnation;
    this.#fence = store.notes.fence;
    this.#durable = store.tail;
    this.#onItsWay = store.tail;
    this.damage = new Damage(this);
    this.#undone = new OpenUndone(store);
    this.#verifying = this.#newVerifying();
  }

  get reign(): Reign | undefined {
    return this.#reign;
  }

  get following(): Following | undefined {
    return this.#following;
  }

  get isRecovering(): boolean {
    return this.#verifying.recovery !== undefined;
  }

  get incarnation(): number {
    return this.#incarnation;
  }

  /** The highest GCN that this copy was told of: it takes part in no older one. */
  get fence(): number {
    return this.#fence;
  }

  get diskError(): Error | undefined {
    return this.#diskError;
  }

  /** Whether what it holds is a state of the partition-set at all. */
  get isReadable(): boolean {
    return !this.#isGone && !this.store.notes.building;
  }

  /** What this copy may show: everything up to here is globally committed, as far as it knows. */
  get committed(): Position {
    const { gclsn, table } = this.store.notes;
    return { epoch: epochAt(table, gclsn), lsn: gclsn };
  }

  get marks(): Marks {
    const { gclsn } = this.store.notes;
    const told = this.#reign?.marks ?? this.#following?.marks;
    if (told === undefined) return { gclsn, safe: 0, everywhere: 0 };
    return { gclsn, safe: Math.min(told.safe, gclsn), everywhere: Math.min(told.everywhere, gclsn) };
  }

  /** What is promised here. A writer's commits may keep more, while a stronger level is on its way. */
  get consistency(): Consistency {
    return this.#consistency;
  }

  set consistency(consistency: Consistency) {
    this.#consistency = consistency;
    if (this.#reign !== undefined) this.#reign.consistency = consistency;
    this.settle();
  }

  // ---- roles

  /** Becomes that. `done` is called when it is that on disk too; after an error it is to be told again. */
  assume(role: PartitionRole, done: (error: Error | undefined) => void): void {
    if (role.role === 'gone') {
      this.#isGone = true;
      this.#leave();
      done(undefined);
      return;
    }
    if (role.epoch < this.#fence) {
      done(new Error(`Epoch ${role.epoch} is over: this copy knows of ${this.#fence}.`));
      return;
    }
    this.#isGone = false;
    if (role.epoch > this.#fence) {
      // Fence first (rule 7): what ran under an older GCN is over before anybody is told.
      this.#leave();
      this.#verifying.fenced();
      this.#fence = role.epoch;
      this.store.note({ fence: role.epoch });
    }
    // Before anything is committed or shown in that role.
    if ('serves' in role && role.serves !== undefined) this.#consistency = role.serves;
    this.#verifying.sureFrom = 'sureFrom' in role ? role.sureFrom : undefined;
    if (role.role === 'writer') this.#lead(role);
    else if (role.role === 'fenced') this.#leave();
    else this.#follow(role);
    const { tail } = this.store;
    this.store.sync((error) => {
      this.#onDurable(tail, error);
      done(error);
    });
    this.wantFlush();
  }

  #leave(): void {
    this.#following = undefined;
    this.#verifying.end();
    this.#endReign();
    this.waits.again();
  }

  /** Whoever is told so may come back at once, and finds no reign. */
  #endReign(): void {
    const reign = this.#reign;
    this.#reign = undefined;
    reign?.end();
  }

  #lead(role: WriterRole): void {
    const { isShort, isVerified } = this.#verifying;
    // A copy that is being built has nothing to welcome anybody to.
    if (this.store.notes.building || isShort) {
      this.#giveUp();
      return;
    }
    this.#following = undefined;
    this.#wasQuiet = false;
    if (this.#reign?.gcn === role.epoch) {
      this.#reign.role = role;
      if (role.keeps !== undefined) this.#reign.consistency = role.keeps;
    } else {
      this.#endReign();
      if (isVerified) this.#beginReign(role);
      else this.#verifying.recover(role);
    }
    this.settle();
    this.waits.again();
  }

  #giveUp(): void {
    this.#leave();
    this.#changedRole();
  }

  #changedRole(): void {
    this.waits.again();
    this.wantFlush();
    this.port.changed('at once');
  }

  #beginReign(role: WriterRole): void {
    const { region, regions, forwarder: limits } = this.options;
    const [gcn, epoch] = [role.epoch, epochOf(role.epoch, this.#incarnation)];
    const others = regions.filter((name) => name !== region);
    const by = { gcn, epoch, region, others, durable: this.#durable.lsn, now: this.port.now() };
    const options = limits === undefined ? by : { ...by, limits };
    this.#reign = new Reign(options, role, role.keeps ?? this.#consistency, this.store, this.port);
  }

  #newVerifying(): Verifying {
    return new Verifying(this, {
      newSession: () => this.#newSession(),
      changedLog: () => this.#wasCut(),
      recovered: (role) => {
        this.#beginReign(role);
        this.#changedRole();
      },
      giveUp: () => this.#giveUp(),
    });
  }

  #follow({ epoch, writer }: { readonly epoch: number; readonly writer: RegionName }): void {
    this.#endReign();
    this.#verifying.end();
    if (this.#following?.gcn === epoch && this.#following.writer === writer) return;
    this.#following = new Following(
      { gcn: epoch, writer, newSession: () => this.#newSession() },
      this.store,
      {
        ...this.#verifying.port,
        advanced: (entries) => {
          this.#undone.returned(entries);
          this.waits.again();
        },
        refused: ({ lsn }) => this.port.event({ event: 'refused', writer, lsn }),
        reconciled: () => this.#verifying.reconciled(),
        built: () => this.#undone.copied(),
      },
      this.options.following,
    );
    this.#following.wake(this.port.now());
  }

  #newSession(): number {
    this.#sessions += 1;
    return this.#incarnation * SESSIONS + this.#sessions;
  }

  status(): PartitionStatus {
    const { notes } = this.store;
    const peers: Record<RegionName, PeerStanding> = {};
    for (const region of this.options.regions) {
      if (region !== this.options.region) peers[region] = this.#peer(region);
    }
    const { epoch, lsn } = this.#durable;
    return {
      build: notes.building ? 'Building' : 'Built',
      progress: { epoch: gcnOf(epoch), primary: primaryOf(epoch), lsn },
      gclsn: Math.min(notes.gclsn, lsn),
      canCommit: this.#diskError === undefined && !this.#isGone && !this.#verifying.isShort,
      ...(!(this.#verifying.isVerified && this.#reign?.isOnDisk !== false) && { recovering: true }),
      peers,
      quiesced: this.#isQuiet(),
    };
  }

  #isQuiet(): boolean {
    if (this.isRecovering) return false;
    if (this.#reign === undefined) return true;
    const isOnDisk = comparePositions(this.#durable, this.store.tail) === 0;
    return !this.#reign.role.accepts && this.#reign.waiting === 0 && isOnDisk;
  }

  /** What was cut off the log does not count as durable any more; what is left had been on disk. */
  #wasCut(): void {
    const { notes, tail } = this.store;
    if (!contains({ table: notes.table, tail }, this.#durable)) this.#durable = tail;
    this.#undone.look();
  }

  /** A writer counts on those that follow it (rule 5); others prove by their nodes that they are there. */
  #peer(region: RegionName): PeerStanding {
    const heardMsAgo = this.port.heardMsAgo(region);
    if (this.#reign === undefined) return { acknowledgedMsAgo: heardMsAgo, lsn: 0, behindMs: Infinity };
    const standing = this.#reign.forwarder.standing(region, this.store.tail.lsn, this.port.now());
    if (standing === undefined) return { acknowledgedMsAgo: Infinity, lsn: 0, behindMs: Infinity };
    const { lsn, stuckMs, behindMs } = standing;
    return { acknowledgedMsAgo: Math.max(heardMsAgo, stuckMs), lsn, behindMs };
  }

  // ---- messages

  onMessage(from: RegionName, message: PartitionMessage): void {
    if (message.type === 'damaged' || message.type === 'repair') {
      this.damage.onMessage(from, message);
    } else if (message.gcn < this.#fence) {
      // Everybody's replication of an older epoch is refused (rule 7).
      if (message.type !== 'refuse' && 'session' in message)
        this.port.send(from, { type: 'refuse', gcn: this.#fence, session: message.session });
    } else if (message.type === 'survey' || message.type === 'fetch') {
      if (message.gcn === this.#fence && !this.#isGone) this.#verifying.answer(from, message);
    } else if (message.type === 'standing' || message.type === 'fetched') {
      this.#verifying.onMessage(from, message);
    } else if (this.#reign?.gcn === message.gcn) {
      this.#toWriter(this.#reign, from, message);
    } else if (this.#following?.gcn === message.gcn && this.#following.writer === from) {
      this.#toReader(this.#following, message);
    }
  }

  #toWriter(reign: Reign, from: RegionName, message: PartitionMessage): void {
    const { forwarder } = reign;
    const now = this.port.now();
    if (message.type === 'follow') {
      // Before the welcome: whoever is too far behind gives up what it has, and may be the last to have it.
      this.damage.ask(from);
      forwarder.onFollow(from, message, now);
      this.wantFlush();
    } else if (message.type === 'ready') {
      forwarder.onReady(from, message, now);
      this.settle();
      this.wantFlush();
      this.port.changed('soon');
    } else if (message.type === 'ack') {
      if (forwarder.onAck(from, message, now)) this.settle();
      if (forwarder.hasCaughtUp(from, this.store.tail.lsn)) this.port.changed('soon');
      this.waits.again();
      this.wantFlush();
    } else if (message.type === 'short') {
      this.#verifying.onShort(from, message, reign.role);
    } else if (message.type === 'ask') {
      this.#grant(reign, from, message, now);
    }
  }

  #grant(reign: Reign, from: RegionName, ask: Extract<PartitionMessage, { type: 'ask' }>, now: number): void {
    const { session, number, incarnation } = ask;
    // Rule 6 holds for readers too: what they would show has to be committed again first.
    const isDue = reign.forwarder.isFollowedBy(from, session) && reign.isRecommitted && this.port.mayWrite();
    const { level } = this.#consistency;
    const isKept = level === 'Strong' || level === 'BoundedStaleness';
    const fresh = isDue && isKept ? reign.freshForMs(from, now) : 0;
    const granted = fresh > 0 ? this.port.grant({ region: from, incarnation }) : 0;
    const ms = Math.min(granted, fresh);
    this.port.send(from, { type: 'grant', gcn: reign.gcn, session, number, ms, ...(isKept && { level }) });
  }

  #toReader(following: Following, message: PartitionMessage): void {
    switch (message.type) {
      case 'invite':
        following.invited(this.port.now());
        break;
      case 'welcome':
        following.onWelcome(message);
        this.#wasCut();
        break;
      case 'entries':
        following.onEntries(message);
        break;
      case 'grant':
        following.onGrant(message);
        this.waits.again();
        break;
      default:
    }
  }

  /** A read met a damaged entry. Any other error is thrown on. */
  noticeDamage(error: unknown): void {
    this.damage.notice(error);
  }

  linkLost(region: RegionName): void {
    this.#reign?.forwarder.drop(region);
    this.#verifying.recovery?.linkLost(region);
    if (this.#following?.writer === region) this.#following.linkLost();
  }

  /** The link is there, or takes more again. */
  linkReady(region: RegionName): void {
    this.damage.ask(region);
    this.#verifying.recovery?.linkReady(region);
    if (this.#reign !== undefined) {
      this.#reign.forwarder.invite(region, this.port.now());
      this.wantFlush();
    }
    if (this.#following?.writer === region && !this.#following.isFollowing)
      this.#following.invited(this.port.now());
  }

  /** The process stood still for a while: what it was granted may be over. */
  suspended(): void {
    this.#following?.dropGrant();
  }

  // ---- time and disk

  get nextAt(): number {
    return Math.min(
      this.#reign?.nextAt ?? Infinity,
      this.#reign?.forwarder.nextAt ?? Infinity,
      this.#following?.nextAt ?? Infinity,
      this.#verifying.recovery?.nextAt ?? Infinity,
      this.waits.nextAt,
      this.damage.nextAt,
      this.#diskAgainAt,
    );
  }

  wake(): void {
    const now = this.port.now();
    this.#following?.wake(now);
    this.#verifying.recovery?.wake(now);
    this.#reign?.wake(now);
    if (this.#reign !== undefined && this.#reign.forwarder.nextAt <= now) {
      this.#reign.forwarder.wake(now);
      this.wantFlush();
    }
    this.waits.wake(now);
    this.damage.wake(now);
    if (now >= this.#diskAgainAt) {
      this.#diskAgainAt = now + DISK_AGAIN_MS;
      this.wantFlush();
    }
  }

  wantFlush(): void {
    if (this.#isDirty) return;
    this.#isDirty = true;
    this.port.flushSoon();
  }

  /** Sends this turn's work on its way, to the readers and to the disk. */
  flush(): void {
    this.#isDirty = false;
    // To the readers first: their disks work while this one does.
    const reign = this.#reign;
    reign?.forwarder.pump(reign.marks, this.port.now(), (error) => this.noticeDamage(error));
    const { tail } = this.store;
    if (comparePositions(tail, this.#onItsWay) !== 0 || this.#diskError !== undefined) {
      this.#onItsWay = tail;
      this.store.sync((error) => this.#onDurable(tail, error));
    }
  }

  #onDurable(tail: Position, error: Error | undefined): void {
    this.#noteDisk(error);
    this.port.look();
    // What was cut back since is spoken for by a later sync.
    const isThere =
      tail.lsn <= this.store.tail.lsn && epochAt(this.store.notes.table, tail.lsn) === tail.epoch;
    if (error !== undefined || !isThere) return;
    this.#durable = tail;
    this.#reign?.onDurable(tail.lsn);
    this.#following?.onDurable(tail.lsn);
    if (this.#following !== undefined && tail.lsn === this.store.tail.lsn) this.port.changed('soon');
    this.settle();
  }

  #noteDisk(error: Error | undefined): void {
    if ((error === undefined) === (this.#diskError === undefined)) return;
    this.#diskError = error;
    this.#diskAgainAt = error === undefined ? Infinity : this.port.now() + DISK_AGAIN_MS;
    this.port.event({ event: 'disk', error });
    this.port.changed('at once');
    this.waits.again();
  }

  /** Commits what can be committed, and answers who waited for it. */
  settle(): void {
    if (this.#reign === undefined) return;
    if (this.#reign.settle()) {
      this.waits.again();
      this.wantFlush();
    }
    const isQuiet = this.#isQuiet();
    if (isQuiet && !this.#wasQuiet) this.port.changed('at once');
    this.#wasQuiet = isQuiet;
  }
}
