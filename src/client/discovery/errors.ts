/** What can go wrong between the name of an account and its endpoints. */
export const DISCOVERY_ERRORS = {
  ACCOUNT_NAME_INVALID: 'the name of the account is no DNS name',
  ACCOUNT_NOT_FOUND: 'DNS knows no record of the account, and none was kept',
  ACCOUNT_UNRESOLVED: 'DNS did not answer in time, and no record of the account was kept',
  ACCOUNT_RECORD_INVALID: 'the record of the account cannot be understood',
  ACCOUNT_RECORD_NEWER: 'the record of the account is written for newer clients',
  DNS_SERVER_INVALID: 'an address of a DNS server cannot be used',
  DISCOVERY_CLOSED: 'the directory of the account is closed',
} as const;

export type DiscoveryErrorCode = keyof typeof DISCOVERY_ERRORS;

export class DiscoveryError extends Error {
  override readonly name = 'DiscoveryError';
  readonly code: DiscoveryErrorCode;

  constructor(code: DiscoveryErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}
