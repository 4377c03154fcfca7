/** Programs of others that a benchmark runs: `scripts/programs.mjs` finds or fetches them, here as in the tests. */
import { spawnSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { findProgram, type FoundProgram } from '../../test/support/programs.ts';
import type { Identity } from './servers.ts';

/** Why something cannot run on this machine. */
export interface Lack {
  readonly why: string;
  /** What to install or change. */
  readonly how: string;
}

/** About the first that cannot be had, or cannot be run by the user that the server is to run as. */
export function lackOf(names: readonly string[], identity?: Identity): Lack | undefined {
  for (const name of names) {
    const program = findProgram(name);
    if (program.path === undefined) return { why: `it needs ${name}: ${program.why}`, how: program.how };
    if (identity !== undefined && !isOpenTo(identity, program))
      return {
        why: `it needs ${name} as uid ${identity.uid}, because PostgreSQL refuses root, and that user cannot run ${program.path}`,
        how: 'let every user enter the folders above it',
      };
  }
  return undefined;
}

export function runnable(name: string): FoundProgram {
  const program = findProgram(name);
  if (program.path !== undefined) return program;
  throw new Error(`${name} cannot be had: ${program.why}; to get it: ${program.how}`);
}

/** Another program of the same package. */
export function beside({ path, env }: FoundProgram, name: string): FoundProgram {
  return { name, path: join(folderOf(path), name), env };
}

/** Of the program itself, not of a link to it. */
export function folderOf(path: string): string {
  return dirname(realpathSync(path));
}

function isOpenTo(identity: Identity, { path, env }: FoundProgram): boolean {
  const options = { ...identity, cwd: tmpdir(), env: { ...process.env, ...env } };
  return spawnSync(path, ['--version'], options).status === 0;
}
