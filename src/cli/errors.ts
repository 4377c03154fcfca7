/**
 * How a command ends when it cannot do what it was asked: one line on standard error with a stable code, and an exit code that
 * says whether the command line (2) or something else (1) is at fault. A file with several mistakes gets one line for each.
 */
import { type Command, Help, type Option } from 'commander';
import { asTyped, programName } from './invocation.ts';
import { refusalBySystem } from './system-errors.ts';

const EXIT_PROBLEM = 1;
/** The command line, or the cluster file, is wrong. */
const EXIT_USAGE = 2;

export function reportError(error: unknown): void {
  const expected = isExpected(error) ? error : refusalBySystem(error);
  if (expected === undefined) throw error;
  process.stderr.write(asTyped(linesOf(expected)));
  const isOfUsage = error instanceof UsageError || expected.code.startsWith('CONFIG_');
  process.exitCode = isOfUsage ? EXIT_USAGE : EXIT_PROBLEM;
}

/** Lets commander's own refusals (an unknown command or flag, a missing argument) end in the same way. */
export function endingInUsage(command: Command): Command {
  command
    .exitOverride(({ exitCode }) => {
      if (exitCode !== 0) process.exit(EXIT_USAGE);
    })
    .configureHelp({ optionDescription: describeOption })
    .configureOutput({
      writeOut: (text) => process.stdout.write(helpAsTyped(text)),
      writeErr: (text) => process.stderr.write(helpAsTyped(text)),
      outputError: (text, write) => write(`baton: ${refusalOf(text, command)} [USAGE]\n`),
    });
  for (const one of command.commands) endingInUsage(one);
  return command;
}

/** Nobody needs to read that a flag is off, or a list empty, by default. Other defaults are shown as they are typed, without quotes. */
function describeOption(option: Option): string {
  const { defaultValue, description } = option;
  if (defaultValue === false || (Array.isArray(defaultValue) && defaultValue.length === 0))
    return description;
  return new Help().optionDescription(option).replace(/\(default: "(.*)"\)$/, '(default: $1)');
}

/** Commander writes `error: unknown command 'lst'`, and what it takes to be meant in a line below. */
function refusalOf(text: string, command: Command): string {
  const [first = '', ...more] = text
    .trim()
    .replace(/^error: /, '')
    .split('\n');
  const sentence = [first.replace(/\.$/, ''), ...more].join(' ');
  const names = [];
  for (let one: Command | null = command; one?.parent; one = one.parent) names.unshift(one.name());
  return `${sentence}. See \`${[programName(), ...names].join(' ')} --help\`.`;
}

/** In its usage and examples: other lines are wrapped already. */
function helpAsTyped(text: string): string {
  return text.replaceAll(/(?<=^Usage: |^ {2})baton\b/gm, programName());
}

interface ExpectedError extends Error {
  readonly code: string;
}

/** Errors of this product have a class of their own and a code in capitals. Those of the system name the call that failed. */
function isExpected(error: unknown): error is ExpectedError {
  if (!(error instanceof Error) || !('code' in error) || 'syscall' in error) return false;
  const isOfOwnClass = error.name.endsWith('Error') && !(error.name in globalThis);
  return isOfOwnClass && typeof error.code === 'string' && /^[A-Z][A-Z0-9_]+$/.test(error.code);
}

function linesOf({ message, code }: { readonly message: string; readonly code: string }): string {
  const lines = message.split('\n');
  if (lines.length === 1) return `baton: ${message} [${code}]\n`;
  return `${lines.join('\n')}\nbaton: ${lines.length} problems [${code}]\n`;
}

/** The command line is wrong. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly code: string;

  constructor(message: string, code = 'USAGE') {
    super(message);
    this.code = code;
  }
}
