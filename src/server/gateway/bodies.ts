/** The JSON that metadata requests carry, and what a refusal of the catalogue is answered. */
import type { Catalog, Edited } from '../catalog/index.ts';
import { badRequest, GATEWAY_CODES, GatewayError } from './errors.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** Throws 400 if it is not an object. */
export function objectIn(body: Buffer): Fields {
  let value: unknown;
  try {
    value = JSON.parse(body.toString()) as unknown;
  } catch {
    throw badRequest('The body is not JSON.');
  }
  if (!isObject(value)) throw badRequest('The body must be an object.');
  return value;
}

export function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function idIn(body: Fields): string {
  const { id } = body;
  if (typeof id !== 'string') throw badRequest('The body must have an id, which is a text.');
  return id;
}

/** Throws what the refusal says. */
export function accepted(edited: Edited): Catalog {
  if ('catalog' in edited) return edited.catalog;
  const { status, message } = edited.refusal;
  throw new GatewayError(status, 0, GATEWAY_CODES[status], message);
}
