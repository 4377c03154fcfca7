import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { errorOf } from '../../../test/caspaxos/clusters.ts';
import { temporaryDirectory } from '../../../test/caspaxos/directories.ts';
import { until } from '../../../test/support/until.ts';
import { DiskAcceptor } from '../service/disk-acceptor.ts';
import { LmdbStore } from './lmdb.ts';

type Child = ChildProcessByStdio<Writable, Readable, null>;

function start(script: string, ...args: readonly string[]): { child: Child; lines: string[] } {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const child = spawn(process.execPath, [path, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  return { child, lines };
}

describe('processes that share an LMDB file', () => {
  test('race on one document, and every increment counts', async () => {
    const path = join(temporaryDirectory(), 'shared');
    const store = new LmdbStore(path);
    await store.write([{ key: 'counter', text: '0', expected: undefined }]);
    const racers = [1, 2, 3].map(() => start('../../../test/conformance/lmdb-racer.mjs', path, '300'));
    await until('all processes are ready', () => racers.every(({ lines }) => lines.length > 0));
    for (const { child } of racers) child.stdin.write('go\n');
    await until('all processes are done', () => racers.every(({ lines }) => lines.length > 1));
    const [document] = await store.read(['counter']);
    expect(document?.text).toBe('900');
    const results = racers.map(({ lines }) => JSON.parse(lines[1]!) as { conflicts: number });
    // They must have met, or nothing was shown.
    expect(results.reduce((sum, { conflicts }) => sum + conflicts, 0)).toBeGreaterThan(10);
    await store.close();
  });
});

describe('a process that writes to an LMDB file', () => {
  test('and is killed leaves every write that was answered', async () => {
    const path = join(temporaryDirectory(), 'killed');
    for (let life = 0; life < 3; life += 1) {
      const { child, lines } = start('../../../test/conformance/lmdb-writer.mjs', path);
      const enough = life === 0 ? 20 : 1;
      await until('writes were answered', () => lines.length >= enough);
      const gone = new Promise((resolve) => child.once('close', resolve));
      child.kill('SIGKILL');
      await gone;
      const store = new LmdbStore(path);
      const answered = lines.map((line) => JSON.parse(line) as { key: string; text: string });
      const last = new Map(answered.map(({ key, text }) => [key, text]));
      const documents = await store.read([...last.keys()]);
      // The write that was under way when it was killed may be there as well.
      for (const [at, text] of [...last.values()].entries())
        expect(Number(documents[at]?.text)).toBeGreaterThanOrEqual(Number(text));
      await store.close();
    }
  });
});

describe('stores that share an LMDB file in one thread', () => {
  test('do not wait for each other for ever', async () => {
    const path = join(temporaryDirectory(), 'twice');
    const { child, lines } = start('../../../test/conformance/lmdb-twice.mjs', path, '200');
    const code = await new Promise((resolve) => {
      child.once('exit', resolve);
      // A thread that waits for itself cannot end its own test.
      setTimeout(() => child.kill('SIGKILL'), 120_000).unref();
    });
    expect({ code, lines }).toEqual({ code: 0, lines: ['200'] });
  });
});

describe('a data directory', () => {
  test('that another live process has open is refused; once that is killed, it can be had', async () => {
    const directory = join(temporaryDirectory(), 'data');
    const { child, lines } = start('../../../test/conformance/directory-holder.mjs', directory);
    await until('the other process has it', () => lines.length > 0);
    expect(await errorOf(DiskAcceptor.open({ directory, journalBytes: 64 * 1024 }))).toMatchObject({
      code: 'DATA_LOCKED',
      message: expect.stringContaining(String(child.pid)),
    });
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
    const acceptor = await DiskAcceptor.open({ directory, journalBytes: 64 * 1024 });
    expect(acceptor.id).toBe(lines[0]);
    await acceptor.close();
  });
});
