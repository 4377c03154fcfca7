/**
 * `postgres://`: one table of one database, a row for each document. A batch is one statement and one commit, however many
 * registers it is about (`postgres-statements.ts` says how it keeps two of them from waiting for each other).
 *
 * What has to be true of the server is asked on every new connection, and in part every few seconds (`postgres-safety.ts`): that it is no
 * standby, that a commit that it answers is on its disk, and that it is of the line of memory that it was (`postgres-line.ts`).
 */
import { CasPaxosError } from '../errors.ts';
import { Lineage } from './lineage.ts';
import { PostgresConnections } from './postgres-connections.ts';
import { postgresError, sqlStateOf } from './postgres-errors.ts';
import {
  PostgresStatements,
  PostgresTable,
  type Statement,
  stored,
  unstored,
  valuesOf,
} from './postgres-statements.ts';
import type { AcceptorStore, ConditionalWrite, StoredDocument, StoreOptions, WriteResult } from './store.ts';
import { StoreCalls } from './store-calls.ts';
import { StoreUrl, type StoreUrlForm } from './store-url.ts';
import { drawVersion } from './versions.ts';

export const POSTGRES_FORM: StoreUrlForm = {
  scheme: 'postgres',
  form: 'postgres://USER:PASSWORD@HOST:5432/DATABASE?table=baton',
  defaultPort: 5432,
  options: ['table'],
};

interface Row {
  readonly key: string;
  readonly version: string;
  readonly text: string;
}

/** Nothing was carried out, because others were faster: a deadlock that the server ended, or a stricter isolation than asked for. */
const NOT_SERIALISED = new Set(['40P01', '40001']);
/** Two processes that make the same table at once: one of them is told that it exists, or that a name in it does. */
const MADE_BY_ANOTHER = new Set(['42P07', '23505', '42710']);

export class PostgresStore implements AcceptorStore {
  readonly url: string;
  readonly concurrency = 4;
  readonly lineage = new Lineage();
  readonly #calls: StoreCalls;
  readonly #table: PostgresTable;
  readonly #statements: PostgresStatements;
  readonly #connections: PostgresConnections;

  constructor(url: string, { timeoutMs, ca }: StoreOptions) {
    const target = new StoreUrl(url, POSTGRES_FORM);
    this.url = target.place;
    if (target.path.length !== 1) {
      const message = `An acceptor URL with postgres names one database, as in ${POSTGRES_FORM.form}.`;
      throw new CasPaxosError('URL_INVALID', message);
    }
    this.#calls = new StoreCalls(this.url, timeoutMs);
    this.#table = new PostgresTable(target.option('table') ?? 'baton');
    this.#statements = new PostgresStatements(this.#table);
    this.#connections = new PostgresConnections(target, this.#table, {
      timeoutMs,
      ca,
      most: this.concurrency,
      lineage: this.lineage,
      calls: this.#calls,
    });
  }

  get requests(): number {
    return this.#connections.requests;
  }

  get life(): string | undefined {
    return this.#connections.life;
  }

  async prepare(): Promise<void> {
    const { look, make } = this.#statements;
    const [found] = await this.#ask<{ name: string | null }>('CREATE', look, [this.#table.name]);
    if (found?.name !== null) return;
    try {
      await this.#ask('CREATE', make, []);
    } catch (error) {
      if (!MADE_BY_ANOTHER.has(sqlStateOf((error as Error).cause) ?? '')) throw error;
    }
  }

  async read(keys: readonly string[]): Promise<readonly (StoredDocument | undefined)[]> {
    const rows = await this.#ask<Row>('SELECT', this.#statements.read, [keys.map(stored)]);
    const documents = new Map(
      rows.map(({ key, version, text }) => [unstored(key), { text: unstored(text), version }]),
    );
    return keys.map((key) => documents.get(key));
  }

  async write(writes: readonly ConditionalWrite[]): Promise<readonly WriteResult[]> {
    const versions = writes.map(() => drawVersion());
    const values = valuesOf(writes, versions);
    try {
      const rows = await this.#ask<Pick<Row, 'key'>>(
        'SELECT, INSERT and UPDATE',
        this.#statements.write,
        values,
      );
      const written = new Set(rows.map(({ key }) => unstored(key)));
      return writes.map(({ key }, at) =>
        written.has(key) ? { result: 'written', version: versions[at]! } : { result: 'conflict' },
      );
    } catch (error) {
      if (!NOT_SERIALISED.has(sqlStateOf((error as Error).cause) ?? '')) throw error;
      return writes.map(() => ({ result: 'conflict' }));
    }
  }

  async list(after: string, limit: number): Promise<readonly string[]> {
    const rows = await this.#ask<Pick<Row, 'key'>>('SELECT', this.#statements.list, [stored(after), limit]);
    return rows.map(({ key }) => unstored(key));
  }

  async lookAgain(): Promise<void> {
    await this.#within('SELECT', (signal) => this.#connections.look(signal));
  }

  async close(): Promise<void> {
    await this.#connections.close();
  }

  #ask<R>(right: string, statement: Statement, values: readonly unknown[]): Promise<readonly R[]> {
    return this.#within(right, (signal) => this.#connections.ask<R>(statement, values, signal));
  }

  /** `right`: what the user must be allowed to do with the table. */
  async #within<T>(right: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    try {
      return await this.#calls.limited(work);
    } catch (error) {
      throw postgresError(error, { url: this.url, table: this.#table, right });
    }
  }
}
