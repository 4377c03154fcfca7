/** From the name of an account to the addresses of its regions. */
export * from './account-directory.ts';
export * from './account-record.ts';
export { formatAddress, parseAddress } from './address.ts';
export { DISCOVERY_ERRORS, DiscoveryError, type DiscoveryErrorCode } from './errors.ts';
export type { TxtAnswer, TxtLookup } from './lookup.ts';
export { defaultCacheDirectory } from './record-cache.ts';
export { type ResolvedAccount, resolveAccount } from './resolve-account.ts';
