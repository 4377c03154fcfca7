/** Runs the `baton` command as a person would, and collects what it says. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const CLI = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

export interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export function runCli(...args: readonly string[]): Promise<Said> {
  return run(process.execPath, [CLI, ...args]);
}

export function run(
  program: string,
  args: readonly string[],
  cwd?: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Said> {
  return new Promise((resolve) => {
    const options = { timeout: 280_000, maxBuffer: 16 * 1024 * 1024, cwd, env: { ...process.env, ...env } };
    execFile(program, args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
      resolve({ code, stdout, stderr });
    });
  });
}
