/** Reading the headers of requests. What a client sends wrongly is a 400 that says which. */
import type { IncomingHttpHeaders } from 'node:http';
import { badRequest } from './errors.ts';

export function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function isTrue(headers: IncomingHttpHeaders, name: string): boolean {
  return headerOf(headers, name)?.toLowerCase() === 'true';
}

/** Undefined if there is none. */
export function integerOf(headers: IncomingHttpHeaders, name: string): number | undefined {
  const text = headerOf(headers, name);
  if (text === undefined) return undefined;
  if (!/^-?\d{1,15}$/.test(text.trim())) throw badRequest(`The header ${name} must be a whole number.`);
  return Number(text);
}

/** By a header of its own; this is what a read-only key may send. */
export function saysItIsAQuery(headers: IncomingHttpHeaders): boolean {
  return isTrue(headers, 'x-ms-documentdb-isquery') || isTrue(headers, 'x-ms-cosmos-is-query-plan-request');
}

/** It asks with a query, in its body. */
export function isQuery(headers: IncomingHttpHeaders): boolean {
  const type = headerOf(headers, 'content-type') ?? '';
  return saysItIsAQuery(headers) || type.toLowerCase().startsWith('application/query+json');
}
