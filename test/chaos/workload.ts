/**
 * The clients: each makes one call after the other through the SDK, in a session, on a few documents of every partition-set, and
 * puts on record what it asked and was told. Values are unique in a run. A write of unknown outcome is sometimes sent again
 * under its name. Some calls are in a hurry, so that outcomes are unknown also when nothing is wrong.
 *
 * A client that floods writes a large document to every partition-set at once, now and then: together about as much as a node's journal
 * takes before its database has to catch up. Others soon write over them, so that reads and scans stay small.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { CONSISTENCY_LEVELS, type ConsistencyLevel, type Position, positionOrder } from 'baton/check';
import {
  type BatonClient,
  BatonError,
  type Container,
  type Session,
  type WriteOptions,
  type WriteResult,
} from 'baton/client';
import { epkOf, etagOf } from 'baton/engine';
import type { Random } from 'baton/sim';
import { plain, positionIn, type Recorder } from './record.ts';

export interface Item {
  readonly id: string;
  readonly value: string;
  readonly padding?: string;
}

export interface ChaosClientOptions {
  readonly name: string;
  readonly client: BatonClient;
  readonly recorder: Recorder;
  readonly random: Random;
  /** By partition-set. */
  readonly documents: ReadonlyMap<string, readonly string[]>;
  readonly thinkMs: number;
  /** So often. */
  readonly floodEveryMs?: number;
}

interface Place {
  readonly partitionSet: string;
  readonly id: string;
}

interface Change {
  readonly kind: 'write' | 'delete';
  readonly place: Place;
  readonly value?: string;
  readonly condition?: Position | 'absent';
  readonly call: (options: WriteOptions) => Promise<WriteResult>;
}

const PATIENCE_MS = 6000;
const HURRY_MS = [20, 300] as const;
const ATTEMPTS = 3;
/** Of a large document, without the rest of it: all of it stays below the limit. */
const PADDING_BYTES = [200_000, 1_900_000] as const;
/** What clients may be told while regions die. Anything else is a finding. */
const EXPECTED: ReadonlySet<string> = new Set([
  'NOT_FOUND',
  'CONFLICT',
  'PRECONDITION_FAILED',
  'THROTTLED',
  'DEADLINE',
  'ATTEMPTS_EXHAUSTED',
  'UNREACHABLE',
  'SESSION_UNDONE',
]);

export class ChaosClient {
  readonly #options: ChaosClientOptions;
  readonly #container: Container<Item>;
  readonly #places: readonly Place[];
  readonly #setOf: ReadonlyMap<string, string>;
  readonly #seen = new Map<string, Position>();
  #session: Session;
  #sessions = 0;
  #names = 0;
  #floodAt: number;

  constructor(options: ChaosClientOptions) {
    this.#options = options;
    this.#container = options.client.container<Item>('items');
    this.#session = options.client.session();
    this.#places = [...options.documents].flatMap(([partitionSet, ids]) =>
      ids.map((id) => ({ partitionSet, id })),
    );
    this.#setOf = new Map(this.#places.map(({ partitionSet, id }) => [id, partitionSet]));
    this.#floodAt = options.recorder.now() + (options.floodEveryMs ?? Infinity);
  }

  async run(isOver: () => boolean): Promise<void> {
    const { random, thinkMs, recorder, name } = this.#options;
    while (!isOver()) {
      await sleep(random.between(0.2, 1.8) * thinkMs);
      try {
        if (recorder.now() < this.#floodAt) await this.#act();
        else await this.#flood();
      } catch (error) {
        recorder.wrong(`${name} met an error that is none of the SDK's: ${String((error as Error).stack)}`);
      }
    }
  }

  #act(): Promise<void> {
    const { random } = this.#options;
    const place = this.#places[random.integer(this.#places.length)]!;
    const choice = random.uniform();
    if (choice < 0.3) return this.#upsert(place);
    if (choice < 0.38) return this.#create(place);
    if (choice < 0.45) return this.#delete(place);
    if (choice < 0.57) return this.#replace(place);
    if (choice < 0.97) return this.read(place, this.#level());
    return this.scan(this.#level());
  }

  // ---- writes

  async #flood(): Promise<void> {
    const { random, documents, recorder, floodEveryMs = Infinity } = this.#options;
    const writes = [...documents].map(([partitionSet, ids]) => {
      const padding = 'x'.repeat(Math.round(random.between(...PADDING_BYTES)));
      return this.#upsert({ partitionSet, id: lastOf(ids) }, { padding });
    });
    await Promise.all(writes);
    recorder.count('flood');
    this.#floodAt = recorder.now() + floodEveryMs;
  }

  #upsert(place: Place, more: { readonly padding?: string } = {}): Promise<void> {
    const item = { ...this.#item(place), ...more };
    const call = (options: WriteOptions): Promise<WriteResult> => this.#container.upsert(item, options);
    return this.#write({ kind: 'write', place, value: item.value, call });
  }

  #create(place: Place): Promise<void> {
    const item = this.#item(place);
    const call = (options: WriteOptions): Promise<WriteResult> => this.#container.create(item, options);
    return this.#write({ kind: 'write', place, value: item.value, condition: 'absent', call });
  }

  #delete(place: Place): Promise<void> {
    const call = (options: WriteOptions): Promise<WriteResult> => this.#container.delete(place.id, options);
    return this.#write({ kind: 'delete', place, call });
  }

  /** Replaces the version that it saw last. */
  #replace(place: Place): Promise<void> {
    const condition = this.#seen.get(place.id);
    if (condition === undefined) return this.#upsert(place);
    const item = this.#item(place);
    const call = (options: WriteOptions): Promise<WriteResult> =>
      this.#container.replace(place.id, item, { ...options, ifMatch: etagOf(condition) });
    return this.#write({ kind: 'write', place, value: item.value, condition, call });
  }

  async #write(change: Change): Promise<void> {
    const { random } = this.#options;
    const operation = this.#nextName();
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const isHurried = random.uniform() < 0.05;
      const timeoutMs = isHurried ? random.between(...HURRY_MS) : PATIENCE_MS;
      const outcome = await this.#attempt(change, operation, timeoutMs);
      if (outcome !== 'unknown' || random.uniform() < 0.3) return;
    }
  }

  async #attempt(change: Change, operation: string, timeoutMs: number): Promise<'ok' | 'failed' | 'unknown'> {
    const { recorder, name: client } = this.#options;
    const { kind, place, value, condition } = change;
    const { partitionSet, id } = place;
    const session = this.#session;
    const before = session.tracker.position(partitionSet);
    const start = recorder.now();
    const common = { client, session: this.#sessionName, key: id, start, level: recorder.level };
    const fields = { ...common, kind, operation, value, condition };
    try {
      const { etag, diagnostics } = await change.call({ session, operationId: operation, timeoutMs });
      const end = recorder.now();
      const after = session.tracker.position(partitionSet);
      const position = positionIn(etag) ?? moved(before, after);
      const tokenReceived = after && plain(after);
      const { region = '' } = diagnostics;
      recorder.write(partitionSet, { ...fields, region, end, outcome: 'ok', position, tokenReceived });
      if (kind === 'write' && position !== undefined) this.#seen.set(id, position);
      return 'ok';
    } catch (error) {
      const { outcome, region } = this.#failed('write', error);
      recorder.write(partitionSet, { ...fields, region, outcome, end: recorder.now() });
      return outcome;
    }
  }

  // ---- reads

  async read({ partitionSet, id }: Place, level: ConsistencyLevel): Promise<void> {
    const { recorder } = this.#options;
    const session = this.#sessionFor(level);
    const tokenSent = session.tracker.position(partitionSet);
    const start = recorder.now();
    try {
      const { document, etag, diagnostics } = await this.#container.find(id, {
        consistency: level,
        session,
        timeoutMs: PATIENCE_MS,
      });
      const version = positionIn(etag);
      const { region = '' } = diagnostics;
      const after = session.tracker.position(partitionSet);
      this.#recordRead(
        { partitionSet, id, level, tokenSent, after, start, region },
        document?.value,
        version,
      );
      if (version !== undefined) this.#seen.set(id, version);
    } catch (error) {
      this.#failed('read', error);
    }
  }

  /**
   * Everything there is. The documents of a partition-set fit on one page, and so are of one moment; but for the last of them, which may be
   * large, and then has a page of its own.
   */
  async scan(level: ConsistencyLevel): Promise<void> {
    const { recorder, documents } = this.#options;
    const session = this.#sessionFor(level);
    const positions = (): Map<string, Position | undefined> =>
      new Map([...documents.keys()].map((name) => [name, session.tracker.position(name)]));
    const sent = positions();
    /** By partition-set, when the first of its documents came: with the first page of them, and before the next is asked for. */
    const seen = new Map<string, Position | undefined>();
    const found = new Map<string, { readonly value: string; readonly version: Position | undefined }>();
    const start = recorder.now();
    try {
      for await (const { id, value, _etag } of this.#container.readAll({
        consistency: level,
        session,
        timeoutMs: PATIENCE_MS,
        pageSize: 1000,
      })) {
        const partitionSet = this.#setOf.get(id);
        if (partitionSet !== undefined && !seen.has(partitionSet))
          seen.set(partitionSet, session.tracker.position(partitionSet));
        found.set(id, { value, version: positionIn(_etag) });
      }
    } catch (error) {
      this.#failed('scan', error);
      return;
    }
    const reached = new Map([...positions(), ...seen]);
    recorder.count('scan: ok');
    for (const [partitionSet, ids] of documents) {
      const batch = recorder.nextId();
      const tokenSent = sent.get(partitionSet);
      for (const id of ids.filter((each) => each !== lastOf(ids))) {
        const after = reached.get(partitionSet);
        const call = { partitionSet, id, level, tokenSent, after, start, region: '', batch };
        this.#recordRead(call, found.get(id)?.value, found.get(id)?.version);
      }
    }
  }

  /**
   * A session that had seen nothing has now seen what the answer was made from. One that had seen something has perhaps
   * not moved; then the snapshot is not told.
   */
  #recordRead(
    call: Place & {
      readonly level: ConsistencyLevel;
      readonly tokenSent: Position | undefined;
      /** Where the session was when it had the answer. */
      readonly after: Position | undefined;
      readonly start: number;
      readonly region: string;
      readonly batch?: string;
    },
    value: string | undefined,
    version: Position | undefined,
  ): void {
    const { recorder, name: client } = this.#options;
    const { partitionSet, id, level, tokenSent, after, start, region, batch } = call;
    const isOfSession = level === 'Session';
    recorder.read(partitionSet, {
      kind: 'read',
      outcome: 'ok',
      client,
      region,
      key: id,
      level,
      start,
      end: recorder.now(),
      value,
      version,
      snapshot: moved(tokenSent, after),
      batch,
      session: isOfSession ? this.#sessionName : `${client} alone`,
      tokenSent: tokenSent && plain(tokenSent),
      tokenReceived: isOfSession && after ? plain(after) : undefined,
    });
  }

  #failed(what: string, error: unknown): { readonly outcome: 'failed' | 'unknown'; readonly region: string } {
    const { recorder, name } = this.#options;
    if (!(error instanceof BatonError)) throw error;
    recorder.count(`${what}: ${error.code}`);
    if (!EXPECTED.has(error.code))
      recorder.wrong(`${name}: a ${what} ended with ${error.code}: ${error.message}`);
    if (error.code === 'SESSION_UNDONE') {
      this.#session = this.#options.client.session();
      this.#sessions += 1;
    }
    const { region = error.diagnostics?.attempts.at(-1)?.region ?? '' } = error.diagnostics ?? {};
    return { outcome: error.outcome === 'unknown' ? 'unknown' : 'failed', region };
  }

  get #sessionName(): string {
    return `${this.#options.name} session ${this.#sessions}`;
  }

  #sessionFor(level: ConsistencyLevel): Session {
    return level === 'Session' ? this.#session : this.#options.client.session();
  }

  #level(): ConsistencyLevel {
    const { random, recorder } = this.#options;
    const own = CONSISTENCY_LEVELS.indexOf(recorder.level);
    if (random.uniform() < 0.6) return recorder.level;
    return CONSISTENCY_LEVELS[own + random.integer(CONSISTENCY_LEVELS.length - own)]!;
  }

  #item({ id }: Place): Item {
    return { id, value: this.#nextName() };
  }

  #nextName(): string {
    this.#names += 1;
    return `${this.#options.name}-${this.#names}`;
  }
}

/** In the order in which they are scanned. */
function lastOf(ids: readonly string[]): string {
  return ids.toSorted((a, b) => (epkOf([a]) < epkOf([b]) ? -1 : 1)).at(-1)!;
}

/** Where a session is now, if that is further than it was. */
function moved(before: Position | undefined, after: Position | undefined): Position | undefined {
  const isFurther = after !== undefined && (before === undefined || positionOrder(after, before) > 0);
  return isFurther ? plain(after) : undefined;
}
