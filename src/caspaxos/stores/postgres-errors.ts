/** What PostgreSQL and its client complain about, in our words. Names of users and their passwords are left out. */
import { CasPaxosError, type ErrorCode } from '../errors.ts';
import type { PostgresTable } from './postgres-statements.ts';

export interface Circumstances {
  readonly url: string;
  readonly table: PostgresTable;
  /** What the user must be allowed to do with the table. */
  readonly right: string;
}

/** The server's own code for an error that it reported; errors of the connection have others. */
export function sqlStateOf(error: unknown): string | undefined {
  if (!(error instanceof Error && 'severity' in error && 'code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

type Complaint = (circumstances: Circumstances, reason: string) => readonly [ErrorCode, string];

const refused: Complaint = () => [
  'UNAUTHORIZED',
  'refuses the user or the password; give them in the URL or in PGUSER and PGPASSWORD, and see what pg_hba.conf allows',
];
const forbidden: Complaint = ({ table, right }) => [
  'UNAUTHORIZED',
  right === 'CREATE'
    ? `does not let this user make the table; grant CREATE on its schema, or have an administrator run: ${table.definition}`
    : `does not let this user work with its table; the user needs: GRANT ${right} ON ${table.name}`,
];
const noTable: Complaint = ({ table }) => [
  'STORE_FAILED',
  `has lost its table ${table.name}, and so its memory`,
];
const otherTable: Complaint = ({ table }, reason) => [
  'STORE_FAILED',
  `has a table of another shape (${reason}); it has to be as in: ${table.definition}`,
];
const noDatabase: Complaint = () => ['STORE_FAILED', 'has no such database; create it'];
const noSchema: Complaint = () => ['STORE_FAILED', 'has no such schema; create it'];
const tooLate: Complaint = () => ['TIMED_OUT', 'did not finish the statement in time'];
const away: Complaint = (_, reason) => ['UNREACHABLE', `cannot be reached: ${reason}`];
const failed: Complaint = (_, reason) => ['STORE_FAILED', `failed: ${reason}`];

const BY_STATE: Readonly<Record<string, Complaint>> = {
  '28000': refused,
  '28P01': refused,
  '42501': forbidden,
  '42P01': noTable,
  '42703': otherTable,
  '42P10': otherTable,
  '42804': otherTable,
  '3D000': noDatabase,
  '3F000': noSchema,
  '53300': away,
  '57014': tooLate,
  '57P01': away,
  '57P02': away,
  '57P03': away,
};

export function postgresError(error: unknown, circumstances: Circumstances): CasPaxosError {
  if (error instanceof CasPaxosError) return error;
  const state = sqlStateOf(error);
  const [code, what] = complaintOf(error, state)(circumstances, reasonOf(error));
  // The server's own words name the user where it is about users.
  const cause = code === 'UNAUTHORIZED' ? undefined : error;
  return new CasPaxosError(code, `Acceptor ${circumstances.url} ${what}.`, { cause });
}

function complaintOf(error: unknown, state: string | undefined): Complaint {
  if (state !== undefined) return BY_STATE[state] ?? (state.startsWith('08') ? away : failed);
  // What is not the server's answer comes from the connection; the client asks for a lacking password in its own words.
  return error instanceof Error && error.message.startsWith('SASL') ? refused : away;
}

/** Where a name has several addresses, what went wrong with each is inside. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return [...new Set(error.errors.map(reasonOf))].join(', ');
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/\.$/, '');
}
