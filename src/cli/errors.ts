/**
 * How a command ends when it cannot do what it was asked: one line on standard error, exit code 1. What is wrong with a file
 * is as many lines as there are things wrong with it.
 */
export function reportError(error: unknown): void {
  if (error instanceof UsageError) process.stderr.write(`baton: ${error.message}\n`);
  else if (isExpected(error)) process.stderr.write(linesOf(error));
  else throw error;
  process.exitCode = 1;
}

interface ExpectedError extends Error {
  readonly code: string;
}

/**
 * Errors of this product: a class of their own and a code in capitals. The system's errors have neither, or the name of the
 * call that failed; those are defects here, and are thrown with all they have.
 */
function isExpected(error: unknown): error is ExpectedError {
  if (!(error instanceof Error) || !('code' in error) || 'syscall' in error) return false;
  const isOfOwnClass = error.name.endsWith('Error') && !(error.name in globalThis);
  return isOfOwnClass && typeof error.code === 'string' && /^[A-Z][A-Z0-9_]+$/.test(error.code);
}

function linesOf({ message, code }: ExpectedError): string {
  const lines = message.split('\n');
  if (lines.length === 1) return `baton: ${message} [${code}]\n`;
  return `${lines.join('\n')}\nbaton: ${lines.length} problems [${code}]\n`;
}

/** The command line itself is wrong. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
