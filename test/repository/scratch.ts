/** Folders of a test's own, and programs run in them without what the test runner left in the environment. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const folders: string[] = [];

export function makeScratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'baton-repository-'));
  folders.push(folder);
  return folder;
}

export function removeScratch(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

export function write(folder: string, path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text, { mode });
}

export interface Result {
  readonly code: number;
  readonly output: string;
}

export interface RunOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

export function run(
  program: string,
  args: readonly string[],
  { cwd, env = {} }: RunOptions,
): Promise<Result> {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(?:VITEST|CI$|BATON_|npm_)/.test(name));
  const options = { cwd, env: { ...Object.fromEntries(inherited), ...env }, timeout: 240_000 };
  return new Promise((resolve) => {
    execFile(program, args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
      resolve({ code, output: stdout + stderr });
    });
  });
}
