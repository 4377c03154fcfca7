/** Servers that a benchmark starts and stops itself: each a process of its own, data in a directory that goes away. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const running = new Set<ChildProcess>();
const directories = new Set<string>();

export function temporaryDirectory(name: string): string {
  const directory = mkdtempSync(join(tmpdir(), `baton-bench-${name}-`));
  directories.add(directory);
  return directory;
}

export function start(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/** An acceptor service; resolves to its URL. */
export async function startAcceptor(directory: string): Promise<{ url: string; process: ChildProcess }> {
  const cli = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));
  const child = start(process.execPath, [cli, 'acceptor', '--data', directory, '--listen', '127.0.0.1:0']);
  const [line] = (await once(child.stdout!, 'data')) as [Buffer];
  child.stdout!.resume();
  const { url } = JSON.parse(line.toString()) as { url: string };
  return { url, process: child };
}

export async function stopAll(): Promise<void> {
  const exits = [...running].map((child) => once(child, 'exit'));
  for (const child of running) child.kill('SIGTERM');
  await Promise.all(exits);
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
}

process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
