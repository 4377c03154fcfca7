/** Processes in PID namespaces of their own, as in containers: each is number 1 there, so their numbers tell nothing. */
import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryDirectory } from '../../../test/caspaxos/directories.ts';
import { notRun } from '../../../test/support/not-run.ts';

const HOLDER = fileURLToPath(new URL('../../../test/conformance/directory-holder.mjs', import.meta.url));
const IN_NAMESPACE = ['--user', '--map-root-user', '--pid', '--fork', '--mount-proc', '--kill-child', '--'];

function canMakeNamespaces(): boolean {
  try {
    execFileSync('unshare', [...IN_NAMESPACE, 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function hold(directory: string, kind: string): ChildProcessByStdio<null, Readable, Readable> {
  const child = spawn('unshare', [...IN_NAMESPACE, process.execPath, HOLDER, directory, kind], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

test.for([
  ['acceptor', /^[0-9a-f-]{36}\n$/, 'DATA_LOCKED'],
  ['node', /^open\n$/, 'DATA_IN_USE'],
] as const)(
  'the directory of %s is refused to a process of another namespace, and free when its holder was killed',
  async ([kind, opened, refusal], context) => {
    if (!canMakeNamespaces())
      notRun(context, {
        what: 'PID namespaces cannot be made here',
        how: 'run on Linux with util-linux, where users may make namespaces or as root',
      });
    const directory = join(temporaryDirectory(), 'data');
    const first = hold(directory, kind);
    await once(first.stdout, 'data');
    const second = hold(directory, kind);
    const said = text(second.stderr);
    const [status] = (await once(second, 'exit')) as [number];
    expect(status).not.toBe(0);
    expect(await said).toContain(refusal);
    first.kill('SIGKILL');
    // With the namespace's first process all of it ends, and only then its output does.
    await once(first.stdout, 'close');
    const third = hold(directory, kind);
    const [printed] = (await once(third.stdout, 'data')) as [Buffer];
    expect(String(printed)).toMatch(opened);
  },
);

test("another user's lock is not taken for a stale one, and is named", async (context) => {
  if (process.getuid?.() !== 0)
    notRun(context, { what: 'only root can start a process of another user', how: 'run as root' });
  const directory = join(temporaryDirectory(), 'data');
  chmodSync(dirname(directory), 0o755);
  mkdirSync(directory);
  const holder = spawn(process.execPath, [HOLDER, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(holder.stdout, 'data');
  holder.kill('SIGKILL');
  await once(holder.stdout, 'close');
  chmodSync(directory, 0o777);
  const left = readdirSync(directory).find((name) => name.endsWith('.sock'));
  const nobody = 65_534;
  const other = spawn(process.execPath, [HOLDER, directory], {
    stdio: ['ignore', 'ignore', 'pipe'],
    uid: nobody,
    gid: nobody,
  });
  expect(await text(other.stderr)).toContain(`${left} is another user's`);
  expect(readdirSync(directory)).toContain(left);
});
