/** One process over its lives, with small programs in the place of the real ones. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../../test/support/until.ts';
import { Guard } from './guarded.ts';
import { RoleProcess } from './role-process.ts';

const READY = `console.log(JSON.stringify({ msg: 'it is ready' }));`;
const STAYS = `${READY} setInterval(() => {}, 1000);`;

/** As long as it takes. */
const LONG_MS = 120_000;

let directory: string;
let guard: Guard;
let one: RoleProcess;
let lost: string[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'baton-role-'));
  guard = new Guard();
  lost = [];
});

afterEach(async () => {
  await one.kill();
  await guard.close();
  rmSync(directory, { recursive: true });
});

function program(script: string, environment: Record<string, string> = {}): RoleProcess {
  one = new RoleProcess({
    name: 'one',
    role: 'node',
    command: () => [process.execPath, '-e', script],
    environment: () => environment,
    log: join(directory, 'logs', 'one.log'),
    guard,
    onLost: (_, how) => lost.push(how),
  });
  return one;
}

describe('a process', () => {
  test('is ready when it says so, in each of its lives, and its log goes on', async () => {
    program(`console.log('not yet'); setTimeout(() => { ${STAYS} }, 50);`);
    for (const lives of [1, 2]) {
      await one.start();
      expect(one.state).toBe('running');
      expect(readFileSync(one.log, 'utf8').match(/is ready/g)).toHaveLength(lives);
      expect(await one.stop(LONG_MS)).toBe(true);
      expect([one.state, one.identity]).toEqual(['stopped', undefined]);
    }
    expect(lost).toEqual([]);
  });

  test('has what it shall know in its environment, beside what this process has', async () => {
    program(`console.log(process.env.SAID, process.env.PATH); ${STAYS}`, { SAID: 'only to it' });
    await one.start();
    expect(readFileSync(one.log, 'utf8')).toContain(`only to it ${process.env['PATH']}`);
    expect(process.env['SAID']).toBeUndefined();
  });

  test('that ends before it is ready is an error with its last words', async () => {
    program(`console.log('first'); console.error('no such disk'); process.exit(3);`);
    await expect(one.start()).rejects.toMatchObject({
      code: 'PROCESS_ENDED',
      message: `one exited (code 3) before it was ready: no such disk (log: ${one.log})`,
    });
    expect(one.state).toBe('stopped');
    expect(lost).toEqual([]);
  });

  test('that cannot be started at all is an error', async () => {
    one = new RoleProcess({
      name: 'one',
      role: 'dns',
      command: () => [join(directory, 'no-such-program')],
      log: join(directory, 'one.log'),
      guard,
    });
    await expect(one.start()).rejects.toMatchObject({ code: 'PROCESS_ENDED' });
  });

  test('that does not want to end is killed; one that was paused ends as it should', async () => {
    program(`process.on('SIGTERM', () => {}); ${STAYS}`);
    await one.start();
    expect(await one.stop(200)).toBe(false);
    expect(one.state).toBe('stopped');
    program(STAYS);
    await one.start();
    one.pause();
    expect(one.state).toBe('paused');
    expect(await one.stop(LONG_MS)).toBe(true);
  });

  test('that ends by itself is told of', async () => {
    program(`process.on('SIGUSR2', () => process.exit(7)); ${STAYS}`);
    await one.start();
    process.kill(one.identity!.pid, 'SIGUSR2');
    await until('it is known to have ended', () => lost.length > 0);
    expect(lost).toEqual(['code 7']);
  });

  test('is not reached by what the terminal sends to the group of its parent', async () => {
    program(`console.log(require('node:fs').readFileSync('/proc/self/stat', 'latin1')); ${STAYS}`);
    await one.start();
    const stat = readFileSync(one.log, 'latin1').split('\n')[0]!;
    const group = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2];
    expect(group).toBe(String(one.identity!.pid));
  });
});
