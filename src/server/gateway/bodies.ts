/** The JSON that requests carry, and what a refusal of the catalogue is answered. */
import { hasDuplicateNames, NAMED_TWICE, nodeJson } from '../../engine/index.ts';
import type { Catalog, Edited } from '../catalog/index.ts';
import { badRequest, GATEWAY_CODES, GatewayError } from './errors.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** Throws 400 if it is not JSON, or names a property of one object twice. */
export function jsonIn(body: Uint8Array): unknown {
  let value: unknown;
  try {
    value = nodeJson.parse(body);
  } catch {
    throw badRequest('The body is not JSON text in UTF-8.');
  }
  if (hasDuplicateNames(body, value)) throw badRequest(NAMED_TWICE);
  return value;
}

/** Throws 400 if it is not an object. */
export function objectIn(body: Uint8Array): Fields {
  const value = jsonIn(body);
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
