/**
 * The servers of other systems: installed, or fetched by `scripts/programs.mjs`, which is asked for those that are needed and
 * no others. `npm test` has asked already (BATON_PROGRAMS).
 */
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { FoundProgram, Program } from '../../test/support/programs.ts';
import { findOnPath, type Identity, postgresFolders } from '../support/servers.ts';

const SCRIPT = fileURLToPath(new URL('../../../scripts/programs.mjs', import.meta.url));
const found = new Map<string, Program>();

export function programNamed(name: string): Program {
  const program = found.get(name) ?? known(name) ?? ask(name);
  found.set(name, program);
  return program;
}

export function runnable(name: string): FoundProgram {
  const program = programNamed(name);
  if (program.path === undefined) throw new Error(`${name}: ${program.why}`);
  return program;
}

/** One sentence about the first that is lacking. */
export function lacking(...names: readonly string[]): string | undefined {
  if (process.platform !== 'linux') return 'it is run on Linux only';
  for (const name of names) {
    const program = programNamed(name);
    if (program.path === undefined) return `${name}: ${program.why}; to get it: ${program.how}`;
  }
  return undefined;
}

/** One sentence about the first that cannot be run by somebody else than us, who may not look into our folders. */
export function closedTo(identity: Identity | undefined, ...names: readonly string[]): string | undefined {
  if (identity === undefined) return undefined;
  for (const name of names) {
    const { path, env } = runnable(name);
    const options = { ...identity, cwd: tmpdir(), env: { ...process.env, ...env } };
    if (spawnSync(path, ['--version'], options).status !== 0)
      return `${path} cannot be run by uid ${identity.uid}, as whom the members run because PostgreSQL refuses root; to get there: let everybody into the folders above it`;
  }
  return undefined;
}

function known(name: string): Program | undefined {
  const { BATON_PROGRAMS: given } = process.env;
  if (given === undefined) return undefined;
  return (JSON.parse(given) as readonly Program[]).find((program) => program.name === name);
}

function ask(name: string): Program {
  const { stdout } = spawnSync(process.execPath, [SCRIPT, '--json', name], { encoding: 'utf8' });
  if (stdout !== '') return (JSON.parse(stdout) as readonly Program[])[0]!;
  const path = findOnPath(name, postgresFolders());
  if (path !== undefined) return { name, path, env: {} };
  return { name, why: 'it is not on the PATH', how: `Debian and Ubuntu: apt-get install ${name}` };
}
