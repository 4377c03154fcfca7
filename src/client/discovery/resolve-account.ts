/** One question about an account: what DNS says, or what was kept of it. */
import { AccountDirectory, type DnsDiscovery, type RecordSource } from './account-directory.ts';
import type { AccountRecord } from './account-record.ts';
import { DiscoveryError } from './errors.ts';

export interface ResolvedAccount {
  readonly record: AccountRecord;
  readonly source: RecordSource;
  /** Why it does not come from DNS. */
  readonly problem: DiscoveryError | undefined;
}

/** Rejects with a DiscoveryError if neither DNS nor the disk has the record. */
export async function resolveAccount(options: DnsDiscovery): Promise<ResolvedAccount> {
  const directory = AccountDirectory.idle(options);
  try {
    await directory.refresh();
    const { known, source, problem } = directory;
    if (known !== undefined && source !== undefined) return { record: known, source, problem };
    throw (
      problem ?? new DiscoveryError('ACCOUNT_UNRESOLVED', `Nothing is known of the account ${options.name}.`)
    );
  } finally {
    await directory.close();
  }
}
