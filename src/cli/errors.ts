/** How a command ends when it cannot do what it was asked: one line on standard error, exit code 1. */
import { CasPaxosError } from '../caspaxos/index.ts';

export function reportError(error: unknown): void {
  if (error instanceof CasPaxosError) process.stderr.write(`baton: ${error.message} [${error.code}]\n`);
  else if (error instanceof UsageError) process.stderr.write(`baton: ${error.message}\n`);
  else throw error;
  process.exitCode = 1;
}

/** The command line itself is wrong. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
