/** What can go wrong between the name of an account and its endpoints. */
export const DISCOVERY_ERRORS = {
  ACCOUNT_NAME_INVALID: 'the name of the account is not a valid DNS name',
  ACCOUNT_NOT_FOUND: 'DNS has no record of the account, and no earlier one is cached',
  ACCOUNT_UNRESOLVED: 'DNS did not answer in time, and no earlier record of the account is cached',
  ACCOUNT_RECORD_INVALID: 'the DNS record of the account is malformed',
  ACCOUNT_RECORD_NEWER: 'the DNS record of the account requires a newer client',
  DNS_SERVER_INVALID: 'an address of a DNS server is not valid',
  DISCOVERY_CLOSED: 'the directory of the account has been closed',
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
