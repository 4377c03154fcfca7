/**
 * Shows that the walls hold: the real settings of every room around sources of one line, with one breach after the
 * other. Were a project's settings loosened, the breach would compile and the test would fail.
 */
import { cpSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeScratch, removeScratch, type Result, run, write } from './scratch.ts';
import { filesUnder, repositoryTree, ROOT } from './tree.ts';
import { ROOMS } from './walls.ts';

const PLANTED = 'planted.ts';
const projects = filesUnder(repositoryTree(), ['src'], ['/tsconfig.json']).map((path) => dirname(path));
const cores = projects.filter((path) => path.endsWith('/core'));
const rooms = ROOMS.filter((room) => projects.includes(`src/${room}`));
const lintedAsCores = [...cores, 'src/protocol', 'src/check'];

let folder = '';

beforeAll(() => {
  folder = makeScratch();
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  for (const file of ['tsconfig.base.json', '.oxlintrc.json', 'package.json'])
    cpSync(join(ROOT, file), join(folder, file));
  for (const project of projects) {
    cpSync(join(ROOT, project, 'tsconfig.json'), join(folder, project, 'tsconfig.json'));
    write(folder, `${project}/index.ts`, 'export const answer: number = 42;\n');
  }
});

afterAll(removeScratch);

function tool(name: string, ...args: string[]): Promise<Result> {
  return run(join(ROOT, 'node_modules', '.bin', name), args, { cwd: folder });
}

/** Puts the text into every project named, and compiles each; a project's complaints name its planted file. */
async function compilePlanted(places: readonly string[], text: string): Promise<Result> {
  for (const place of places) write(folder, `${place}/${PLANTED}`, text);
  try {
    return await tool('tsc', '-b', '--pretty', 'false', ...places);
  } finally {
    for (const place of places) rmSync(join(folder, place, PLANTED));
  }
}

describe('the compiler', () => {
  test('accepts all rooms as they are', async () => {
    expect(await tool('tsc', '-b', ...projects)).toEqual({ code: 0, output: '' });
  });

  test.each([
    ['an import of Node', "import { readFileSync } from 'node:fs';\nreadFileSync('a');\n"],
    ['a timer', 'setTimeout(() => {}, 1);\n'],
    ['a log line', "console.log('a');\n"],
    ['the process', 'process.exit();\n'],
    ['a request', "void fetch('http://localhost');\n"],
  ])('refuses %s in every core', async (_, text) => {
    const { code, output } = await compilePlanted(cores, `${text}export {};\n`);
    expect(code).not.toBe(0);
    for (const core of cores) expect(output).toContain(`${core}/${PLANTED}`);
  });

  test.each(rooms.slice(1))('refuses an import from %s into the room above it', async (room) => {
    const above = rooms[rooms.indexOf(room) - 1]!;
    const { code, output } = await compilePlanted(
      [`src/${room}`],
      `export { answer } from '../${above}/index.ts';\n`,
    );
    expect(code).not.toBe(0);
    expect(output).toContain('TS6307');
  });
});

describe('the linter', () => {
  test.each([
    ['the clock', 'export const now = (): number => Date.now();\n'],
    ['the other clock', 'export const now = (): number => performance.now();\n'],
    ['chance', 'export const chance = (): number => Math.random();\n'],
    ['a promise', 'export const later = (): unknown => Promise.resolve();\n'],
  ])('refuses %s in every core', async (_, text) => {
    const files = lintedAsCores.map((place) => `${place}/${PLANTED}`);
    for (const file of files) write(folder, file, text);
    const { code, output } = await tool('oxlint', '--format=unix', ...files);
    for (const file of files) rmSync(join(folder, file));
    expect(code).not.toBe(0);
    for (const file of files) expect(output).toContain(file);
  });

  test('accepts a core without them', async () => {
    const files = lintedAsCores.map((place) => `${place}/index.ts`);
    expect(await tool('oxlint', ...files)).toMatchObject({ code: 0 });
  });
});
