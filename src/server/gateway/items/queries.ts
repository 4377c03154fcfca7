/**
 * Queries are not answered, but for one: all items. The public client's `readAll` is the query `SELECT * FROM c`, beside which it
 * asks for a plan that it can do without.
 */
import { jsonIn } from '../bodies.ts';
import { badRequest } from '../errors.ts';
import { isTrue } from '../headers.ts';
import type { Call } from './answers.ts';

const ALL_ITEMS = /^\s*SELECT\s+\*\s+FROM\s+[A-Za-z_][A-Za-z0-9_]*\s*;?\s*$/i;
const LONGEST = 1000;

/** Throws 400 for every other one. */
export function demandAllItems({ request }: Call): void {
  const query = isTrue(request.headers, 'x-ms-cosmos-is-query-plan-request')
    ? undefined
    : textIn(request.body);
  if (query !== undefined && query.length <= LONGEST && ALL_ITEMS.test(query)) return;
  throw badRequest(
    'Queries are not supported by this server yet; reading all items works (readAll, or SELECT * FROM c), and so do reads by id and the change feed.',
  );
}

function textIn(body: Uint8Array): string | undefined {
  const value = jsonIn(body);
  if (typeof value !== 'object' || value === null || !('query' in value)) return undefined;
  return typeof value.query === 'string' ? value.query : undefined;
}
