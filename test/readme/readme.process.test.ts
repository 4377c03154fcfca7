/** Does what the README tells a new user to do, in a copy of this repository without anything that is not part of it. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DEFAULT_PORT_BASE } from 'baton/server';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { freePortBase } from '../support/port-base.ts';
import { until } from '../support/until.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
/** For the set-up of a clone, and for its removal. */
const START_MS = 300_000;
const FAILOVER_MS = 60_000;
/** From the first port of a cluster to those of its nodes' HTTP, and to that of its global Cosmos DB endpoint; how many regions it has. */
const HTTP = 100;
const COSMOS = 300;
const REGIONS = 3;

/** What a user has: no settings of this test run. */
function freshEnvironment(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _, ...rest } = process.env;
  return Object.fromEntries(
    Object.entries(rest).filter(([name]) => !/^(npm_|VITEST|BATON_|INIT_CWD)/.test(name)),
  );
}

/** The README's block of code in this language that has this text. */
function blockOf(language: string, text: string): string {
  const blocks = README.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'));
  const found = [...blocks].map(([, block]) => block!).find((block) => block.includes(text));
  if (found === undefined) throw new Error(`The README has no block of ${language} with ${text}.`);
  return found;
}

/** The README's commands, in their order, without their comments. */
const COMMANDS = blockOf('sh', 'npx baton')
  .split('\n')
  .map((line) => line.replace(/#.*/, '').trim())
  .filter((line) => line !== '');

function endAtOnce(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

describe('a new user', () => {
  const clone = mkdtempSync(join(tmpdir(), 'baton-readme-'));
  let up: ChildProcess;
  let said = '';
  let portBase = 0;

  const shell = (command: string): string =>
    execFileSync('bash', ['-c', command], {
      cwd: clone,
      env: freshEnvironment(),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    });

  /** Commands that find something wrong say so with their exit code. */
  const shellAnyhow = (command: string): string => {
    try {
      return shell(command);
    } catch (error) {
      return (error as { stdout: string }).stdout;
    }
  };

  /** Puts a program of the README where it says. */
  function save(name: string, program: string): void {
    expect(README).toContain(`\`${name}\` in the clone`);
    writeFileSync(join(clone, name), program);
  }

  /** Waits for what happens only while the cluster runs. */
  async function untilUp(what: string, condition: () => boolean, ms: number): Promise<void> {
    let isSo = false;
    const look = (): boolean => {
      isSo = condition();
      return isSo || up.exitCode !== null;
    };
    await until(what, look, ms).catch(() => undefined);
    if (!isSo) throw new Error(`never: ${what}. It said:\n${said}`);
  }

  /** The processes of the cluster, and those around it. */
  function running(): { readonly pid: number; readonly command: string }[] {
    return execFileSync('ps', ['-eo', 'pid=,args='], { encoding: 'utf8' })
      .split('\n')
      .filter((line) => line.includes(clone) || line.endsWith(`--port-base ${portBase}`))
      .map((line) => ({ pid: Number.parseInt(line, 10), command: line }));
  }

  beforeAll(async () => {
    const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    for (const file of new Set(files.split('\0').filter((name) => name !== ''))) {
      mkdirSync(dirname(join(clone, file)), { recursive: true });
      cpSync(join(ROOT, file), join(clone, file), { force: true });
    }
    portBase = await freePortBase();
    // As the README says, at ports that nobody else uses here.
    up = spawn('npm', ['start', '--', '--port-base', String(portBase)], {
      cwd: clone,
      env: freshEnvironment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [up.stdout!, up.stderr!])
      stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await untilUp('Baton is up', () => said.includes('Baton is up'), START_MS);
  }, START_MS + 10_000);

  afterAll(async () => {
    // After a failure: npm would leave what it started.
    for (const { pid } of running()) endAtOnce(pid);
    await until('nothing of it runs any more', () => running().length === 0);
    rmSync(clone, { recursive: true, force: true });
  }, START_MS);

  test('finds all commands in the README', () => {
    expect(COMMANDS.map((command) => command.split(' ').slice(0, 3).join(' '))).toEqual([
      'npx baton list',
      'npx baton chaos',
      'npx baton doctor',
      'npx baton history',
      'npx baton chaos',
    ]);
  });

  test('is told which page to open, which shows the cluster to nobody without its token', async () => {
    const [, page] = /^Open (http:\/\/127\.0\.0\.1:\d+\/) and sign in with the token in \.\/(\S+)$/m.exec(
      said,
    )!;
    const token = readFileSync(join(clone, 'baton-data/operator.token'), 'utf8').trim();
    expect(said).not.toContain(token);
    expect(page).toBe(`http://127.0.0.1:${portBase + HTTP + REGIONS}/`);
    const opened = await fetch(page!);
    expect([opened.status, opened.headers.get('content-type')]).toEqual([
      200,
      expect.stringContaining('text/html'),
    ]);
    const statusOf = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(`${page}v1/partition-sets`, { headers })).status;
    expect(await statusOf({})).toBe(401);
    expect(await statusOf({ authorization: `Bearer ${token}` })).toBe(200);
  });

  test('is told commands as they can be typed in the clone, the first of the README among them', () => {
    const told = said.split('\n').filter((line) => /^ +(?:npx )?baton /.test(line));
    expect(told.length).toBeGreaterThan(2);
    expect(told.filter((line) => !/^ +npx baton /.test(line))).toEqual([]);
    for (const command of COMMANDS.slice(0, 2)) expect(told).toContainEqual(expect.stringContaining(command));
  });

  test('is told the endpoint and the key for programs that use Azure Cosmos DB', () => {
    expect(said).toContain(`http://127.0.0.1:${portBase + COSMOS}`);
    expect(said).toContain('baton-data/keys/primary');
    expect(README).toContain('baton-data/keys/primary');
  });

  test('sees a region die and come back, and a program of Azure Cosmos DB go on writing', async () => {
    const [list, kill, doctor, history, heal] = COMMANDS as [string, string, string, string, string];
    expect(shell(list)).toMatch(/items-00 +west +1 +Steady/);
    const endpoint = `http://127.0.0.1:${portBase + COSMOS}`;
    const program = blockOf('js', '@azure/cosmos');
    const writes = Number(/count <= (\d+)/.exec(program)![1]);
    expect(program).toContain(`http://127.0.0.1:${DEFAULT_PORT_BASE + COSMOS}`);
    save('writes.mjs', program.replace(`http://127.0.0.1:${DEFAULT_PORT_BASE + COSMOS}`, endpoint));
    const writer = spawn('node', ['writes.mjs'], { cwd: clone, env: freshEnvironment() });
    onTestFinished(() => void writer.kill());
    const ended = once(writer, 'exit');
    let written = '';
    let complaints = '';
    writer.stdout.on('data', (chunk: Buffer) => (written += chunk.toString()));
    writer.stderr.on('data', (chunk: Buffer) => (complaints += chunk.toString()));
    await untilUp('the program writes', () => written.includes('write 5 took'), FAILOVER_MS);
    shell(kill);
    expect(written).not.toContain(`write ${writes} took`);
    await untilUp(
      'all writes in east',
      () => {
        const listed = shell(list);
        return /items-00 +east/.test(listed) && !/ +west +1 +Steady/.test(listed);
      },
      FAILOVER_MS,
    );
    expect(shellAnyhow(doctor)).toContain('west-1');
    expect(shell(history)).toMatch(/west is no longer the write region.*east was elected write region/s);
    shell(heal);
    await untilUp('all writes in west again', () => !/ +east +[2-9] +Steady/.test(shell(list)), FAILOVER_MS);
    expect(shell(doctor)).toContain('nothing is wrong');
    expect({ code: (await ended)[0], complaints }).toEqual({ code: 0, complaints: '' });
    const numbers = [...written.matchAll(/^write (\d+) took \d+ ms$/gm)].map(([, number]) => Number(number));
    expect(numbers).toEqual(Array.from({ length: writes }, (_, at) => at + 1));
  }, 240_000);

  test('keeps a value with the library, from one run to the next', () => {
    save('visits.mjs', blockOf('js', 'baton/caspaxos'));
    expect([1, 2].map(() => shell('node visits.mjs'))).toEqual(['visit number 1\n', 'visit number 2\n']);
  });

  test('stops everything with Ctrl-C', async () => {
    // The terminal sends it to npm and to what npm runs.
    const supervisor = running().find(({ command }) => command.includes('main.js up'));
    process.kill(supervisor!.pid, 'SIGINT');
    await once(up, 'exit');
    expect(running().filter(({ command }) => command.includes(join(clone, 'baton-data')))).toEqual([]);
  }, 60_000);
});
