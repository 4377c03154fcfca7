/**
 * What a process must find out about its own disk before it counts on it: `recovery.ts` for a writer, and for a reader that it has what the
 * writer welcomed it to. Here is also what it answers to another region's recovery.
 */
import { gcnOf, type Position } from '../model.ts';
import type { PartitionStore } from '../store.ts';
import type { RegionName } from './forwarder.ts';
import type { Fetch, Fetched, PartitionMessage, Standing, Survey } from './messages.ts';
import type { PartitionOptions, PartitionPort } from './port.ts';
import { contains } from './progress-table.ts';
import { Recovery } from './recovery.ts';
import type { Consistency, WriterRole } from './reign.ts';

/** The copy, as far as this needs it. */
export interface Verified {
  readonly options: PartitionOptions;
  readonly store: PartitionStore;
  readonly port: PartitionPort;
  readonly consistency: Consistency;
  /** A read met an entry that is damaged. */
  noticeDamage(error: unknown): void;
  wantFlush(): void;
}

export interface VerifiedBy {
  newSession(): number;
  /** Entries were undone, and nothing was appended since. */
  changedLog(): void;
  recovered(role: WriterRole): void;
  /** It cannot go on as the writer. */
  giveUp(): void;
}

export class Verifying {
  readonly #copy: Verified;
  readonly #by: VerifiedBy;
  #recovery: { readonly run: Recovery; role: WriterRole } | undefined;
  #isVerified: boolean;
  #isShort = false;
  #sureFrom = 0;

  constructor(copy: Verified, by: VerifiedBy) {
    this.#copy = copy;
    this.#by = by;
    // The first process on this disk has no earlier one to recover from.
    this.#isVerified = copy.store.notes.incarnation <= 1;
  }

  get isVerified(): boolean {
    return this.#isVerified;
  }

  /** A region of the commit set knows something to be committed that this copy lacks: another one is to be the writer. */
  get isShort(): boolean {
    return this.#isShort;
  }

  get recovery(): Recovery | undefined {
    return this.#recovery?.run;
  }

  /** As the role says it: what was committed in GCNs before that one may be undone. */
  set sureFrom(gcn: number | undefined) {
    this.#sureFrom = gcn ?? 0;
  }

  /** The epoch is over. */
  fenced(): void {
    this.#isShort = false;
    this.end();
  }

  /** It is not to be the writer any more. */
  end(): void {
    this.#recovery = undefined;
  }

  /** As a reader it has got what the writer had. */
  reconciled(): void {
    this.#isVerified = true;
    this.#isShort = false;
    this.#copy.port.changed('soon');
  }

  /** What whoever undoes or takes over entries needs of this copy. */
  get port() {
    const { port } = this.#copy;
    return {
      send: (to: RegionName, message: PartitionMessage): void => port.send(to, message),
      now: (): number => port.now(),
      wallClock: (): number => port.wallClock(),
      flushSoon: (): void => this.#copy.wantFlush(),
      undone: (count: number, after: number, committed: boolean): void =>
        port.event({ event: 'undone', count, after, committed }),
      unlisted: (count: number): void => port.event({ event: 'unlisted', count }),
      mayUndo: ({ epoch }: Position): boolean =>
        this.#copy.consistency.level !== 'Strong' || gcnOf(epoch) < this.#sureFrom,
    };
  }

  recover(role: WriterRole): void {
    if (this.#recovery?.run.gcn !== role.epoch) this.#recovery = { run: this.#newRecovery(role.epoch), role };
    this.#recovery.role = role;
    const members = role.leaseSet ?? role.commitSet;
    this.#recovery.run.follow(members.filter((region) => region !== this.#copy.options.region));
  }

  #newRecovery(gcn: number): Recovery {
    const { options, store, port } = this.#copy;
    const { level } = this.#copy.consistency;
    const isOneEnough = level === 'Strong' || level === 'BoundedStaleness';
    const others = options.regions.filter((region) => region !== options.region);
    const { lsn: before } = store.tail;
    return new Recovery({ gcn, others, isOneEnough, newSession: () => this.#by.newSession() }, store, {
      ...this.port,
      cut: () => this.#by.changedLog(),
      recovered: (unheard) => {
        const { role } = this.#recovery!;
        this.#recovery = undefined;
        this.#isVerified = true;
        const count = store.tail.lsn - before;
        if (count !== 0) port.event({ event: 'recovered', count });
        if (unheard.length > 0) port.event({ event: 'unconfirmed', asked: unheard });
        this.#by.recovered(role);
      },
      useless: () => {
        store.note({ building: true });
        this.#by.giveUp();
      },
    });
  }

  /** A reader says that this writer lacks what is committed. If it is so, and commits wait for that reader, this copy gives up. */
  onShort(by: RegionName, position: Position, { commitSet }: WriterRole): void {
    const { store, port } = this.#copy;
    if (contains({ table: store.notes.table, tail: store.tail }, position)) return;
    port.event({ event: 'short', by, lsn: position.lsn });
    if (!commitSet.includes(by)) return;
    this.#isShort = true;
    this.#isVerified = false;
    this.#by.giveUp();
  }

  onMessage(from: RegionName, message: Standing | Fetched): void {
    const run = this.recovery;
    if (run?.gcn !== message.gcn) return;
    if (message.type === 'standing') run.onStanding(from, message);
    else run.onFetched(from, message);
  }

  /** To a writer that has restarted: what this copy has. */
  answer(to: RegionName, message: Survey | Fetch): void {
    const { store, port } = this.#copy;
    const { notes, tail, base } = store;
    const { gcn, session } = message;
    if (message.type === 'survey') {
      const { table, gclsn, building } = notes;
      port.send(to, { type: 'standing', gcn, session, table, tail, base, gclsn, building });
    } else if (!notes.building && message.after + 1 >= base) {
      const { after, maxBytes } = message;
      try {
        const entries = store.entriesAfter(after, maxBytes);
        port.send(to, { type: 'fetched', gcn, session, after, entries });
      } catch (error) {
        this.#copy.noticeDamage(error);
      }
    }
  }
}
