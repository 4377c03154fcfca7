/** What a process that holds data writes is for its own user, in a directory that was there before, too. */
const NOBODY_ELSE = 0o077;

export function forOwnerOnly(): void {
  process.umask(NOBODY_ELSE);
}
