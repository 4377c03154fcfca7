/**
 * The records that `baton dns` serves, from where it gets them: a cluster file, or the texts of records as flags.
 *
 * A file has no serial of its own: the time of its last change, in seconds, is the serial, as administrators of zones have
 * always done it. So it rises when somebody edits the file, also for a change that the record does not show, and all who
 * serve copies of the file agree closely enough. Should a file be put back with an older time, the process that serves it
 * goes on counting from what it served last.
 */
import { stat } from 'node:fs/promises';
import {
  type AccountRecord,
  DiscoveryError,
  encodeAccountRecord,
  formatAddress,
  parseAccountRecord,
} from '../../client/index.ts';
import type { Address } from '../../transport/index.ts';
import { type ClusterConfig, readClusterFile } from '../config/index.ts';

export interface DnsSettings {
  readonly records: ReadonlyMap<string, AccountRecord>;
  /** What the source says about the server itself, if it does. */
  readonly listen?: Address | undefined;
  readonly zone?: string | undefined;
}

export function accountRecordOf(
  { account, cluster, regions }: Pick<ClusterConfig, 'account' | 'cluster' | 'regions'>,
  serial: number,
): AccountRecord {
  return {
    account: account.name,
    serial,
    consistency: account.consistency,
    regions: regions.map(({ name, nodes }) => ({
      region: name,
      addresses: nodes.map(({ address }) => formatAddress(address)),
    })),
    // Nodes ask everybody for it.
    ...(cluster !== account.name && { extensions: [`cluster=${cluster}`] }),
  };
}

/** Rejects with a ConfigError, or a DiscoveryError if the account is too large for a record. */
export async function readDnsSettings(path: string): Promise<DnsSettings> {
  const config = await readClusterFile(path);
  const { mtimeMs } = await stat(path);
  const record = accountRecordOf(config, Math.max(0, Math.floor(mtimeMs / 1000)));
  encodeAccountRecord(record);
  return { records: new Map([[record.account, record]]), ...config.dns };
}

/** From texts as a TXT record has them. Throws a DiscoveryError. */
export function recordsOf(texts: readonly string[]): ReadonlyMap<string, AccountRecord> {
  const records = new Map<string, AccountRecord>();
  for (const text of texts) {
    const parsed = parseAccountRecord(text);
    if (parsed.kind !== 'record')
      throw invalid(text, parsed.kind === 'invalid' ? parsed.reason : parsed.kind);
    const { account } = parsed.record;
    if (records.has(account)) throw invalid(text, `There is another record of ${account}.`);
    records.set(account, parsed.record);
  }
  return records;
}

function invalid(text: string, reason: string): DiscoveryError {
  const said = reason === 'foreign' ? 'It does not begin with v=baton1.' : reason;
  return new DiscoveryError('ACCOUNT_RECORD_INVALID', `"${text.slice(0, 100)}" is no record. ${said}`);
}

/** What is served next: no record that says something else has the serial of the last one, or a lower one. */
export function following(
  last: ReadonlyMap<string, AccountRecord>,
  next: ReadonlyMap<string, AccountRecord>,
): ReadonlyMap<string, AccountRecord> {
  return new Map(
    [...next].map(([account, record]) => {
      const before = last.get(account);
      if (before === undefined || record.serial > before.serial) return [account, record];
      const isSame =
        encodeAccountRecord({ ...record, serial: before.serial }) === encodeAccountRecord(before);
      return [account, isSame ? before : { ...record, serial: before.serial + 1 }];
    }),
  );
}
