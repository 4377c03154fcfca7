/** How registers and the identity document are named inside a store. */
export const IDENTITY_KEY = 'identity';
export const REGISTER_PREFIX = 'register/';

export function registerKey(key: string): string {
  return REGISTER_PREFIX + key;
}

/** The register's key, or undefined for a document that is not a register. */
export function registerOf(key: string): string | undefined {
  return key.startsWith(REGISTER_PREFIX) ? key.slice(REGISTER_PREFIX.length) : undefined;
}
