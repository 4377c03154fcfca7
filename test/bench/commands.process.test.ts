/** What every benchmark has in common as a command. Each is started as `npm run` starts it, and may start nothing itself. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { run } from '../cli/run-cli.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const { scripts } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as {
  scripts: Record<string, string>;
};
const COMMANDS = Object.entries(scripts).filter(([name]) => name.startsWith('bench:'));

/** Makes every start of a process or a thread the end of the command, with this exit code. */
const STARTED = 97;
const WATCH = `
import processes from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';
import threads from 'node:worker_threads';
function started() {
  process.exit(${STARTED});
}
for (const name of ['exec', 'execFile', 'execFileSync', 'execSync', 'fork', 'spawn', 'spawnSync']) processes[name] = started;
threads.Worker = started;
syncBuiltinESMExports();
`;

function bench(script: string, ...args: readonly string[]): ReturnType<typeof run> {
  const [, ...command] = script.split(' && ').at(-1)!.split(' ');
  const watch = ['--import', `data:text/javascript,${encodeURIComponent(WATCH)}`];
  return run(process.execPath, [...watch, ...command, ...args], ROOT);
}

test('there are benchmarks, and the watch sees what one of them starts', async () => {
  expect(COMMANDS.length).toBeGreaterThan(5);
  expect(await bench(scripts['bench:rpc']!)).toMatchObject({ code: STARTED, stdout: '' });
});

test.each(COMMANDS)('%s --help explains itself, has an example, and starts nothing', async (name, script) => {
  const { code, stdout, stderr } = await bench(script, '--help');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(new RegExp(`^npm run ${name} -- \\[FLAGS\\]\n\n[A-Z]`));
  const [, example = ''] = /\nExample:\n {2}(.*)\n/.exec(stdout) ?? [];
  expect(example).toContain(`npm run ${name} -- --`);
  const described = [...stdout.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, flag]) => flag);
  expect(described).toEqual(expect.arrayContaining(['--json', '--help']));
  expect(described).toEqual(expect.arrayContaining(example.match(/(?<= )--[a-z-]+/g) ?? []));
});

test.each(COMMANDS)('%s refuses an unknown flag in one sentence', async (name, script) => {
  const { code, stdout, stderr } = await bench(script, '--meteorite');
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(
    new RegExp(`^${name}: Unknown flag --meteorite; known flags: .*\\. \\[FLAG_UNKNOWN\\]\n$`),
  );
});

test('a value that means nothing is refused in one sentence', async () => {
  expect(await bench(scripts['bench:failover']!, '--faults', 'meteorite')).toEqual({
    code: 2,
    stdout: '',
    stderr:
      'bench:failover: --faults does not know "meteorite"; known: kill, pause, switchover, stop, reader, acceptors. [FLAG_INVALID]\n',
  });
});
