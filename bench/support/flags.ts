/**
 * The flags of a benchmark as a table: what each takes, its default, and a phrase for the help. One table reads the command
 * line, types the values and prints the help. A command line that means nothing is a `FlagError`: one sentence and a code.
 */
import { parseArgs } from 'node:util';

export interface Flag<Value> {
  /** Placeholder of the value in the help, such as N. A switch has none: it takes no value. */
  readonly takes?: string;
  /** A phrase for the help. */
  readonly what: string;
  /** The value when the flag is absent. */
  readonly otherwise: Value;
  /** The same for the help; undefined where `what` tells it, or there is nothing to tell. */
  readonly usual?: string | undefined;
  /** Throws a FlagError. `flag` is the flag as it is typed. */
  readonly read: (text: string, flag: string) => Value;
}

/** By their names in the code: `inFlight` is typed as `--in-flight`. */
export type Flags = Readonly<Record<string, Flag<unknown>>>;

export type Values<Table extends Flags> = {
  readonly [Name in keyof Table]: Table[Name] extends Flag<infer Value> ? Value : never;
};

export class FlagError extends Error {
  override readonly name = 'FlagError';
  readonly code: string;

  constructor(message: string, code = 'FLAG_INVALID') {
    super(message);
    this.code = code;
  }
}

export function toggle(what: string): Flag<boolean> {
  return { what, otherwise: false, read: () => true };
}

export function text<Usual extends string | undefined>(
  takes: string,
  what: string,
  otherwise: Usual,
): Flag<string | Usual> {
  return { takes, what, otherwise, usual: otherwise, read: (typed) => typed };
}

/** A whole number above 0. */
export function count<Usual extends number | undefined>(
  what: string,
  otherwise: Usual,
): Flag<number | Usual> {
  return { takes: 'N', what, otherwise, usual: otherwise?.toString(), read: wholeNumber };
}

export function counts(what: string, otherwise: readonly number[]): Flag<readonly number[]> {
  const read = (typed: string, flag: string): readonly number[] =>
    typed.split(',').map((one) => wholeNumber(one, flag));
  return { takes: 'N,...', what, otherwise, usual: otherwise.join(','), read };
}

/** A number above 0, such as a time. */
export function amount<Usual extends number | undefined>(
  what: string,
  otherwise: Usual,
): Flag<number | Usual> {
  return { takes: 'N', what, otherwise, usual: otherwise?.toString(), read: numberAboveZero };
}

export function oneOf<Name extends string>(
  known: readonly Name[],
  what: string,
  otherwise: Name,
): Flag<Name> {
  const read = (typed: string, flag: string): Name => knownName(typed, flag, known);
  return { takes: 'NAME', what: `${what}: ${known.join(', ')}`, otherwise, usual: otherwise, read };
}

export function someOf<Name extends string>(
  known: readonly Name[],
  what: string,
  otherwise: readonly Name[] = known,
): Flag<readonly Name[]> {
  const read = (typed: string, flag: string): readonly Name[] => [
    ...new Set(typed.split(',').map((name) => knownName(name, flag, known))),
  ];
  const usual = otherwise.length === known.length ? 'all' : otherwise.join(',');
  return { takes: 'NAME,...', what: `${what}: ${known.join(', ')}`, otherwise, usual, read };
}

export function flagNamed(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

export function readFlags<Table extends Flags>(table: Table, args: readonly string[]): Values<Table> {
  const names = new Map(Object.keys(table).map((name) => [flagNamed(name).slice(2), name]));
  const options = Object.fromEntries(
    [...names].map(([typed, name]) => [
      typed,
      { type: table[name]!.takes === undefined ? ('boolean' as const) : ('string' as const) },
    ]),
  );
  const { tokens } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  const values = Object.fromEntries(Object.entries(table).map(([name, flag]) => [name, flag.otherwise]));
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue;
    if (token.kind === 'positional') throw unknown(`argument "${token.value}"`, names.keys());
    const name = names.get(token.name);
    if (name === undefined) throw unknown(`flag ${token.rawName}`, names.keys());
    values[name] = valueOf(table[name]!, token);
  }
  return values as Values<Table>;
}

interface Typed {
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

function valueOf({ takes, read }: Flag<unknown>, { rawName, value, inlineValue }: Typed): unknown {
  if (takes === undefined && value !== undefined) throw new FlagError(`${rawName} takes no value.`);
  if (takes === undefined) return read('', rawName);
  if (value === undefined || (inlineValue !== true && value.startsWith('-')))
    throw new FlagError(`${rawName} needs a value: ${rawName} ${takes}.`);
  return read(value, rawName);
}

function unknown(what: string, names: Iterable<string>): FlagError {
  const known = [...names].map((name) => `--${name}`).join(', ');
  return new FlagError(`Unknown ${what}; known flags: ${known}, --help.`, 'FLAG_UNKNOWN');
}

function wholeNumber(typed: string, flag: string): number {
  const value = Number(typed);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new FlagError(`${flag} needs a whole number above 0, not "${typed}".`);
}

function numberAboveZero(typed: string, flag: string): number {
  const value = Number(typed);
  if (Number.isFinite(value) && value > 0) return value;
  throw new FlagError(`${flag} needs a number above 0, not "${typed}".`);
}

function knownName<Name extends string>(typed: string, flag: string, known: readonly Name[]): Name {
  const name = known.find((one) => one === typed);
  if (name !== undefined) return name;
  throw new FlagError(`${flag} does not know "${typed}"; known: ${known.join(', ')}.`);
}
