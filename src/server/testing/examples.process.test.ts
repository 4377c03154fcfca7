/** The examples of `baton/testing`, run as their readers run them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { until } from '../../../test/support/until.ts';
import { isRunning, type ProcessName } from '../../caspaxos/index.ts';
import { readState } from '../local/index.ts';
import { startCluster, type TestCluster } from './test-cluster.ts';

const EXAMPLES = fileURLToPath(new URL('../../../examples/testing', import.meta.url));
const VITEST = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');

/** Without what the runner around us left for its own workers. */
async function run(...args: string[]): Promise<{ readonly status: number; readonly output: string }> {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(?:VITEST|NODE_TEST|NODE_OPTIONS|TEST)/.test(name),
  );
  const env = Object.fromEntries(kept);
  const child = spawn(process.execPath, args, { cwd: EXAMPLES, env, stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill());
  const [stdout, stderr, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number]>,
  ]);
  return { status, output: `${stdout}${stderr}` };
}

/** What follows in the command that an example says it is run with. */
function argumentsIn(example: string, command: string): readonly string[] {
  const [, rest = ''] = readFileSync(join(EXAMPLES, example), 'utf8').split(`\`${command} `);
  return rest.slice(0, rest.indexOf('`')).split(' ');
}

describe('the example', () => {
  test('for vitest passes with the command that it names', async () => {
    const files = argumentsIn('vitest.test.js', 'npx vitest run');
    const { status, output } = await run(VITEST, 'run', ...files);
    expect(output).toMatch(/1 passed/);
    expect(status).toBe(0);
  });

  test('for node:test passes with the command that it names', async () => {
    const files = argumentsIn('node.test.js', 'node --test');
    const { status, output } = await run('--test', '--test-reporter=tap', ...files);
    expect(output).toMatch(/# pass 1/);
    expect(status).toBe(0);
  });
});

describe('a cluster for tests', () => {
  let cluster: TestCluster | undefined;

  afterEach(() => cluster?.stop());

  test('has what is in the documentation, and leaves nothing behind', async () => {
    cluster = await startCluster({
      regions: ['here', 'there'],
      acceptors: 1,
      partitionSets: 1,
      minimumDurability: 1,
    });
    const { directory, addresses, configFile, operatorToken } = cluster;
    expect(operatorToken).toBe(readFileSync(join(directory, 'operator.token'), 'utf8').trim());
    expect(cluster.page?.endsWith(`/#token=${operatorToken}`)).toBe(true);
    expect(await cluster.load(true, 20)).toMatchObject({ on: true, perSecond: 20 });
    expect(cluster.regions).toEqual(['here', 'there']);
    expect(Object.keys(addresses)).toEqual(['here', 'there']);
    expect(existsSync(configFile)).toBe(true);
    await cluster.waitForWrites({ region: 'here' });
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
    await until('none of them runs', () => !processes.some(isRunning));
    await until('the directory is gone', () => !existsSync(directory));
  });
});
