/** Lists of databases, containers and offers, page by page. They are ordered by number, and a continuation is the last number. */
import type { IncomingHttpHeaders } from 'node:http';
import type { GatewayAnswer } from './context.ts';
import { badRequest } from './errors.ts';
import { headerOf, integerOf } from './headers.ts';

const PAGE = 100;
const LARGEST_PAGE = 1000;

export interface Feed<T> {
  /** What the list is called in the answer. */
  readonly name: 'Databases' | 'DocumentCollections' | 'Offers';
  /** Of the parent. */
  readonly rid: string;
  readonly entries: readonly T[];
  readonly view: (entry: T) => object;
}

export function pageOf<T extends { readonly number: number }>(
  headers: IncomingHttpHeaders,
  { name, rid, entries, view }: Feed<T>,
): GatewayAnswer {
  const after = continuationIn(headers);
  const limit = limitIn(headers);
  const rest = entries.filter(({ number }) => number > after).toSorted((a, b) => a.number - b.number);
  const page = rest.slice(0, limit);
  return {
    status: 200,
    headers: {
      'x-ms-item-count': String(page.length),
      ...(rest.length > page.length && { 'x-ms-continuation': String(page.at(-1)!.number) }),
    },
    body: { _rid: rid, [name]: page.map(view), _count: page.length },
  };
}

function limitIn(headers: IncomingHttpHeaders): number {
  const asked = integerOf(headers, 'x-ms-max-item-count');
  if (asked === undefined || asked === -1) return PAGE;
  if (asked < 1) throw badRequest('The header x-ms-max-item-count must be -1 or at least 1.');
  return Math.min(asked, LARGEST_PAGE);
}

function continuationIn(headers: IncomingHttpHeaders): number {
  const text = headerOf(headers, 'x-ms-continuation');
  if (text === undefined) return 0;
  if (!/^\d{1,15}$/.test(text)) throw badRequest('The continuation is not one of this list.');
  return Number(text);
}
