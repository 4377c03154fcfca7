/**
 * The three helpers for programming errors. A failed assertion means that this process no longer understands
 * its own state: it is thrown, never caught and repaired. Expected outcomes are discriminated unions, failures at
 * a boundary are errors with a `code`; neither belongs here.
 */
export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}

/** The value itself, which the caller knows to be there. */
export function must<T>(value: T | null | undefined, message = 'a value that must be there is missing'): T {
  if (value === null || value === undefined) throw new AssertionError(message);
  return value;
}

export function unreachable(value: never): never {
  throw new AssertionError(`unreachable: ${JSON.stringify(value)}`);
}
