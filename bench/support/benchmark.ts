/**
 * What all benchmarks have in common as commands: `--help` and `--json`, progress on standard error, figures on standard
 * output, and at the end what was left out and how to get it. Exit code 2: the command line means nothing; 1: something
 * failed.
 *
 *   await runBenchmark({ name, about, flags, example }, async (flags, bench) => ({ text, json }));
 */
import { type Flag, FlagError, flagNamed, type Flags, readFlags, toggle, type Values } from './flags.ts';
import type { Lack } from './programs.ts';

export interface Benchmark<Table extends Flags> {
  /** `npm run bench:NAME`. */
  readonly name: string;
  /** What is measured, for the help. */
  readonly about: string;
  readonly flags: Table;
  /** Flags of a run that is worth trying first. */
  readonly example: string;
  /** Rows of `scripts/programs.mjs` that some of it needs. */
  readonly programs?: readonly string[];
}

/** The same figures for programs and for people. */
export interface Figures {
  readonly json: object;
  readonly text: string;
}

export interface LeftOut {
  readonly name: string;
  readonly why: string;
  /** How to get what it needs; absent when it failed. */
  readonly how?: string;
}

/** One run of a benchmark. */
export class Bench {
  readonly #leftOut: LeftOut[] = [];

  get leftOut(): readonly LeftOut[] {
    return this.#leftOut;
  }

  readonly progress = (line: string): void => {
    process.stderr.write(`${line}\n`);
  };

  /** Whether nothing is lacking to run it here; otherwise it is left out. */
  canRun(name: string, lack: Lack | undefined): boolean {
    if (lack !== undefined) this.#leaveOut({ name, ...lack });
    return lack === undefined;
  }

  /** A failure of one part does not keep the others from being measured. False: it failed. */
  async attempt(name: string, measure: () => Promise<void>): Promise<boolean> {
    try {
      await measure();
      return true;
    } catch (error) {
      process.exitCode = 1;
      this.#leaveOut({ name, why: `it failed: ${(error as Error).message}` });
      return false;
    }
  }

  #leaveOut(one: LeftOut): void {
    this.#leftOut.push(one);
    this.progress(`${one.name} is left out: ${one.why}`);
  }
}

const COMMON = { json: toggle('print the figures as JSON') };
const WIDTH = 100;

/** Ends the process' work: a benchmark's file calls it and does nothing after. */
export async function runBenchmark<Table extends Flags>(
  benchmark: Benchmark<Table>,
  measure: (flags: Values<Table>, bench: Bench) => Promise<Figures>,
): Promise<void> {
  const args = process.argv.slice(2);
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(helpOf(benchmark));
    return;
  }
  // An exit, unlike the end by a signal, takes the servers and their directories along.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => process.exit(130));
  try {
    const flags = readFlags({ ...benchmark.flags, ...COMMON }, args);
    const bench = new Bench();
    const { json, text } = await measure(flags, bench);
    const { leftOut } = bench;
    process.stdout.write(
      flags.json ? `${JSON.stringify({ ...json, leftOut })}\n` : `${text}${describeLeftOut(leftOut)}`,
    );
  } catch (error) {
    process.stderr.write(`bench:${benchmark.name}: ${sentenceOf(error as Error)}\n`);
    process.exitCode = error instanceof FlagError ? 2 : 1;
  }
}

function sentenceOf(error: Error & { readonly code?: unknown }): string {
  return typeof error.code === 'string' ? `${error.message} [${error.code}]` : error.message;
}

export function describeLeftOut(leftOut: readonly LeftOut[]): string {
  if (leftOut.length === 0) return '';
  const lines = leftOut.map(({ name, why, how }) =>
    how === undefined ? `  ${name}: ${why}\n` : `  ${name}: ${why}\n    to get it: ${how}\n`,
  );
  return `\nLeft out:\n${lines.join('')}`;
}

export function helpOf({ name, about, flags, example, programs = [] }: Benchmark<Flags>): string {
  const rows = [
    ...Object.entries({ ...flags, ...COMMON }).map(
      ([flag, row]) => [withPlaceholder(flagNamed(flag), row), describe(row)] as const,
    ),
    ['--help', 'print this text'] as const,
  ];
  const width = Math.max(...rows.map(([flag]) => flag.length)) + 4;
  const lines = rows.map(([flag, what]) => {
    const [first = '', ...more] = wrapped(what, WIDTH - width);
    return [`  ${flag}`.padEnd(width) + first, ...more.map((line) => ' '.repeat(width) + line)].join('\n');
  });
  const command = `npm run bench:${name}`;
  return [
    `${command} -- [FLAGS]`,
    '',
    ...wrapped(about, WIDTH),
    '',
    'Flags:',
    ...lines,
    '',
    'Example:',
    `  ${command} -- ${example}`,
    '',
    ...(programs.length === 0 ? [] : [...wrapped(aboutPrograms(programs), WIDTH), '']),
  ].join('\n');
}

function withPlaceholder(flag: string, { takes }: Flag<unknown>): string {
  return takes === undefined ? flag : `${flag} ${takes}`;
}

function describe({ what, usual }: Flag<unknown>): string {
  return usual === undefined ? what : `${what} (default: ${usual})`;
}

function aboutPrograms(names: readonly string[]): string {
  return (
    `Programs used: ${names.join(', ')}. Each is taken from the PATH, from where its package installs it, or from ` +
    'the folder .cache; a missing one is fetched into .cache where apt-get or npm can. What cannot run is left out, ' +
    'and listed at the end with how to get it.'
  );
}

function wrapped(paragraph: string, width: number): readonly string[] {
  const lines = [''];
  for (const word of paragraph.split(' ')) {
    const line = lines.at(-1)!;
    if (line !== '' && line.length + word.length >= width) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}
