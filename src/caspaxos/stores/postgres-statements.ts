/**
 * The statements, and how text gets into rows.
 *
 * **Writing.** One statement for any number of documents, each on its own condition, at READ COMMITTED. Two such statements may
 * have documents in common, in any order, so it must not matter who waits for whom:
 *
 * 1. `created` inserts what is to be new, in the order of the keys. One that is there already, or that another transaction is
 *    about to create, is left alone (after waiting for that transaction).
 * 2. `locked` locks the rows that still are of the expected version, in the order of the keys. Where another transaction was
 *    faster, PostgreSQL waits for it and looks at the row again as it is then: it is no longer of that version, and drops out.
 * 3. `replaced` changes what is locked.
 *
 * In each step all take the same order. Whoever waits in step 1 holds nothing but new rows, for which nobody in step 2 or 3 waits.
 * So there is no circle to wait in. The sub-selects that count force the order of the steps, which would else be PostgreSQL's to
 * choose.
 *
 * **Durability.** Whoever administers the server may have it answer commits before they are on disk (`synchronous_commit`). The
 * statement itself asks for the disk, because a setting of the session is lost behind a connection pooler.
 *
 * The texts themselves travel as one sequence of bytes, of which each row is told its part: in an array every quotation mark
 * would have to be escaped, and documents are full of them.
 *
 * **Text.** A column of type text holds everything but U+0000. U+0001 introduces what stands for those two: the order of the
 * texts stays, and everything else is as it was.
 */
import { CasPaxosError } from '../errors.ts';
import type { ConditionalWrite } from './store.ts';

export interface Statement {
  /** With a name, the server parses it once for each connection. */
  readonly name?: string;
  readonly text: string;
}

export class PostgresTable {
  /** Quoted, as statements name it. */
  readonly name: string;

  constructor(text: string) {
    const parts = text.split('.');
    const isName = (part: string): boolean =>
      part !== '' && Buffer.byteLength(part) <= 63 && !part.includes('\u0000');
    if (parts.length > 2 || !parts.every(isName)) {
      const message = 'In a postgres URL, table is TABLE or SCHEMA.TABLE, each of 1 to 63 bytes.';
      throw new CasPaxosError('URL_INVALID', message);
    }
    this.name = parts.map((part) => `"${part.replaceAll('"', '""')}"`).join('.');
  }

  /** What an administrator can run instead of us. Some room in each page is for the next version of its rows. */
  get definition(): string {
    return (
      `CREATE TABLE IF NOT EXISTS ${this.name} ` +
      '(key text COLLATE "C" PRIMARY KEY, version text NOT NULL, text text NOT NULL) WITH (fillfactor = 70)'
    );
  }
}

export class PostgresStatements {
  readonly look: Statement = { text: 'SELECT to_regclass($1)::text AS name' };
  readonly make: Statement;
  readonly read: Statement;
  readonly list: Statement;
  readonly write: Statement;

  constructor({ name: table, definition }: PostgresTable) {
    this.make = { text: definition };
    this.read = {
      name: 'baton read',
      text: `SELECT key, version, text FROM ${table} WHERE key = ANY ($1::text[])`,
    };
    this.list = {
      name: 'baton list',
      text: `SELECT key FROM ${table} WHERE key COLLATE "C" > $1 ORDER BY key COLLATE "C" LIMIT $2`,
    };
    this.write = {
      name: 'baton write',
      text: `
        WITH durable AS MATERIALIZED (
          SELECT set_config('synchronous_commit', 'on', true)
          WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')
        ), wanted AS MATERIALIZED (
          SELECT key, expected, version, convert_from(substring($6::bytea FROM start FOR length), 'UTF8') AS text
          FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::int[])
            AS w (key, expected, version, start, length)
          WHERE (SELECT count(*) FROM durable) >= 0
        ), created AS (
          INSERT INTO ${table} (key, version, text)
          SELECT key, version, text FROM wanted WHERE expected IS NULL ORDER BY key COLLATE "C"
          ON CONFLICT (key) DO NOTHING
          RETURNING key
        ), locked AS MATERIALIZED (
          SELECT t.key FROM ${table} AS t JOIN wanted AS w ON t.key = w.key AND t.version = w.expected
          WHERE (SELECT count(*) FROM created) >= 0
          ORDER BY t.key COLLATE "C" FOR UPDATE OF t
        ), replaced AS (
          UPDATE ${table} AS t SET version = w.version, text = w.text
          FROM locked AS l JOIN wanted AS w ON w.key = l.key
          WHERE t.key = l.key AND t.version = w.expected
          RETURNING t.key
        )
        SELECT key FROM created UNION ALL SELECT key FROM replaced`,
    };
  }
}

/** The values of the statement that writes. */
export function valuesOf(
  writes: readonly ConditionalWrite[],
  versions: readonly string[],
): readonly unknown[] {
  const texts = writes.map(({ text }) => Buffer.from(stored(text), 'utf8'));
  const starts: number[] = [];
  let next = 1;
  for (const { length } of texts) {
    starts.push(next);
    next += length;
  }
  return [
    writes.map(({ key }) => stored(key)),
    writes.map(({ expected }) => expected ?? null),
    versions,
    starts,
    texts.map(({ length }) => length),
    Buffer.concat(texts),
  ];
}

// U+0000 and U+0001 themselves are what this is about.
// oxlint-disable no-control-regex

export function stored(text: string): string {
  return /[\u0000\u0001]/.test(text)
    ? text.replace(/[\u0000\u0001]/g, (character) =>
        character === '\u0000' ? '\u0001\u0001' : '\u0001\u0002',
      )
    : text;
}

export function unstored(text: string): string {
  return text.includes('\u0001')
    ? text.replace(/\u0001(.)/gs, (_, kind: string) => (kind === '\u0001' ? '\u0000' : '\u0001'))
    : text;
}
