/** The search for real programs, and the ones that are found: each answers to its protocol, not only to --version. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readFileSync, symlinkSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { needProgram, type Program } from '../support/programs.ts';
import { until } from '../support/until.ts';
import { makeScratch, removeScratch, run, write } from './scratch.ts';
import { ROOT } from './tree.ts';

let folder = '';

beforeEach(() => {
  folder = makeScratch();
});

afterEach(removeScratch);

test('redis-server serves', async (context) => {
  const redis = needProgram(context, 'redis-server');
  const socket = join(folder, 'socket');
  const args = ['--port', '0', '--unixsocket', socket, '--dir', folder, '--save', ''];
  const server = spawn(redis.path, args, { env: { ...process.env, ...redis.env }, stdio: 'ignore' });
  const exited = once(server, 'exit');
  context.onTestFinished(async () => {
    server.kill('SIGKILL');
    await exited;
  });
  const answer = await until('it answers', async () => {
    const client = connect(socket);
    client.write('PING\r\n');
    try {
      const [bytes] = (await once(client, 'data')) as [Buffer];
      return bytes.toString();
    } finally {
      client.destroy();
    }
  });
  expect(answer).toBe('+PONG\r\n');
});

test('postgres has initdb beside it', (context) => {
  const { path } = needProgram(context, 'postgres');
  expect(existsSync(join(dirname(path), 'initdb'))).toBe(true);
});

describe('the search', () => {
  const answer = "#!/bin/sh\necho 'Redis server v=7'\n";
  const failing =
    '#!/bin/sh\n[ "$1" = --version ] && exit 0\necho "$*" >>calls\necho "E: no network" >&2\nexit 100\n';

  /** With nothing on the PATH but Node and what is given. */
  async function search(programs: Record<string, string>, wanted = 'redis-server'): Promise<Program> {
    cpSync(join(ROOT, 'scripts'), join(folder, 'scripts'), { recursive: true });
    for (const [name, text] of Object.entries(programs)) write(folder, `bin/${name}`, text, 0o755);
    write(folder, 'bin/.keep', '');
    if (!existsSync(join(folder, 'bin', 'node'))) symlinkSync(process.execPath, join(folder, 'bin', 'node'));
    const env = { PATH: join(folder, 'bin') };
    const { output } = await run(process.execPath, ['scripts/programs.mjs', '--json', wanted], {
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

  test('finds the libraries that were fetched along with it, in folders below the usual ones too', async () => {
    const root = '.cache/programs/redis-server';
    const folders = ['usr/lib', 'usr/lib/x86_64-linux-gnu', 'usr/lib/x86_64-linux-gnu/pulseaudio'];
    write(folder, `${root}/usr/bin/redis-server`, answer, 0o755);
    for (const [at, place] of folders.entries()) write(folder, `${root}/${place}/lib${at}.so.1`, '');
    write(folder, `${root}/usr/lib/x86_64-linux-gnu/data/table.txt`, '');
    const { env } = (await search({})) as { env: Record<string, string> };
    expect(env['LD_LIBRARY_PATH']).toBe(folders.map((place) => join(folder, root, place)).join(':'));
  });

  describe('for one from npm', () => {
    /** An npm that writes a package of this version, with a script that ends with this code, where it is told to. */
    const npm = (version: string, code = 0): string => `#!/bin/sh
[ "$1" = --version ] && exit 0
echo "$*" >>'${folder}/calls'
/bin/mkdir -p "$3/node_modules/dynalite"
echo '{ "version": "${version}" }' >"$3/node_modules/dynalite/package.json"
echo 'process.exitCode = ${code};' >"$3/node_modules/dynalite/cli.js"
`;
    const calls = (): string[] => readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n');
    const [name, path] = ['dynalite', '.cache/programs/dynalite/node_modules/dynalite/cli.js'];

    test('installs it once, and runs nothing that its package brings along', async () => {
      const first = await search({ npm: npm('4.0.0') }, name);
      expect(first).toEqual({ name, path: join(folder, path), env: {} });
      expect(await search({ npm: npm('4.0.0') }, name)).toEqual(first);
      expect(calls()).toEqual([
        expect.stringMatching(/^install --prefix .*--ignore-scripts.* dynalite@4\.0\.0$/),
      ]);
    });

    test('installs it anew when another version is wanted', async () => {
      write(folder, '.cache/programs/dynalite/node_modules/dynalite/package.json', '{ "version": "3.9.9" }');
      write(folder, path, '');
      expect(await search({ npm: npm('4.0.0') }, name)).toMatchObject({ path: join(folder, path) });
      expect(calls()).toHaveLength(1);
    });

    test('passes by one that does not start, and leaves nothing of it', async () => {
      expect(await search({ npm: npm('4.0.0', 1) }, name)).toMatchObject({
        why: expect.stringContaining('does not start'),
        how: expect.stringContaining('node scripts/programs.mjs dynalite'),
      });
      expect(existsSync(join(folder, path))).toBe(false);
    });

    test('says why it could not be had', async () => {
      expect(await search({}, name)).toMatchObject({ why: expect.stringContaining('there is no npm') });
      const npmFails =
        '#!/bin/sh\n[ "$1" = --version ] && exit 0\necho "npm error code ENOTFOUND" >&2\necho "npm error no network" >&2\nexit 1\n';
      expect(await search({ npm: npmFails }, name)).toMatchObject({
        why: 'it is not here, and npm could not install dynalite@4.0.0: no network',
      });
    });
  });
});
