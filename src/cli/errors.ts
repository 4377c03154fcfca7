/**
 * How a command ends when it cannot do what it was asked: one line on standard error, and an exit code that says whose matter
 * it is. What is wrong with a file is as many lines as there are things wrong with it.
 */
import type { Command } from 'commander';

const EXIT_PROBLEM = 1;
/** The command line, or the cluster file, is wrong. */
const EXIT_USAGE = 2;

export function reportError(error: unknown): void {
  if (error instanceof CommandError) process.stderr.write(`baton: ${error.message}\n`);
  else if (isExpected(error)) process.stderr.write(linesOf(error));
  else throw error;
  process.exitCode = isOfUsage(error) ? EXIT_USAGE : EXIT_PROBLEM;
}

function isOfUsage(error: Error): boolean {
  return error instanceof UsageError || (isExpected(error) && error.code.startsWith('CONFIG_'));
}

/** What the parser of command lines refuses ends so too. It has said by then what is wrong. */
export function endingInUsage(command: Command): Command {
  command.exitOverride(({ exitCode }) => {
    if (exitCode !== 0) process.exit(EXIT_USAGE);
  });
  for (const one of command.commands) endingInUsage(one);
  return command;
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

/** It could not be done; the sentence says why. */
export class CommandError extends Error {
  override readonly name: string = 'CommandError';
}

/** The command line itself is wrong. */
export class UsageError extends CommandError {
  override readonly name = 'UsageError';
}
