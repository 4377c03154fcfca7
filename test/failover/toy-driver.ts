/** The driver that docs/driver.md builds. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { AgentView, Driver, DriverStatus, PeerStatus, RegionName, Role } from 'baton/failover';
import { sameRole } from 'baton/failover';

export interface Change {
  readonly epoch: number;
  readonly key: string;
  readonly value: string;
}

/** A copy of the data: a file, replaced as a whole at every change. */
export class ToyStore {
  /** As it is in the file. */
  kept = { incarnation: 0, fence: 0, log: [] as readonly Change[], gclsn: 0 };
  /** Whether the last save succeeded. */
  works = false;
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
    if (existsSync(file)) this.kept = JSON.parse(readFileSync(file, 'utf8')) as ToyStore['kept'];
  }

  save(changes: Partial<ToyStore['kept']>): void {
    this.works = false;
    const next = { ...this.kept, ...changes };
    writeFileSync(`${this.#file}.new`, JSON.stringify(next), { flush: true });
    renameSync(`${this.#file}.new`, this.#file);
    this.kept = next;
    this.works = true;
  }
}

/** What copies send each other. Without a log it is a probe: are you there, and can you write to your disk? */
export interface Message {
  readonly from: RegionName;
  readonly epoch: number;
  readonly gclsn: number;
  readonly log?: readonly Change[];
}

export interface ToyOptions {
  readonly region: RegionName;
  readonly others: readonly RegionName[];
  readonly store: ToyStore;
  /** Carries a message to the other's `receive` and brings back the answer. Rejects when there is none. */
  readonly send: (to: RegionName, message: Message) => Promise<number | undefined>;
}

const TICK_MS = 50;

/** The epoch in which a copy with that role writes; 0 for none. */
const reignOf = (role: Role | undefined): number => (role?.role === 'writer' ? role.epoch : 0);

export class ToyDriver implements Driver {
  readonly #options: ToyOptions;
  readonly #store: ToyStore;
  readonly #timer = setInterval(() => this.#tick(), TICK_MS);
  readonly #heard = new Map<RegionName, { readonly at: number; readonly lsn: number }>();
  #role: Role | undefined;
  #agent: AgentView | undefined;
  #takenOver = 0;
  #isClosed = false;
  #waiting: { lsn: number; done: () => void; fail: (error: Error) => void }[] = [];

  constructor(options: ToyOptions) {
    this.#options = options;
    this.#store = options.store;
  }

  // ---- what the agent asks for

  async incarnation(): Promise<number> {
    this.#store.save({ incarnation: this.#store.kept.incarnation + 1 });
    return this.#store.kept.incarnation;
  }

  attach(agent: AgentView): void {
    this.#agent = agent;
  }

  status(): DriverStatus {
    const { log, gclsn } = this.#store.kept;
    const peers: Record<RegionName, PeerStatus> = {};
    for (const other of this.#options.others) {
      const { at, lsn } = this.#heard.get(other) ?? { at: -Infinity, lsn: -1 };
      const ago = performance.now() - at;
      peers[other] = { acknowledgedMsAgo: ago, lsn: Math.max(0, lsn), behindMs: lsn < log.length ? ago : 0 };
    }
    const role = this.#role;
    return {
      build: 'Built',
      progress: { epoch: log.at(-1)?.epoch ?? 0, lsn: log.length },
      gclsn,
      canCommit: this.#store.works && !this.#isClosed,
      peers,
      quiesced: role?.role !== 'writer' || (!role.accepts && this.#waiting.length === 0),
    };
  }

  async assume(role: Role): Promise<void> {
    if (sameRole(this.#role, role)) return;
    if ('epoch' in role) {
      if (role.epoch < this.#store.kept.fence) throw new Error(`Epoch ${role.epoch} is over.`);
      this.#store.save({ fence: role.epoch });
    }
    if (reignOf(role) !== reignOf(this.#role)) this.#beginReign();
    this.#role = role;
    this.#commit();
    this.#replicate();
    this.#agent?.changed();
  }

  // ---- what clients ask for

  async write(key: string, value: string): Promise<void> {
    const epoch = this.#servedEpoch();
    this.#store.save({ log: [...this.#store.kept.log, { epoch, key, value }] });
    const lsn = this.#store.kept.log.length;
    const committed = new Promise<void>((done, fail) => this.#waiting.push({ lsn, done, fail }));
    this.#commit();
    this.#replicate();
    return committed;
  }

  /** A strong read. */
  read(key: string): string | undefined {
    this.#servedEpoch();
    const { log, gclsn } = this.#store.kept;
    if (gclsn < this.#takenOver) throw new Error('The log that was taken over is not committed yet.');
    return log.slice(0, gclsn).findLast((change) => change.key === key)?.value;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#isClosed = true;
    this.#role = undefined;
  }

  // ---- replication

  /** The answer: up to where this copy has the sender's log on disk. No answer: it does not follow the sender. */
  receive({ from, epoch, log, gclsn }: Message): number | undefined {
    const role = this.#role;
    if (log === undefined) {
      this.#store.save({});
      return 0;
    }
    const follows = role?.role === 'reader' || role?.role === 'builder';
    if (!follows || role.writer !== from || role.epoch !== epoch) return undefined;
    const own = this.#store.kept.log;
    const isLate = own.at(-1)?.epoch === epoch && own.length > log.length;
    const isSame = own.at(-1)?.epoch === log.at(-1)?.epoch && own.length === log.length;
    if (isSame || isLate) return log.length;
    this.#store.save({ log, gclsn });
    this.#agent?.changed();
    return log.length;
  }

  #servedEpoch(): number {
    const role = this.#role;
    if (role?.role === 'writer' && role.accepts && this.#agent?.mayWrite() === true) return role.epoch;
    throw new Error(`${this.#options.region} takes no writes and serves no strong reads.`);
  }

  #beginReign(): void {
    this.#heard.clear();
    this.#takenOver = this.#store.kept.log.length;
    for (const { fail } of this.#waiting.splice(0)) fail(new Error('The outcome is not known.'));
  }

  #tick(): void {
    const didWork = this.#store.works;
    try {
      this.#store.save({});
    } catch {
      if (didWork) this.#agent?.changed();
    }
    this.#replicate();
  }

  #replicate(): void {
    for (const other of this.#options.others) void this.#exchange(other).catch(() => undefined);
  }

  async #exchange(other: RegionName): Promise<void> {
    const { region, send } = this.#options;
    const { log, gclsn } = this.#store.kept;
    const epoch = reignOf(this.#role);
    const at = performance.now();
    const lsn = await send(other, { from: region, epoch, gclsn, ...(epoch > 0 && { log }) });
    if (lsn === undefined || reignOf(this.#role) !== epoch) return;
    const before = this.#heard.get(other)?.lsn ?? -1;
    this.#heard.set(other, { at, lsn: Math.max(lsn, before) });
    this.#commit();
    if (lsn > before) this.#agent?.changed();
  }

  #commit(): void {
    const role = this.#role;
    if (role?.role !== 'writer') return;
    const others = role.commitSet.filter((name) => name !== this.#options.region);
    const has = others.map((name) => this.#heard.get(name)?.lsn ?? 0);
    const committed = Math.min(this.#store.kept.log.length, ...has);
    if (committed > this.#store.kept.gclsn) this.#store.save({ gclsn: committed });
    const done = this.#waiting.filter(({ lsn }) => lsn <= committed);
    this.#waiting = this.#waiting.filter(({ lsn }) => lsn > committed);
    for (const write of done) write.done();
  }
}
