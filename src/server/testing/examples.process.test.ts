/** The examples of `baton/testing`, run as their readers run them. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { isRunning, type ProcessName } from '../../caspaxos/index.ts';
import { readState } from '../local/index.ts';
import { startCluster, type TestCluster } from './test-cluster.ts';

const EXAMPLES = fileURLToPath(new URL('../../../examples/testing', import.meta.url));
const VITEST = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');

/** Without what the runner around us left for its own workers. */
function run(...args: string[]): { readonly status: number | null; readonly output: string } {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(?:VITEST|NODE_TEST|NODE_OPTIONS|TEST)/.test(name),
  );
  const env = Object.fromEntries(kept);
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: EXAMPLES,
    env,
    timeout: 120_000,
  });
  return { status, output: `${stdout.toString()}${stderr.toString()}` };
}

describe('the example', () => {
  test('for vitest passes', () => {
    const { status, output } = run(VITEST, 'run', '--root', EXAMPLES, 'vitest.test.js');
    expect(output).toMatch(/1 passed/);
    expect(status).toBe(0);
  });

  test('for node:test passes', () => {
    const { status, output } = run('--test', '--test-reporter=tap', join(EXAMPLES, 'node.test.js'));
    expect(output).toMatch(/# pass 1/);
    expect(status).toBe(0);
  });
});

describe('a cluster for tests', { timeout: 90_000 }, () => {
  let cluster: TestCluster | undefined;

  afterEach(() => cluster?.stop());

  test('has what is in the documentation, and leaves nothing behind', async () => {
    cluster = await startCluster({
      regions: ['here', 'there'],
      acceptors: 1,
      partitionSets: 1,
      minimumDurability: 1,
      tokens: true,
    });
    const { directory, addresses, configFile, operatorToken } = cluster;
    expect(operatorToken).toMatch(/^\S+$/);
    expect(cluster.page?.endsWith(`/#token=${operatorToken}`)).toBe(true);
    expect(await cluster.load(true, 20)).toMatchObject({ on: true, perSecond: 20 });
    expect(cluster.regions).toEqual(['here', 'there']);
    expect(Object.keys(addresses)).toEqual(['here', 'there']);
    expect(existsSync(configFile)).toBe(true);
    expect(await cluster.writers()).toEqual({ 'items-00': 'here' });
    await cluster.pause('there');
    const { writers } = await cluster.waitForFailover();
    expect(writers).toEqual({ 'items-00': 'here' });
    await cluster.resume('there');
    await cluster.stop();
    expect(existsSync(directory)).toBe(false);
  });

  test('goes with the process that started it, also when that is killed', async () => {
    const script = `
      import { startCluster } from 'baton/testing';
      const cluster = await startCluster({ acceptors: 1, partitionSets: 1 });
      await cluster.pause('east');
      console.log(cluster.directory);
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      cwd: EXAMPLES,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const directory = line.toString().trim();
    const state = await readState(directory);
    const processes = state!.processes as unknown as ProcessName[];
    expect(processes.filter(isRunning)).toHaveLength(5);
    child.kill('SIGKILL');
    await expect.poll(() => processes.filter(isRunning), { timeout: 15_000 }).toEqual([]);
    await expect.poll(() => existsSync(directory), { timeout: 15_000 }).toBe(false);
  });
});
