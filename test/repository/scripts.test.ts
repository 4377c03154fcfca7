/** What the commands of the repository say to whoever waits for them. */
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { repositoryTree, ROOT, textOf } from './tree.ts';

interface Summary {
  readonly passed: number;
  readonly failed: number;
  readonly filtered: number;
  readonly notRun: readonly { readonly test: string; readonly what: string; readonly how: string }[];
  readonly skipped: readonly string[];
  readonly problems: readonly string[];
}

interface Scripts {
  verdictOn(summary: Summary, lane: string | undefined): { readonly text: string; readonly code: number };
  describeLeftOut(): string;
  readonly TESTS: readonly { readonly name: string }[];
  readonly COMPUTING: readonly { readonly name: string }[];
  showStep(name: string, action: () => Promise<void>, options: object): Promise<void>;
}

/** Plain JavaScript, which runs before anything is installed. */
async function load<Name extends keyof Scripts>(file: string, name: Name): Promise<Scripts[Name]> {
  const module = (await import(join(ROOT, 'scripts', file))) as Scripts;
  return module[name];
}

const GOOD: Summary = { passed: 3, failed: 0, filtered: 0, notRun: [], skipped: [], problems: [] };

describe('npm test', () => {
  test('says at its end what the long run has in addition, and how to start that', async () => {
    const verdictOn = await load('verdict.mjs', 'verdictOn');
    const { text, code } = verdictOn(GOOD, 'quick');
    expect(code).toBe(0);
    expect(text).toMatch(
      /^\n3 tests passed, 0 failed\.\nnpm run test:all \(about \d+ minutes\) runs these as well:\n/,
    );
    const steps = [...(await load('long-run.mjs', 'TESTS')), ...(await load('long-run.mjs', 'COMPUTING'))];
    const named = text.split('\n').flatMap((line) => /^ {2}(\S.*?) {2}/.exec(line)?.[1] ?? []);
    expect(named).toEqual(steps.map(({ name }) => name));
  });

  test('says nothing of it in other lanes, or when files were named', async () => {
    const verdictOn = await load('verdict.mjs', 'verdictOn');
    expect(verdictOn(GOOD, 'long').text).toBe('\n3 tests passed, 0 failed.\n');
    expect(verdictOn(GOOD, undefined)).toEqual({ text: '', code: 0 });
  });

  test('lists what was not run under its reason, with how to get it', async () => {
    vi.stubEnv('CI', '');
    const verdictOn = await load('verdict.mjs', 'verdictOn');
    const lacking = (name: string) => ({ test: name, what: 'etcd is not here', how: 'install etcd' });
    expect(verdictOn({ ...GOOD, notRun: [lacking('one'), lacking('two')] }, undefined).text).toBe(
      '\nNot run, 2 in all:\n  etcd is not here\n    to get it: install etcd\n    - one\n    - two\n',
    );
    vi.unstubAllEnvs();
  });

  test('fails when a test failed, when one was skipped, and when there was none', async () => {
    const verdictOn = await load('verdict.mjs', 'verdictOn');
    expect(verdictOn({ ...GOOD, failed: 1 }, 'quick').code).toBe(1);
    expect(verdictOn({ ...GOOD, passed: 0 }, 'quick').code).toBe(1);
    expect(verdictOn({ ...GOOD, failed: 1, skipped: ['x'] }, undefined)).toEqual({
      text: 'Skipped without a reason: x\n',
      code: 1,
    });
  });
});

test('the long run says what is not in it, each with a command that there is', async () => {
  const text = (await load('long-run.mjs', 'describeLeftOut'))();
  expect(text).toContain('(npm run mutants -- --seeds)');
  const { scripts } = JSON.parse(textOf(repositoryTree(), 'package.json')) as { scripts: object };
  const named = [...text.matchAll(/\(npm run ([a-z:]+)/g)].map(([, name]) => name!);
  expect(named).toHaveLength(text.split('\n').length - 1);
  for (const name of named)
    expect(Object.keys(scripts).filter((script) => script.startsWith(name))).not.toEqual([]);
});

describe('a long step', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  /** What is written while a step takes so many seconds. */
  async function written(seconds: number, isTTY: boolean, isLong = true): Promise<string> {
    const showStep = await load('steps.mjs', 'showStep');
    let text = '';
    const stream = { isTTY, write: (part: string) => void (text += part) };
    const step = showStep('Compiling', () => new Promise((done) => setTimeout(done, seconds * 1000)), {
      stream,
      isLong,
    });
    await vi.advanceTimersByTimeAsync(seconds * 1000);
    await step;
    return text;
  }

  test('counts the seconds in place on a terminal, and leaves one line', async () => {
    const clear = '\r\u001B[K';
    expect(await written(2.5, true)).toBe(
      ['Compiling ...', 'Compiling: 1 s ...', 'Compiling: 2 s ...', 'Compiling: 3 s\n']
        .map((part) => `${clear}${part}`)
        .join(''),
    );
  });

  test('writes a line now and then elsewhere', async () => {
    expect(await written(20, false)).toBe('Compiling ...\nCompiling: 15 s ...\n');
  });

  test('says nothing when it is over before anybody wonders', async () => {
    expect(await written(1, true, false)).toBe('');
    expect(await written(2, false, false)).toBe('Compiling ...\n');
  });
});
