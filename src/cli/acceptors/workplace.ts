/**
 * Where a store is put to the test: a fixed number of documents under `check/`, which no acceptor looks at. A store cannot
 * delete, so nothing is cleaned up; the next check writes over what this one left, and the leftovers never grow.
 *
 * Fixed names have a price: two checks of one store at the same time meet. Every text begins with the name of the run that
 * wrote it, so that a meeting is told from a defect.
 */
import type { AcceptorStore, StoredDocument, StoreVersion, WriteResult } from '../../caspaxos/index.ts';

export const CHECK_PREFIX = 'check/';

/** A create needs a document that was never there, so each check uses up some of these. */
export const CREATE_SLOTS = 64;
/** As many as the batch whose latency is measured. */
export const BATCH_SIZE = 100;

export const KEYS = {
  race: `${CHECK_PREFIX}race`,
  counter: `${CHECK_PREFIX}counter`,
  stale: `${CHECK_PREFIX}stale`,
  versions: `${CHECK_PREFIX}versions`,
  visible: `${CHECK_PREFIX}visible`,
  latency: `${CHECK_PREFIX}latency`,
  /** Never made by a store that does what it should. */
  absent: `${CHECK_PREFIX}absent`,
  create: (slot: number): string => `${CHECK_PREFIX}create/${String(slot).padStart(2, '0')}`,
  batch: (at: number): string => `${CHECK_PREFIX}batch/${String(at).padStart(3, '0')}`,
} as const;

const ODD_NAMES = [
  'with space',
  'with/slash//twice/',
  'ünïcödé 鍵 🔑',
  'line\nbreak',
  'null\u0000byte',
  '"quotes" and \\backslashes\\',
  '%41',
  'A',
  'a',
  '*?[a-z]{}',
  '..',
  "'; DROP TABLE registers; --",
];

/** The longest is as long as the key of a register can be. */
export const ODD_KEYS: readonly string[] = [...ODD_NAMES, 'k'.repeat(511)].map(
  (name) => `${CHECK_PREFIX}odd/${name}`,
);

/** All that a check can leave behind. */
export const LEFTOVERS = {
  documents: 6 + CREATE_SLOTS + BATCH_SIZE + ODD_KEYS.length,
  kilobytes: 250,
} as const;

/** The store does not do what it should; the sentence says what was seen. */
export class Defect extends Error {
  override readonly name = 'Defect';
}

/** As when somebody else checks the same store at the same time: nothing that was seen can be held against it. */
export class Disturbed extends Error {
  override readonly name = 'Disturbed';

  constructor(
    message = 'Another check is at work there at the same time; run it again when that one is done.',
  ) {
    super(message);
  }
}

export interface WorkplaceOptions {
  /** A new connection each time. */
  readonly open: () => AcceptorStore;
  /** Unique to this run; without white space. */
  readonly run: string;
  /** How many rounds a race has. */
  readonly races: number;
}

const CONNECTIONS = 4;
/** A reader may be a moment behind a writer that it was not told of; a document that nobody else writes is not this far behind. */
const TRIES = 8;

export class Workplace {
  readonly connections: readonly AcceptorStore[];
  readonly races: number;
  readonly #open: () => AcceptorStore;
  readonly #run: string;
  /** What earlier runs left, by key. */
  readonly #leftovers = new Map<string, string | undefined>();
  #closedRequests = 0;

  constructor({ open, run, races }: WorkplaceOptions) {
    this.#open = open;
    this.#run = run;
    this.races = races;
    this.connections = Array.from({ length: CONNECTIONS }, open);
  }

  /** How many requests all its connections have sent; undefined for a store that does not count. */
  get requests(): number | undefined {
    if (this.connections[0]?.requests === undefined) return undefined;
    return this.connections.reduce((sum, { requests = 0 }) => sum + requests, this.#closedRequests);
  }

  connection(at: number): AcceptorStore {
    return this.connections[at % this.connections.length]!;
  }

  text(body: string): string {
    return `${this.#run} ${body}`;
  }

  /** Remembers what earlier runs left under these keys. */
  async begin(keys: readonly string[]): Promise<readonly (StoredDocument | undefined)[]> {
    const documents = await this.connections[0]!.read(keys);
    for (const [at, key] of keys.entries()) {
      if (!this.#leftovers.has(key)) this.#leftovers.set(key, documents[at]?.text);
    }
    return documents;
  }

  async look(key: string, store = this.connections[0]!): Promise<StoredDocument | undefined> {
    const [document] = await store.read([key]);
    return this.known(key, document);
  }

  /** A text that is neither of this run nor was there before is another check's. */
  known(key: string, document: StoredDocument | undefined): StoredDocument | undefined {
    const text = document?.text;
    const isOurs =
      text === undefined || text.startsWith(`${this.#run} `) || text === this.#leftovers.get(key);
    const isOfSomeRun = text !== undefined && /^[0-9a-z]{12} /.test(text);
    if (!isOurs && isOfSomeRun) throw new Disturbed();
    return document;
  }

  async write(
    key: string,
    body: string,
    expected: StoreVersion | undefined,
    store = this.connections[0]!,
  ): Promise<WriteResult> {
    const [result] = await store.write([{ key, text: this.text(body), expected }]);
    if (result === undefined) throw new Defect(`A write of ${printed(key)} had no result.`);
    if (result.result === 'failed') throw result.error;
    return result;
  }

  /** Makes the document say this, whatever it says now. */
  async settle(key: string, body: string, store = this.connections[0]!): Promise<StoreVersion> {
    await this.begin([key]);
    for (let tries = 0; tries < TRIES; tries += 1) {
      const document = await this.look(key, store);
      const result = await this.write(key, body, document?.version, store);
      if (result.result === 'written') return result.version;
    }
    throw new Defect(
      `A write of ${printed(key)} with the version just read was refused ${TRIES} times, though nobody else writes it.`,
    );
  }

  /** With a connection that has seen nothing yet. */
  async afresh<T>(work: (store: AcceptorStore) => Promise<T>): Promise<T> {
    const store = this.#open();
    try {
      return await work(store);
    } finally {
      this.#closedRequests += store.requests ?? 0;
      await store.close();
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.connections.map((store) => store.close()));
  }
}

/** As a terminal may show it. */
export function printed(key: string): string {
  return JSON.stringify(key.length > 40 ? `${key.slice(0, 40)}...` : key);
}
