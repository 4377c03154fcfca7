/** Changes and the versions that they become. */
import { expiresAt, type Change, type Entry, type Glance, type JsonBytes, type Version } from '../model.ts';

/** A version that can be read: not a deletion. */
export type Readable<T extends Change> = T & { readonly body: JsonBytes };

/** What a change is once it lies in an entry of the log. Written out: it is made for every read and every write. */
export function versionIn({ epoch, lsn, at }: Pick<Entry, 'epoch' | 'lsn' | 'at'>, change: Change): Version {
  const { epk, id, partitionKey, body, createdLsn, ttl, previous } = change;
  const version: { -readonly [Name in keyof Version]: Version[Name] } = {
    epk,
    id,
    partitionKey,
    createdLsn: createdLsn === 0 ? lsn : createdLsn,
    previous,
    epoch,
    lsn,
    at,
  };
  if (body !== undefined) version.body = body;
  if (ttl !== undefined) version.ttl = ttl;
  return version;
}

/** LSN of the entry that created the document. 0 in a change means its own entry, so whoever has the version knows it. */
export function createdLsnOf({ createdLsn, lsn }: Pick<Version, 'createdLsn' | 'lsn'>): number {
  return createdLsn === 0 ? lsn : createdLsn;
}

export function glanceAt(version: Version): Glance {
  const { lsn, partitionKey, body } = version;
  return {
    lsn,
    partitionKey,
    createdLsn: createdLsnOf(version),
    isDeleted: body === undefined,
    expiresAt: expiresAt(version),
  };
}

/** Whether there is a document: a deletion is none, and neither is one whose time to live is over. */
export function isAlive(version: Version | undefined, now: number): version is Readable<Version> {
  return version?.body !== undefined && now < expiresAt(version);
}
