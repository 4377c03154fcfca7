/**
 * An acceptor over a store: read the register's document, apply the role, write it back on the condition that nobody
 * else did; on a conflict read again and re-apply, which the role allows because it is idempotent (paper 4.3.1; rule 7).
 *
 * Known versions are kept, so that a phase costs one conditional write and no read while nobody interferes. Where others
 * write the register in turns, as the regions of a partition-set do, the first phase reads before it writes, until a look
 * finds that nobody did. What is kept is also the measure of rule 8: a document whose ballots went backwards came from an old copy.
 *
 * A single document is all that a store can guard, so the number of the set (rule 9) stands in every document; and
 * whenever a register was read or created, the identity document is read once more *afterwards*. Whoever changes the
 * set writes the identity documents first and lists the registers then: either the list has the register, and it gets
 * rewritten under the new number, or this process sees the new number here.
 */
import type { Acceptor, AcceptorDescription } from '../acceptors.ts';
import { type Ballot, compareBallots, type Host } from '../../protocol/index.ts';
import {
  answer,
  type Configuration,
  EMPTY_RECORD,
  type RegisterRecord,
  type RegisterReply,
  type RegisterRequest,
} from '../core/index.ts';
import { checkInstall, checkReserve } from '../claims.ts';
import { asCasPaxosError, CasPaxosError } from '../errors.ts';
import { NODE_HOST } from '../node-host.ts';
import { decodeRecord, encodeRecord } from './documents.ts';
import { IDENTITY_KEY, registerKey, registerOf, REGISTER_PREFIX } from './keys.ts';
import type { AcceptorStore, ConditionalWrite, StoreVersion, WriteResult } from './store.ts';
import { StoreIdentity } from './store-identity.ts';

interface Known {
  readonly record: RegisterRecord;
  /** Undefined: there is no document yet. */
  readonly version: StoreVersion | undefined;
  /** Somebody else has written since, or may have: read again before the next write. */
  readonly stale?: true;
  /** Others write it in turns with this process: a ballot begins with a look, not with a write that will be refused. */
  readonly shared?: true;
}

interface Change {
  readonly work: Work;
  readonly record: RegisterRecord;
  readonly answers: readonly RegisterReply[];
  readonly expected: StoreVersion | undefined;
}

/** The requests of a batch that concern one register, and where their replies go. */
interface Work {
  readonly key: string;
  readonly requests: readonly RegisterRequest[];
  readonly places: readonly number[];
}

const REMEMBERED_REGISTERS = 100_000;
/** Each conflict means that somebody else made progress on the register; this many in a row means something else. */
const MAX_CONFLICTS = 64;

export class StoreAcceptor implements Acceptor {
  readonly url: string;
  readonly concurrency: number;
  readonly #store: AcceptorStore;
  readonly #host: Host;
  readonly #remembered: number;
  readonly #known = new Map<string, Known>();
  readonly #identity: StoreIdentity;

  constructor(store: AcceptorStore, host: Host = NODE_HOST, remembered = REMEMBERED_REGISTERS) {
    this.#store = store;
    this.#host = host;
    this.#remembered = remembered;
    this.#identity = new StoreIdentity(store, host);
    this.url = store.url;
    this.concurrency = store.concurrency;
  }

  expect(id: string, cluster?: string): void {
    this.#identity.expect(id, cluster);
  }

  describe(): Promise<AcceptorDescription> {
    return this.#identity.guard(async () => {
      if (!this.#identity.isExpected) await this.#store.prepare?.();
      const identity =
        (await this.#identity.read()) ?? (await this.#identity.create(() => this.#holdsRegisters()));
      this.#identity.checkMemory(identity);
      return {
        id: identity.id,
        configuration: identity.configuration,
        hasRegisters: await this.#holdsRegisters(),
      };
    });
  }

  reserve(cluster: string): Promise<void> {
    return this.#identity.guard(() =>
      this.#identity.edit(async (identity) => {
        const isNew = checkReserve(this.url, identity, await this.#holdsRegisters(), cluster);
        return isNew ? { ...identity, cluster } : undefined;
      }),
    );
  }

  install(configuration: Configuration): Promise<void> {
    return this.#identity.guard(() =>
      this.#identity.edit(async (identity) => {
        const isNews = checkInstall(this.url, identity, configuration);
        return isNews ? { ...identity, cluster: configuration.cluster, configuration } : undefined;
      }),
    );
  }

  async handle(requests: readonly RegisterRequest[], index: number): Promise<readonly RegisterReply[]> {
    try {
      return await this.#identity.guard(() => this.#identity.looked(() => this.#handle(requests, index)));
    } catch (error) {
      throw asCasPaxosError(error, 'STORE_FAILED', this.url);
    }
  }

  list(after: string, limit: number): Promise<readonly string[]> {
    return this.#identity.guard(async () => {
      const from = after === '' ? REGISTER_PREFIX : registerKey(after);
      const keys = await this.#identity.looked(() => this.#store.list(from, limit));
      return keys.map((key) => registerOf(key)).filter((key) => key !== undefined);
    });
  }

  async close(): Promise<void> {
    await this.#store.close();
  }

  async #handle(requests: readonly RegisterRequest[], index: number): Promise<readonly RegisterReply[]> {
    const replies: RegisterReply[] = Array.from({ length: requests.length });
    let open: readonly Work[] = groupByKey(requests);
    for (let round = 0; open.length > 0; round += 1) {
      if (round === MAX_CONFLICTS) throw new Error('a document changes faster than it can be written');
      open = await this.#round(open, index, replies);
    }
    this.#forgetOldest();
    return replies;
  }

  /** Applies the role to every register of the batch and writes what changed. Returns what met a conflict. */
  async #round(open: readonly Work[], index: number, replies: RegisterReply[]): Promise<readonly Work[]> {
    const loaded = await this.#load(open);
    const changes: Change[] = [];
    /** By another batch that ended meanwhile, and has more registers than can be remembered. */
    const forgotten: Work[] = [];
    for (const work of open) {
      const known = this.#known.get(work.key);
      if (known === undefined) {
        const error = loaded.get(work.key);
        if (error === undefined) {
          forgotten.push(work);
          continue;
        }
        const { code, message } = error;
        deliver(
          work,
          work.requests.map(() => ({ type: 'failed', acceptor: index, code, message })),
          replies,
        );
        continue;
      }
      let { record } = known;
      const clock = { nowMs: this.#host.wallClock(), set: this.#identity.set };
      const answers = work.requests.map((request) => {
        const answered = answer(record, request, index, clock);
        record = answered.record;
        return answered.reply;
      });
      if (record === known.record) deliver(work, answers, replies);
      else changes.push({ work, record, answers, expected: known.version });
    }
    const results = changes.length === 0 ? [] : await this.#store.write(changes.map(conditionalWrite));
    const conflicts = this.#settle(changes, results, replies, index);
    if (loaded.size > 0)
      await this.#refuseOldSets(
        open.filter(({ key }) => loaded.has(key)),
        replies,
        index,
      );
    return [...conflicts, ...forgotten];
  }

  #settle(
    changes: readonly Change[],
    results: readonly WriteResult[],
    replies: RegisterReply[],
    index: number,
  ): readonly Work[] {
    const conflicts: Work[] = [];
    for (const [at, { work, record, answers }] of changes.entries()) {
      const result = results[at]!;
      if (result.result === 'written') {
        const shared = this.#known.get(work.key)?.shared;
        this.#remember(work.key, { record, version: result.version, ...(shared && { shared }) });
        deliver(work, answers, replies);
        continue;
      }
      this.#markStale(work.key);
      if (result.result === 'conflict') {
        this.#markShared(work.key);
        conflicts.push(work);
      } else {
        const { code, message } = asCasPaxosError(result.error, 'STORE_FAILED', this.url);
        deliver(
          work,
          answers.map(() => ({ type: 'failed', acceptor: index, code, message })),
          replies,
        );
      }
    }
    return conflicts;
  }

  async #refuseOldSets(loaded: readonly Work[], replies: RegisterReply[], index: number): Promise<void> {
    const { configuration } = await this.#identity.verifiedMember();
    const set = configuration?.number ?? 0;
    for (const { key, requests, places } of loaded) {
      for (const [at, place] of places.entries()) {
        if (requests[at]!.set >= set) continue;
        replies[place] = { type: 'stale-set', acceptor: index, set };
        this.#markStale(key);
      }
    }
  }

  /**
   * Reads what is not known, or not for certain: a question about the accepted value cannot be answered from memory,
   * somebody else may have changed it. Returns what it read, with the error where a document is unreadable.
   */
  async #load(open: readonly Work[]): Promise<ReadonlyMap<string, CasPaxosError | undefined>> {
    const missing = open.filter(({ key, requests }) => this.#mustLook(key, requests)).map(({ key }) => key);
    const loaded = new Map<string, CasPaxosError | undefined>();
    if (missing.length === 0) return loaded;
    // What was known when the question was asked; another batch may learn more while it is on its way.
    const seen = missing.map((key) => this.#known.get(key)?.record);
    const seenOfIdentity = this.#identity.seen;
    const documents = await this.#store.read([...missing.map((key) => registerKey(key)), IDENTITY_KEY]);
    // Before anything is written: a store that was emptied must stay recognisably empty.
    this.#identity.checkMember(
      this.#identity.verify(this.#identity.decode(documents[missing.length]), seenOfIdentity),
    );
    for (const [at, key] of missing.entries()) {
      const document = documents[at];
      loaded.set(key, undefined);
      try {
        const record = document
          ? decodeRecord(document.text, `Register ${key} in ${this.url}`)
          : EMPTY_RECORD;
        await this.#guardAgainstOldCopy(key, record, seen[at]);
        const known = this.#known.get(key);
        if (known !== undefined && isBehind(record, known.record)) continue;
        const shared = known?.shared === true && known.version !== document?.version;
        this.#remember(key, { record, version: document?.version, ...(shared && { shared }) });
      } catch (error) {
        if (!(error instanceof CasPaxosError) || error === this.#identity.lost) throw error;
        this.#known.delete(key);
        loaded.set(key, error);
      }
    }
    return loaded;
  }

  #mustLook(key: string, requests: readonly RegisterRequest[]): boolean {
    const known = this.#known.get(key);
    if (known?.version === undefined || known.stale === true || requests.some(isQuery)) return true;
    return known.shared === true && requests.some(({ message }) => begins(message, known.record.promised));
  }

  /** Rule 8: what this process has seen once must not be gone. */
  async #guardAgainstOldCopy(
    key: string,
    record: RegisterRecord,
    seen: RegisterRecord | undefined,
  ): Promise<void> {
    if (seen === undefined || !isBehind(record, seen)) return;
    // Empty, or somebody else's, is the better word for it when it applies.
    const { id } = await this.#identity.verified();
    const why = `register ${key} went back to an earlier state, as from an old copy`;
    this.#identity.retire(id, 'ACCEPTOR_BEHIND', why);
  }

  #remember(key: string, known: Known): void {
    this.#known.delete(key);
    this.#known.set(key, known);
  }

  #forgetOldest(): void {
    for (const key of this.#known.keys()) {
      if (this.#known.size <= this.#remembered) return;
      this.#known.delete(key);
    }
  }

  #markStale(key: string): void {
    const known = this.#known.get(key);
    if (known !== undefined) this.#known.set(key, { ...known, stale: true });
  }

  #markShared(key: string): void {
    const known = this.#known.get(key);
    if (known !== undefined) this.#known.set(key, { ...known, shared: true });
  }

  async #holdsRegisters(): Promise<boolean> {
    if (this.#store.holdsAny !== undefined) return this.#store.holdsAny(REGISTER_PREFIX);
    const registers = await this.#store.list(REGISTER_PREFIX, 1);
    return registers.some((key) => registerOf(key) !== undefined);
  }
}

function isBehind(record: RegisterRecord, seen: RegisterRecord): boolean {
  return (
    compareBallots(record.promised, seen.promised) < 0 || compareBallots(record.accepted, seen.accepted) < 0
  );
}

/** Whether it is the first that is heard of a ballot here: not everybody is asked for a promise (`register.ts`). */
function begins(message: RegisterRequest['message'], promised: Ballot): boolean {
  if (message.type === 'query') return false;
  return message.type === '1a' || compareBallots(message.ballot, promised) > 0;
}

function isQuery(request: RegisterRequest): boolean {
  return request.message.type === 'query';
}

function conditionalWrite({ work, record, expected }: Change): ConditionalWrite {
  return { key: registerKey(work.key), text: encodeRecord(record), expected };
}

function deliver(work: Work, answers: readonly RegisterReply[], replies: RegisterReply[]): void {
  for (const [at, place] of work.places.entries()) replies[place] = answers[at]!;
}

function groupByKey(requests: readonly RegisterRequest[]): readonly Work[] {
  const groups = new Map<string, { key: string; requests: RegisterRequest[]; places: number[] }>();
  for (const [place, request] of requests.entries()) {
    let group = groups.get(request.key);
    if (group === undefined)
      groups.set(request.key, (group = { key: request.key, requests: [], places: [] }));
    group.requests.push(request);
    group.places.push(place);
  }
  return [...groups.values()];
}
