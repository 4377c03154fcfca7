/**
 * Who a store is, and whether it still remembers all that it answered (rule 8). Its identity document says the first; the second is
 * judged by what this process has seen, by the line of memory that the server tells (`lineage.ts`), and by what another process
 * found out and wrote into the identity document.
 *
 * Whoever finds that a store has forgotten makes the finding lasting: `retired` goes into the identity document by a conditional
 * write, and every process that reads the document refuses the store from then on. It is read with every register that is not
 * known yet, after every failure, and every few seconds while the store is in use.
 *
 * An empty store shows what it is to everybody, and must stay recognisably empty. A foreign one is not ours to write to: the
 * one that was meant may be well, behind the right address. Neither is used, for as long as it is what answers at the address: when the
 * right one is back there, it is compared with what was seen of it, like after any failure.
 */
import type { Host } from '../../protocol/index.ts';
import { checkServes } from '../claims.ts';
import { asCasPaxosError, CasPaxosError, type LastingCode, notThere } from '../errors.ts';
import { retirementError } from '../retired.ts';
import { decodeIdentity, encodeIdentity, type IdentityDocument } from './documents.ts';
import { IDENTITY_KEY } from './keys.ts';
import type { AcceptorStore, StoredDocument } from './store.ts';

/** How old the last look may be while the store is in use. */
export const LOOK_AGAIN_MS = 5000;
/** A finding that could not be written is written when the store is asked for again, so often at the most. */
const RETIRE_AGAIN_MS = 1000;
/** Each conflict means that somebody changes the set, or retires the store as well. */
const MAX_CONFLICTS = 16;

/** What was known when something was asked of the store; the answer may come late, and is not measured by what came later. */
interface Seen {
  readonly set: number;
  readonly line: string | undefined;
}

const FORGOT_ITSELF = 'it has lost its identity, and so its memory';

interface Finding {
  readonly id: string;
  readonly retired: NonNullable<IdentityDocument['retired']>;
}

export class StoreIdentity {
  readonly #store: AcceptorStore;
  readonly #host: Host;
  #expectedId: string | undefined;
  #expectedCluster: string | undefined;
  /** It was seen to be a member of the expected cluster: it stays that for life. */
  #isMember = true;
  /** What the identity document was seen to name: the newest set, and the line of memory. */
  #seen: Seen = { set: 0, line: undefined };
  /** Whether everything was well at the last look, and nothing has failed since. */
  #isChecked = false;
  #lookedAt = 0;
  #looking: Promise<void> | undefined;
  #lost: CasPaxosError | undefined;
  /** What is to be written into the identity document of `id`. */
  #finding: Finding | undefined;
  #isRetiring = false;
  #retiredAt = -Infinity;

  constructor(store: AcceptorStore, host: Host) {
    this.#store = store;
    this.#host = host;
  }

  get isExpected(): boolean {
    return this.#expectedId !== undefined;
  }

  /** The number of the newest set that the identity document was seen to name. */
  get set(): number {
    return this.#seen.set;
  }

  get seen(): Seen {
    return this.#seen;
  }

  /** Why this store is not used any more. */
  get lost(): CasPaxosError | undefined {
    return this.#lost;
  }

  expect(id: string, cluster?: string): void {
    if (id !== this.#expectedId) {
      // What was seen of another one says nothing of the one that is meant, and nor does the last look.
      this.#isChecked = false;
      this.#seen = { set: 0, line: undefined };
      this.#lost = this.#finding = undefined;
    }
    this.#expectedId = id;
    this.#expectedCluster = cluster;
    this.#isMember = cluster === undefined;
  }

  /** Throws if it belongs to another cluster than the expected one. */
  checkMember(identity: IdentityDocument): void {
    if (this.#isMember) return;
    checkServes(this.#store.url, identity, this.#expectedCluster);
    this.#isMember = true;
  }

  /** Before registers are spoken of: whether it is well, and a member. */
  async verifiedMember(): Promise<IdentityDocument> {
    const identity = await this.verified();
    this.checkMember(identity);
    return identity;
  }

  /** Replaces the document by what `edit` makes of it; undefined leaves it. */
  edit(edit: (identity: IdentityDocument) => Promise<IdentityDocument | undefined>): Promise<void> {
    return this.#replace(async (identity, seen) => edit(this.verify(identity, seen)));
  }

  /** Runs work on the store, unless it is lost. When the work finds it lost, that is made lasting before anybody hears of it. */
  async guard<T>(work: () => Promise<T>): Promise<T> {
    if (this.#lost !== undefined) {
      if (this.#host.now() - this.#retiredAt >= RETIRE_AGAIN_MS) void this.#makeLasting();
      throw this.#lost;
    }
    try {
      const result = await work();
      if (this.#store.lineage?.broken !== undefined) await this.verified();
      // By another call: this answer may come from what has forgotten.
      if (this.#lost !== undefined) throw this.#lost;
      return result;
    } catch (error) {
      // After a failure the store may be another one: look at it again before the next batch.
      this.#isChecked = false;
      if (this.#lost !== undefined) await this.#makeLasting();
      throw this.#lost ?? error;
    }
  }

  /**
   * Carries out a batch with a look at the store: before it, if something failed since the last look; beside it when that was a while
   * ago. Then nobody is answered before both are there: another process may have retired it long since, and a register that was
   * written last before an old copy was made has the same version in that copy.
   */
  looked<T>(batch: () => Promise<T>): Promise<T> {
    if (!this.#isChecked || !this.#isMember) return this.#look().then(batch);
    if (this.#host.now() - this.#lookedAt < LOOK_AGAIN_MS) return batch();
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return Promise.all([batch(), this.#looking]).then(([result]) => result);
  }

  async read(): Promise<IdentityDocument | undefined> {
    const [document] = await this.#store.read([IDENTITY_KEY]);
    return this.decode(document);
  }

  decode(document: StoredDocument | undefined): IdentityDocument | undefined {
    return document && decodeIdentity(document.text, `the identity of ${this.#store.url}`);
  }

  async verified(): Promise<IdentityDocument> {
    const { seen } = this;
    return this.verify(await this.read(), seen);
  }

  /** `seen`: what was known when the document was asked for. */
  verify(identity: IdentityDocument | undefined, seen: Seen): IdentityDocument {
    if (identity === undefined) throw this.#without('ACCEPTOR_EMPTY', FORGOT_ITSELF);
    this.#expectedId ??= identity.id;
    this.checkMemory(identity);
    const set = identity.configuration?.number ?? 0;
    if (set < seen.set)
      this.retire(
        identity.id,
        'ACCEPTOR_BEHIND',
        `it knows set ${set} but knew set ${seen.set}, as from an old copy`,
      );
    if (identity.lineage === undefined && seen.line !== undefined)
      this.retire(
        identity.id,
        'ACCEPTOR_BEHIND',
        'it has forgotten which server it was on, as from an old copy',
      );
    this.#seen = { set: Math.max(this.#seen.set, set), line: identity.lineage ?? this.#seen.line };
    return identity;
  }

  /** Whether it is the one that is meant, and what the document and the server themselves say to whoever asks. */
  checkMemory({ id, retired, lineage: recorded }: IdentityDocument): void {
    if (id !== (this.#expectedId ?? id))
      throw this.#without('ACCEPTOR_FOREIGN', `it is ${id}, not ${this.#expectedId}`);
    if (retired !== undefined) {
      this.#lost ??= retirementError(retired);
      throw this.#lost;
    }
    const { lineage } = this.#store;
    const broken =
      lineage?.broken ?? (recorded === undefined ? undefined : lineage?.differenceFrom(recorded));
    if (broken !== undefined) this.retire(id, broken.code, broken.why);
  }

  /** It has forgotten something: nobody uses it any more. */
  retire(id: string, code: LastingCode, why: string): never {
    if (this.#lost !== undefined) throw this.#lost;
    const at = new Date(this.#host.wallClock()).toISOString();
    this.#finding = { id, retired: { code, why: this.#sentence(why), at } };
    return this.#lose(code, why);
  }

  /** From here on this store counts as down: a fresh memory in an old place is worse than none. */
  #lose(code: LastingCode, why: string): never {
    this.#lost ??= new CasPaxosError(code, this.#sentence(why));
    throw this.#lost;
  }

  /** The one that is meant is not there. */
  #without(code: 'ACCEPTOR_EMPTY' | 'ACCEPTOR_FOREIGN', why: string): CasPaxosError {
    return notThere(this.#store.url, code, why);
  }

  #sentence(why: string): string {
    return `Acceptor ${this.#store.url} is not used any more: ${why}. Replace it.`;
  }

  /** Gives a store that holds nothing an identity; two processes may try, and one wins. */
  async create(holdsRegisters: () => Promise<boolean>): Promise<IdentityDocument> {
    if (this.#expectedId !== undefined) throw this.#without('ACCEPTOR_EMPTY', FORGOT_ITSELF);
    if (await holdsRegisters())
      throw this.#without('ACCEPTOR_EMPTY', 'it holds registers but has lost its identity');
    const line = this.#store.lineage?.line;
    const text = encodeIdentity({
      id: this.#host.randomId(),
      createdAt: new Date(this.#host.wallClock()).toISOString(),
      ...(line !== undefined && { lineage: line }),
    });
    const [result] = await this.#store.write([{ key: IDENTITY_KEY, text, expected: undefined }]);
    if (result?.result === 'failed') throw asCasPaxosError(result.error, 'STORE_FAILED', this.#store.url);
    const made = await this.read();
    if (made !== undefined) return made;
    throw new CasPaxosError(
      'STORE_FAILED',
      `Acceptor ${this.#store.url} does not keep what is written to it.`,
    );
  }

  async #look(): Promise<void> {
    const { seen } = this;
    // The answer may be long under way.
    const askedAt = this.#host.now();
    const [[document]] = await Promise.all([this.#store.read([IDENTITY_KEY]), this.#store.lookAgain?.()]);
    const identity = this.verify(this.decode(document), seen);
    this.checkMember(identity);
    await this.#takeOverLine(identity, document!);
    this.#lookedAt = askedAt;
    this.#isChecked = true;
  }

  /** Documents of earlier versions name no line: they get the one that they are seen on. If that fails, the next look tries again. */
  async #takeOverLine(identity: IdentityDocument, { version }: StoredDocument): Promise<void> {
    const line = this.#store.lineage?.line;
    if (line === undefined || identity.lineage !== undefined) return;
    const text = encodeIdentity({ ...identity, lineage: line });
    await this.#store.write([{ key: IDENTITY_KEY, text, expected: version }]);
  }

  /** Never rejects: what it cannot write now is written when the store is asked for again. */
  async #makeLasting(): Promise<void> {
    if (this.#finding === undefined || this.#isRetiring) return;
    this.#isRetiring = true;
    this.#retiredAt = this.#host.now();
    try {
      await this.#writeFinding(this.#finding);
      this.#finding = undefined;
    } catch {
      // The store is away, or refuses: whoever asks for it next is refused all the same.
    } finally {
      this.#isRetiring = false;
    }
  }

  async #writeFinding({ id, retired }: Finding): Promise<void> {
    await this.#replace(async (identity) => {
      // Emptied or exchanged meanwhile, or retired by another process.
      if (identity?.id !== id || identity.retired !== undefined) return undefined;
      return { ...identity, retired };
    });
  }

  /** `make` gets the document as it is, each time that somebody else was faster, and what was known when it was asked for. */
  async #replace(
    make: (identity: IdentityDocument | undefined, seen: Seen) => Promise<IdentityDocument | undefined>,
  ): Promise<void> {
    const { url } = this.#store;
    for (let conflicts = 0; conflicts < MAX_CONFLICTS; conflicts += 1) {
      const { seen } = this;
      const [document] = await this.#store.read([IDENTITY_KEY]);
      const made = await make(this.decode(document), seen);
      if (made === undefined) return;
      const write = { key: IDENTITY_KEY, text: encodeIdentity(made), expected: document?.version };
      const [result] = await this.#store.write([write]);
      if (result?.result === 'written') return;
      if (result?.result === 'failed') throw asCasPaxosError(result.error, 'STORE_FAILED', url);
    }
    const message = `The identity of ${url} changes faster than it can be written: look at who else writes to it.`;
    throw new CasPaxosError('STORE_FAILED', message);
  }
}
