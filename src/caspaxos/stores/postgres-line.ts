/**
 * Which line of memory a PostgreSQL server is of. `initdb` draws a system identifier, which every physical copy keeps; and a copy
 * that is promoted, or recovered to a point in time, begins a timeline of its own. A restart, a crash with its recovery, and a minor
 * upgrade change neither. (`pg_upgrade` makes a new system: its acceptor has to be replaced.)
 *
 * The timeline is read from the name of the file that the log is written to now: the control file has it only after the
 * next checkpoint. Some relatives of PostgreSQL and some hosts do not let everybody ask, or have no such thing; then what
 * remains is compared.
 */
import type { Client } from 'pg';
import { sqlStateOf } from './postgres-errors.ts';

const TIMELINE = `('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int AS timeline`;
const QUESTIONS = [
  `SELECT system_identifier::text AS system, ${TIMELINE} FROM pg_control_system()`,
  `SELECT ${TIMELINE}`,
  'SELECT system_identifier::text AS system FROM pg_control_system()',
];

/** The function is not there, this user may not call it, or this server does not have it. */
const CANNOT_TELL = /^(?:42|0A|55)/;

interface Told {
  readonly system?: string | null;
  readonly timeline?: number | null;
}

/** Undefined: the server does not tell. */
export async function lineOf(client: Pick<Client, 'query'>): Promise<string | undefined> {
  for (const question of QUESTIONS) {
    try {
      const { rows } = await client.query<Told>(question);
      const parts = Object.entries(rows[0] ?? {}).filter(([, value]) => value !== null);
      if (parts.length > 0) return parts.map(([name, value]) => `${name} ${value}`).join(', ');
    } catch (error) {
      if (!CANNOT_TELL.test(sqlStateOf(error) ?? '')) throw error;
    }
  }
  return undefined;
}
