/**
 * The real programs that tests and benchmarks start. `npm test` has looked for them already and hands its findings
 * over in BATON_PROGRAMS; without that (a benchmark, or vitest run by hand) `scripts/programs.mjs` is asked now. It is
 * run, not imported, because it is plain JavaScript beside this tree and this file also runs compiled, from `build/`.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { notRun, type Skippable } from './not-run.ts';

export interface FoundProgram {
  readonly name: string;
  readonly path: string;
  /** To be added to the environment of the program. */
  readonly env: Readonly<Record<string, string>>;
}

export interface LackingProgram {
  readonly name: string;
  readonly path?: undefined;
  /** A clause about the program: "it is not on the PATH". */
  readonly why: string;
  readonly how: string;
}

export type Program = FoundProgram | LackingProgram;

let known: Program[] | undefined;

export function findProgram(name: string): Program {
  known ??= JSON.parse(process.env['BATON_PROGRAMS'] ?? '[]') as Program[];
  let program = known.find((candidate) => candidate.name === name);
  if (program === undefined) {
    [program] = JSON.parse(ask(name)) as [Program];
    known.push(program);
  }
  return program;
}

/** The program, or the end of a test that cannot run without it. */
export function needProgram(context: Skippable, name: string): FoundProgram {
  const program = findProgram(name);
  if (program.path !== undefined) return program;
  return notRun(context, { what: `${name}: ${program.why}`, how: program.how });
}

function ask(name: string): string {
  const script = join(packageRoot(), 'scripts', 'programs.mjs');
  try {
    return execFileSync(process.execPath, [script, '--json', name], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  } catch (error) {
    const printed = (error as { stdout?: string }).stdout;
    if (printed === undefined || printed === '') throw error;
    return printed;
  }
}

export function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder);
  return folder;
}
