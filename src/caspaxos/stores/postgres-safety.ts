/**
 * Whether a PostgreSQL server keeps what it answers: asked on every new connection, and again every few seconds, because settings are read
 * anew while a server runs and a table can be altered. (Every write asks for `synchronous_commit` itself: `postgres-statements.ts`.)
 */
import type { PostgresTable } from './postgres-statements.ts';

/** What a server says of itself. */
export interface Circumstances {
  /** When it was started, in microseconds: the name of its life. As a date it would be another one in another time zone. */
  readonly life: string;
  readonly release: number;
  readonly standby: boolean;
  readonly fsync: string;
  readonly pages: string;
  readonly zeroes: string;
  readonly ignores: string | null;
  readonly encoding: string;
  readonly kind: string | null;
  readonly persistence: string | null;
  readonly filtered: boolean | null;
}

export interface Complaint {
  /** A clause about the server, with the way out. */
  readonly what: string;
  /** Whether it may forget what it answers from now on. */
  readonly forgets: boolean;
}

const OLDEST_RELEASE = 120_000;

/**
 * Sequential scans are off: a prepared statement keeps the plan that it was made with while the table was small, and would read
 * all of a table that has grown since, for every write, until somebody analyses it.
 */
export const LOOK_AROUND = `
  SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint::text AS life,
    current_setting('server_version_num')::int AS release, pg_is_in_recovery() AS standby,
    current_setting('fsync') AS fsync, current_setting('full_page_writes') AS pages,
    current_setting('zero_damaged_pages') AS zeroes, current_setting('ignore_invalid_pages', true) AS ignores,
    current_setting('server_encoding') AS encoding,
    c.relkind AS kind, c.relpersistence AS persistence, row_security_active(c.oid) AS filtered,
    set_config('statement_timeout', $2, false), set_config('default_transaction_isolation', 'read committed', false),
    set_config('enable_seqscan', 'off', false)
  FROM (SELECT to_regclass($1) AS oid) AS named LEFT JOIN pg_class AS c ON c.oid = named.oid`;

export function complaintAbout(found: Circumstances, table: PostgresTable): Complaint | undefined {
  const forgets = forgetsBy(found, table);
  if (forgets !== undefined) return { what: forgets, forgets: true };
  const what = unfitBy(found, table);
  return what === undefined ? undefined : { what, forgets: false };
}

function forgetsBy(found: Circumstances, table: PostgresTable): string | undefined {
  if (found.fsync !== 'on')
    return 'would lose what it answered with the power (fsync is off); set fsync = on in its configuration';
  if (found.pages !== 'on')
    return 'may tear its pages in a crash (full_page_writes is off); set full_page_writes = on in its configuration';
  if (found.zeroes === 'on' || found.ignores === 'on') {
    const name = found.zeroes === 'on' ? 'zero_damaged_pages' : 'ignore_invalid_pages';
    return `goes on without damaged pages, and so without what is in them (${name} is on); set ${name} = off`;
  }
  if (found.persistence !== null && found.persistence !== 'p')
    return `empties its table in a crash; run: ALTER TABLE ${table.name} SET LOGGED`;
  return undefined;
}

function unfitBy(found: Circumstances, table: PostgresTable): string | undefined {
  if (found.release < OLDEST_RELEASE) return 'is older than PostgreSQL 12; use a newer one';
  if (found.standby) return 'is a standby, which may lag behind; name the primary server';
  if (found.encoding !== 'UTF8')
    return `has a database with the encoding ${found.encoding}, which cannot hold every text; use one with UTF8`;
  if (found.kind === null) return undefined;
  // A partitioned one would need a look at each of its parts: one of them may be unlogged.
  if (found.kind !== 'r') return `has something else than a plain table under the name ${table.name}`;
  if (found.filtered === true)
    return `hides rows of its table from this user; run: ALTER TABLE ${table.name} DISABLE ROW LEVEL SECURITY`;
  return undefined;
}
