/** The set-up, with an npm and a compiler that only write down that they were called: what is stale is redone, no more. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, cpSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { makeScratch, removeScratch, run, type Result, write } from './scratch.ts';
import { ROOT } from './tree.ts';

const COMPILER = `#!/usr/bin/env node
const { appendFileSync, existsSync, mkdirSync, writeFileSync } = require('node:fs');
const anew = existsSync('build/info/notes') ? '' : ' anew';
appendFileSync('calls', ['tsc', ...process.argv.slice(2)].join(' ') + anew + '\\n');
for (const folder of ['dist', 'build/info']) mkdirSync(folder, { recursive: true });
writeFileSync('build/info/notes', '');
writeFileSync('dist/main.js', '');
if (existsSync('broken')) { console.log('a.ts(1,1): error'); process.exit(2); }
`;

const NPM = `#!/usr/bin/env node
const { appendFileSync, mkdirSync, rmSync, writeFileSync } = require('node:fs');
const inherited = Object.keys(process.env).filter((name) => name.startsWith('npm_'));
appendFileSync('calls', ['npm', process.argv[2], ...inherited].join(' ') + '\\n');
rmSync('node_modules', { recursive: true, force: true });
if (process.env.INSTALL_FAILS) { console.error('npm error no network'); process.exit(1); }
setTimeout(() => {
  mkdirSync('node_modules/typescript/bin', { recursive: true });
  writeFileSync('node_modules/typescript/bin/tsc', ${JSON.stringify(COMPILER)});
}, 100);
`;

const INSTALLING = 'Installing dependencies (npm ci) ...\n';
const COMPILING = 'Compiling (tsc -b) ...\n';
/** Of a fresh clone. */
const BOTH = `Step 1 of 2: ${INSTALLING}Step 2 of 2: ${COMPILING}`;

const manifest = (rest: object) => JSON.stringify({ engines: { node: '>=20.19' }, ...rest });

let folder = '';

beforeEach(() => {
  folder = makeScratch();
  cpSync(join(ROOT, 'scripts'), join(folder, 'scripts'), { recursive: true });
  nobodyWonders();
  write(folder, 'package.json', manifest({ dependencies: { a: '1' } }));
  write(folder, 'package-lock.json', '{}');
  write(folder, 'src/main.ts', '');
  write(folder, 'bin/npm', NPM, 0o755);
});

afterEach(removeScratch);

/** A step that takes long on a busy machine says so: what these tests expect to be said must not depend on that. */
function nobodyWonders(): void {
  const steps = readFileSync(join(ROOT, 'scripts/steps.mjs'), 'utf8');
  const patient = steps.replaceAll(/^(const (?:WONDERING|PLAIN)_MS) = [\d_]+;$/gm, '$1 = 3_600_000;');
  expect(patient.match(/3_600_000/g)).toHaveLength(2);
  write(folder, 'scripts/steps.mjs', patient);
}

const searchPath = () => `${join(folder, 'bin')}${delimiter}${process.env['PATH']}`;

function setUp(env: Record<string, string> = {}): Promise<Result> {
  return run(process.execPath, ['scripts/setup.mjs'], { cwd: folder, env: { PATH: searchPath(), ...env } });
}

/** What was called since the last time of asking. */
function calls(): string[] {
  const file = join(folder, 'calls');
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  rmSync(file, { force: true });
  return lines;
}

test('npm start with an option before the -- says how it is written, and sets nothing up', async () => {
  const { code, output } = await run(process.execPath, ['scripts/start.mjs', '5100'], { cwd: folder });
  expect({ code, output, calls: calls() }).toEqual({
    code: 1,
    output:
      'npm start: "5100" is not an option. Options must follow "--", for example: npm start -- --port-base 5100 [USAGE]\n',
    calls: [],
  });
});

describe('the set-up', () => {
  test('of a fresh clone installs and builds, and says so', async () => {
    const { code, output } = await setUp({ npm_config_omit: 'dev', npm_config_registry: 'http://registry' });
    expect({ code, output }).toEqual({ code: 0, output: BOTH });
    expect(calls()).toEqual(['npm ci npm_config_registry', 'tsc -b anew']);
  });

  test('redoes what is stale and no more', async () => {
    await setUp();
    calls();
    const remove = (path: string) => rmSync(join(folder, path), { recursive: true });
    const steps: [string, () => void, string[]][] = [
      ['nothing', () => {}, ['tsc -b']],
      ['lock file', () => write(folder, 'package-lock.json', '{ "packages": {} }'), ['npm ci', 'tsc -b']],
      [
        'dependency',
        () => write(folder, 'package.json', manifest({ dependencies: { a: '2' } })),
        ['npm ci', 'tsc -b'],
      ],
      [
        'script',
        () => write(folder, 'package.json', manifest({ dependencies: { a: '2' }, scripts: {} })),
        ['tsc -b'],
      ],
      ['no node_modules', () => remove('node_modules'), ['npm ci', 'tsc -b']],
      ['no dist', () => remove('dist'), ['tsc -b anew']],
      ['one file less in dist', () => remove('dist/main.js'), ['tsc -b anew']],
    ];
    for (const [name, change, expected] of steps) {
      change();
      const { code, output } = await setUp();
      const said = `${expected.includes('npm ci') ? INSTALLING : ''}${expected.includes('tsc -b anew') ? COMPILING : ''}`;
      expect({ name, code, output, calls: calls() }).toEqual({
        name,
        code: 0,
        output: said,
        calls: expected,
      });
    }
  });

  test('shows why an installation failed, and tries again the next time', async () => {
    const { code, output } = await setUp({ INSTALL_FAILS: 'yes' });
    expect(code).toBe(1);
    expect(output).toContain('npm error no network');
    calls();
    expect((await setUp()).code).toBe(0);
    expect(calls()).toEqual(['npm ci', 'tsc -b anew']);
  });

  test('shows why a build failed', async () => {
    write(folder, 'broken', '');
    const { code, output } = await setUp();
    expect(code).toBe(1);
    expect(output).toContain('a.ts(1,1): error');
  });

  test('run by several at once installs once', async () => {
    const results = await Promise.all([setUp(), setUp(), setUp(), setUp()]);
    expect(results.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    expect(calls().filter((call) => call.startsWith('npm'))).toEqual(['npm ci']);
  });

  test('is not held up by one that was killed', async () => {
    const slow = NPM.replace('}, 100);', '}, 60_000);');
    write(folder, 'bin/npm', slow, 0o755);
    const env = { ...process.env, PATH: searchPath() };
    const victim = spawn(process.execPath, ['scripts/setup.mjs'], { cwd: folder, env, detached: true });
    await once(victim.stderr, 'data');
    process.kill(-victim.pid!, 'SIGKILL');
    await once(victim, 'exit');
    write(folder, 'bin/npm', NPM, 0o755);
    expect((await setUp()).code).toBe(0);
  });
});

describe('a Node that is too old', () => {
  test('is refused in one sentence, before anything is installed', async () => {
    write(folder, 'package.json', JSON.stringify({ engines: { node: '>=999.1' } }));
    const { code, output } = await setUp();
    const found = process.versions.node;
    expect([code, output]).toEqual([
      1,
      `Baton needs Node 999.1 or newer; this is Node ${found}. Install a newer one from https://nodejs.org. [NODE_TOO_OLD]\n`,
    ]);
    expect(calls()).toEqual([]);
  });

  test('can read the file that refuses it, and reads that first', () => {
    const text = readFileSync(join(ROOT, 'scripts', 'demand-node.cjs'), 'utf8').replaceAll(
      /\/\*.*?\*\//gs,
      '',
    );
    expect(text).not.toMatch(/\b(?:const|let|class|async|await|import)\b|=>|`|\?\?|\?\.|\*\*|\.\.\.|,\s*\)/);
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    for (const name of ['start', 'test', 'build'])
      expect(scripts[name]).toMatch(/^node -r \.\/scripts\/demand-node\.cjs /);
  });
});

describe('the lock', () => {
  const holder = `
    import { appendFileSync } from 'node:fs';
    import { setTimeout as sleep } from 'node:timers/promises';
    import { withLock } from './scripts/lock.mjs';
    for (let round = 0; round < 5; round += 1) {
      await withLock('test', async () => {
        appendFileSync('log', 'in\\n');
        await sleep(5);
        appendFileSync('log', 'out\\n');
        if (process.argv[1] === 'crash' && round === 2) process.kill(process.pid, 'SIGKILL');
      });
    }`;

  test('lets one in at a time, though holders die with it', async () => {
    const kinds = ['live', 'crash', 'live', 'crash', 'live'];
    const args = (kind: string) => ['--input-type=module', '--eval', holder, kind];
    await Promise.all(kinds.map((kind) => run(process.execPath, args(kind), { cwd: folder })));
    const log = readFileSync(join(folder, 'log'), 'utf8').trim().split('\n');
    expect(log).toEqual(Array.from({ length: 3 * 5 + 2 * 3 }, () => ['in', 'out']).flat());
  });

  test('is not fooled by another process that has the number of a dead holder', async () => {
    appendFileSync(join(folder, 'log'), '');
    write(folder, '.cache/locks/test/7', JSON.stringify({ pid: process.pid, started: 'before' }));
    const { code } = await run(process.execPath, ['--input-type=module', '--eval', holder], { cwd: folder });
    expect(code).toBe(0);
  });
});
