/**
 * An item as a client reads it: its body with the system properties behind its own. The body is not parsed for that; it is
 * the text of an object, so what is new goes in before its last brace.
 */
import { etagOf, timestampOf, type JsonBytes, type Version } from '../model.ts';
import type { ItemNames } from './rid.ts';
import type { Readable } from './versions.ts';

const OPEN = 0x7b;
const CLOSE = 0x7d;

/** `withLsn`: as the change feed shows it, with the `_lsn` that a reader continues from. */
export function present(version: Readable<Version>, names: ItemNames, withLsn = false): JsonBytes {
  const { body } = version;
  const brace = body.lastIndexOf(CLOSE);
  const last = lastBefore(body, brace);
  const text = (body[last] === OPEN ? '' : ',') + systemProperties(version, names, withLsn) + '}';
  const result = new Uint8Array(last + 1 + text.length);
  result.set(body.subarray(0, last + 1));
  for (let index = 0; index < text.length; index++) result[last + 1 + index] = text.charCodeAt(index);
  return result;
}

/** ASCII only. */
function systemProperties(version: Version, names: ItemNames, withLsn: boolean): string {
  const rid = names.ridOf(version);
  const etag = JSON.stringify(etagOf(version));
  const lsn = withLsn ? `,"_lsn":${version.lsn}` : '';
  return (
    `"_rid":"${rid}","_self":"${names.selfOf(rid)}","_etag":${etag},` +
    `"_attachments":"attachments/","_ts":${timestampOf(version)}${lsn}`
  );
}

/** Where the last byte before `end` is that is not white space. */
function lastBefore(body: JsonBytes, end: number): number {
  let at = end - 1;
  while (body[at]! <= 0x20) at--;
  return at;
}
