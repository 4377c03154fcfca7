/** `baton up` and `baton chaos` as people use them, and how they end. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { isRunning } from '../caspaxos/index.ts';
import { freePortBase } from '../../test/support/port-base.ts';
import { until } from '../../test/support/until.ts';
import { readState } from '../server/index.ts';

const BATON = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const SMALL = ['--regions', '3', '--acceptors', '3', '--partition-sets', '2'];

let directory: string;
let up: ChildProcess | undefined;
let output = '';

beforeEach(() => {
  directory = join(mkdtempSync(join(tmpdir(), 'baton-up-')), 'data');
});

afterEach(async () => {
  if (up && up.exitCode === null && up.signalCode === null) {
    await killedAtOnce(up, 'SIGTERM');
  }
  up = undefined;
  rmSync(join(directory, '..'), { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
});

async function start(...flags: string[]): Promise<ChildProcess> {
  const args = ['up', '--data', directory, '--port-base', String(await freePortBase()), ...SMALL, ...flags];
  up = spawn(process.execPath, [BATON, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  output = '';
  up.stdout!.on('data', (bytes: Buffer) => (output += bytes.toString()));
  up.stderr!.on('data', (bytes: Buffer) => (output += bytes.toString()));
  return up;
}

async function printed(text: RegExp): Promise<void> {
  await until(`it prints ${text}`, () => {
    expect(output).toMatch(text);
    return true;
  });
}

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function baton(...args: string[]): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(process.execPath, [BATON, ...args], (error, out, err) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, err }),
    );
  });
}

async function family(): Promise<{ name: string; pid: number; started: string }[]> {
  const state = await readState(directory);
  return state!.processes.map(({ name, pid, started }) => ({ name, pid: pid!, started: started! }));
}

async function exitOf(child: ChildProcess): Promise<unknown> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode ?? child.signalCode;
}

/**
 * Signals that come soon after the first are taken for repetitions of it: this one goes on until it is heard, and no longer, because
 * a process that is ending has taken its handlers down.
 */
async function killedAtOnce(child: ChildProcess, signal: NodeJS.Signals): Promise<unknown> {
  child.kill(signal);
  const again = setInterval(() => {
    if (!output.includes('Killing the cluster')) child.kill(signal);
  }, 300);
  try {
    return await exitOf(child);
  } finally {
    clearInterval(again);
  }
}

function expectNoSecret(text: string): void {
  const tokens = readdirSync(directory).filter((name) => name.endsWith('.token'));
  const keys = readdirSync(join(directory, 'keys')).map((name) => join('keys', name));
  expect([tokens.length, keys.length]).toEqual([5, 4]);
  for (const name of [...tokens, ...keys])
    expect(text).not.toContain(readFileSync(join(directory, name), 'utf8').trim());
}

describe('baton up', () => {
  test('says where everything is, obeys chaos, tells of the failover, and stops in order', async () => {
    const child = await start();
    await printed(/Ctrl-C stops the cluster/);
    expect(output).toMatch(/west +west-1 +127\.0\.0\.1:\d+ +http:\/\/127\.0\.0\.1:\d+/);
    // Its output may be kept, as here: it says where secrets are, and no secret.
    const [, page, file] =
      /Baton is up.*\n\nOpen (http:\/\/127\.0\.0\.1:\d+\/) and sign in with the token in (\S+)\n/.exec(
        output,
      )!;
    expect(file).toBe(join(directory, 'operator.token'));
    const token = readFileSync(file!, 'utf8').trim();
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(`${page}v1/local`)).status).toBe(401);
    expect((await fetch(`${page}v1/local`, { headers })).status).toBe(200);
    expect((await baton('list', '--cluster', directory)).code).toBe(0);
    expect(output).toMatch(/dig @127\.0\.0\.1 -p \d+ TXT demo\.baton\.local/);
    expect(output).toMatch(/chaos kill west --data /);
    const [, endpoint, key] = /endpoint: '(.*?)', key: readFileSync\('(.*?)', 'utf8'\)/.exec(output)!;
    expect(output).toMatch(new RegExp(`global endpoint +${endpoint}\n`));
    expect(key).toBe(join(directory, 'keys', 'primary'));
    expectNoSecret(output);

    const doors = await baton('chaos', 'kill', 'gateway', 'west-gateway', '--data', directory);
    expect(doors.out).toBe('kill gateway, west-gateway: gateway, west-gateway\n');

    const on = await baton('chaos', 'load', 'on', '--per-second', '40', '--data', directory);
    expect(on).toEqual({ code: 0, out: 'load on: 40 writes per second\n', err: '' });
    await printed(/load on: 40 writes per second/);

    const killed = await baton('chaos', 'kill', 'west', '--data', directory);
    expect(killed).toEqual({ code: 0, out: 'kill west: west-1\n', err: '' });
    await printed(/items-0.*: west -> (east|north) \(the lease of west expired\), [\d.]+ s after kill west/);
    expect((await baton('chaos', 'heal', '--data', directory)).code).toBe(0);
    await printed(/items-0.*: (east|north) -> west \(west has a higher priority\)/);
    const off = await baton('chaos', 'load', 'off', '--data', directory, '--json');
    expect(JSON.parse(off.out)).toMatchObject({ action: 'load', load: { on: false, perSecond: 40 } });

    const unknown = await baton('chaos', 'kill', 'south', '--data', directory);
    expect(unknown).toMatchObject({ code: 1, err: expect.stringContaining('[NAME_UNKNOWN]') as string });
    const cut = await baton('chaos', 'cut', 'west', '--data', directory);
    expect(cut).toMatchObject({ code: 1, err: expect.stringContaining('--netns') as string });

    const members = await family();
    // npm passes on what the whole process group receives, so that one request comes several times.
    child.kill('SIGINT');
    await printed(/Stopping/);
    child.kill('SIGINT');
    expect(await exitOf(child)).toBe(0);
    const order = [...output.matchAll(/stopped (\S+)/g)].map(([, name]) => name);
    expect(order.slice(0, 4).every((name) => name!.endsWith('gateway'))).toBe(true);
    expect(order.slice(4, 7)).toEqual(['north-1', 'east-1', 'west-1']);
    expect(order.at(-1)).toBe('dns');
    expect(members.filter(isRunning)).toEqual([]);
    const gone = await baton('chaos', 'kill', 'west', '--data', directory);
    expect(gone).toMatchObject({ code: 1, err: expect.stringContaining('[CLUSTER_NOT_RUNNING]') as string });
  });

  test('killed with -9 leaves no process, not even one that was paused', async () => {
    const child = await start('--json');
    await printed(/\n/);
    expect(JSON.parse(output)).toMatchObject({
      pid: child.pid,
      regions: [{ name: 'west' }, {}, {}],
      gateways: [{ name: 'gateway' }, { name: 'west-gateway', region: 'west' }, {}, {}],
      keys: { primary: join(directory, 'keys', 'primary') },
      page: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/$/) as string,
      tokens: {
        operator: join(directory, 'operator.token'),
        client: join(directory, 'client.token'),
        node: join(directory, 'node.token'),
      },
    });
    expectNoSecret(output);
    expect((await baton('chaos', 'pause', 'east', '--data', directory, '--json')).code).toBe(0);
    const members = await family();
    expect(members.every(isRunning)).toBe(true);
    child.kill('SIGKILL');
    await until('none of them runs', () => !members.some(isRunning));
    const again = await start('--no-gateways');
    await printed(/Ctrl-C stops the cluster/);
    expect(output).not.toMatch(/global endpoint|CosmosClient/);
    again.kill('SIGTERM');
    expect(await exitOf(again)).toBe(0);
  });

  test('told twice to stop, stops at once', async () => {
    const child = await start('--no-gateways');
    await printed(/Ctrl-C stops the cluster/);
    expect((await baton('chaos', 'pause', 'west', '--data', directory)).code).toBe(0);
    const members = await family();
    child.kill('SIGINT');
    await printed(/Stopping/);
    expect(await killedAtOnce(child, 'SIGINT')).toBe(0);
    expect(members.filter(isRunning)).toEqual([]);
    expect(output).toMatch(/Killing the cluster/);
  });

  test('told to stop while it starts, stops', async () => {
    const child = await start();
    await printed(/Starting/);
    child.kill('SIGINT');
    expect(await exitOf(child)).toBe(0);
    expect(output).not.toMatch(/Baton is up|Error/);
  });

  test('refuses with one line: a taken port, wrong flags', async () => {
    const base = await freePortBase();
    const server = createServer();
    await once(server.listen(base + 1, '127.0.0.1'), 'listening');
    const taken = await baton('up', '--data', directory, '--port-base', String(base), ...SMALL);
    server.close();
    expect(taken).toMatchObject({
      code: 1,
      err: `baton: Port ${base + 1} on 127.0.0.1, needed for node west-1, is in use by another process; stop that process, or choose other ports for the whole cluster, for example with \`node dist/cli/main.js up --port-base 5100\`. [PORT_TAKEN]\n`,
    });
    const misused = [
      ['up', '--regions', '0'],
      ['up', '--profile', 'slow'],
      ['up', '--consistency', 'Weak'],
      ['up', '--acceptors', 'x'],
      ['chaos', 'load'],
      ['chaos', 'load', 'west'],
      ['chaos', 'load', 'off', '--per-second', '3'],
      ['chaos', 'load', 'on', '--per-second', '5001'],
      ['chaos', 'kill', 'west', '--per-second', '3'],
    ];
    const ended = await Promise.all(misused.map((words) => baton(...words, '--data', directory)));
    expect(ended.map(({ code, err }) => [code, err.split('\n').length])).toEqual(misused.map(() => [2, 2]));
    expect(existsSync(join(directory, 'baton.yaml'))).toBe(false);
    expect(existsSync(join(directory, 'keys'))).toBe(false);
  });
});
