/** The search for real programs, and the ones that are found: each answers to its protocol, not only to --version. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readFileSync, symlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { needProgram, type Program } from '../support/programs.ts';
import { makeScratch, removeScratch, run, write } from './scratch.ts';
import { ROOT } from './tree.ts';

let folder = '';

beforeEach(() => {
  folder = makeScratch();
});

afterEach(removeScratch);

test('redis-server serves', { timeout: 30_000 }, async (context) => {
  const redis = needProgram(context, 'redis-server');
  const socket = join(folder, 'socket');
  const args = ['--port', '0', '--unixsocket', socket, '--dir', folder, '--save', ''];
  const server = spawn(redis.path, args, { env: { ...process.env, ...redis.env }, stdio: 'ignore' });
  const exited = once(server, 'exit');
  context.onTestFinished(async () => {
    server.kill('SIGKILL');
    await exited;
  });
  while (!existsSync(socket) && server.exitCode === null) await sleep(20);
  const client = connect(socket);
  client.write('PING\r\n');
  const [answer] = (await once(client, 'data')) as [Buffer];
  client.destroy();
  expect(answer.toString()).toBe('+PONG\r\n');
});

describe('the search', () => {
  const answer = "#!/bin/sh\necho 'Redis server v=7'\n";
  const failing =
    '#!/bin/sh\n[ "$1" = --version ] && exit 0\necho "$*" >>calls\necho "E: no network" >&2\nexit 100\n';

  /** With nothing on the PATH but Node and what is given. */
  async function search(programs: Record<string, string>): Promise<Program> {
    cpSync(join(ROOT, 'scripts'), join(folder, 'scripts'), { recursive: true });
    for (const [name, text] of Object.entries(programs)) write(folder, `bin/${name}`, text, 0o755);
    write(folder, 'bin/.keep', '');
    symlinkSync(process.execPath, join(folder, 'bin', 'node'));
    const env = { PATH: join(folder, 'bin') };
    const { output } = await run(process.execPath, ['scripts/programs.mjs', '--json', 'redis-server'], {
      cwd: folder,
      env,
    });
    const [program] = JSON.parse(output.slice(output.indexOf('['), output.lastIndexOf(']') + 1)) as Program[];
    return program!;
  }

  test('takes what is on the PATH', async () => {
    expect(await search({ 'redis-server': answer })).toEqual({
      name: 'redis-server',
      path: join(folder, 'bin', 'redis-server'),
      env: {},
    });
  });

  test('passes by one that does not start, and says how to get one', async () => {
    expect(await search({ 'redis-server': '#!/bin/sh\nexit 1\n' })).toEqual({
      name: 'redis-server',
      why: expect.stringContaining('there is no apt-get'),
      how: expect.stringContaining('apt-get install redis-server'),
    });
  });

  test('says why it could not be fetched, after two attempts', async () => {
    const program = await search({ 'apt-get': failing, dpkg: answer });
    expect(program).toMatchObject({ why: expect.stringContaining('no network') });
    const calls = readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n');
    expect(calls.map((call) => /install|update/.exec(call)?.[0])).toEqual(['install', 'update']);
  });
});
