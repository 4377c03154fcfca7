/**
 * Session tokens as this API writes them: `RANGE:EPOCH#LSN`, several with commas. The epoch of a place in the log stands where other
 * servers have a version that grows with every failover, so what a client compares is compared rightly.
 *
 * A client merges tokens number by number: from (1, 100) and (2, 50) it makes (2, 100), a place that never was. Whoever is asked for
 * that says that it was undone; then what there is, is read.
 */
import type { Position, ReadLevel } from '../../../engine/index.ts';
import { isStronger, READ_LEVELS } from '../../../engine/index.ts';
import type { GatewayContext, GatewayRequest } from '../context.ts';
import { badRequest } from '../errors.ts';
import { headerOf } from '../headers.ts';
import type { ItemRange } from './target.ts';

export function sessionToken({ id }: ItemRange, { epoch, lsn }: Position): string {
  return `${id}:${epoch}#${lsn}`;
}

const LONGEST = 1_000_000;
const TOKEN = /^\s*([^:,#\s]{1,40}):([^,]{1,400})$/;

/** How a request wants to read: at which level, and from where on. */
export interface Reading {
  readonly level: ReadLevel;
  /** What it has to see of a range. */
  readonly sessionOf: (range: ItemRange) => Position | undefined;
}

/** Throws 400 for a level that the account has not got, or a token that is damaged. */
export function readingOf({ headers }: GatewayRequest, { account }: GatewayContext): Reading {
  const level = levelIn(headerOf(headers, 'x-ms-consistency-level'), account.consistency());
  const tokens = tokensIn(headerOf(headers, 'x-ms-session-token'));
  return { level, sessionOf: ({ id }) => (level === 'Session' ? tokens.get(id) : undefined) };
}

function levelIn(text: string | undefined, most: ReadLevel): ReadLevel {
  if (text === undefined) return most;
  const level = READ_LEVELS.find((one) => one.toLowerCase() === text.trim().toLowerCase());
  if (level === undefined) throw badRequest(`There is no consistency level ${text.slice(0, 40)}.`);
  if (isStronger(level, most))
    throw badRequest(`The account has consistency level ${most}; a request may not ask for ${level}.`);
  return level;
}

function tokensIn(text: string | undefined): ReadonlyMap<string, Position> {
  const places = new Map<string, Position>();
  if (text === undefined) return places;
  if (text.length > LONGEST) throw damaged();
  for (const part of text.split(',')) {
    const [, id, rest] = TOKEN.exec(part) ?? [];
    if (id === undefined || rest === undefined) throw damaged();
    // Further parts are the places of regions, for accounts that write in several.
    const [epoch, lsn] = rest.split('#');
    places.set(id, { epoch: numberIn(epoch), lsn: numberIn(lsn) });
  }
  return places;
}

function numberIn(text: string | undefined): number {
  const value = text !== undefined && /^[0-9]{1,16}$/.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(value)) throw damaged();
  return value;
}

function damaged(): Error {
  return badRequest('The session token is damaged.');
}
