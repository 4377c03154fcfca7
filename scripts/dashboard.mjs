/**
 * Builds the web page of `src/dashboard` into `dist/dashboard`, when what it is made of has changed. The note of what it was made of
 * is a hash, not a time: a checkout gives every file a new time. Vite is loaded only when there is something to build.
 *
 *     node scripts/dashboard.mjs    the page alone; the set-up does it too
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isProgram, ROOT, runScript, ScriptError } from './run.mjs';

const SOURCES = join(ROOT, 'src', 'dashboard');
/** What `index.html` begins with. */
const ENTRY = 'src/dashboard/main.tsx';
const MADE = join(ROOT, 'dist', 'dashboard');
const NOTE = join(ROOT, 'build', 'dashboard.hash');
/** Of what is not among the sources, and decides what comes out. */
const SETTINGS = ['package-lock.json', 'scripts/dashboard.mjs'];

/** Never where there is no page: the set-up is tested without one. */
export function dashboardIsStale() {
  if (!existsSync(join(ROOT, ENTRY))) return false;
  const isMade = existsSync(join(MADE, 'index.html'));
  return !isMade || !existsSync(NOTE) || readFileSync(NOTE, 'utf8') !== sourceHash();
}

export async function buildDashboard() {
  rmSync(NOTE, { force: true });
  const wanted = sourceHash();
  await make();
  mkdirSync(dirname(NOTE), { recursive: true });
  writeFileSync(NOTE, wanted);
}

function sourceHash() {
  const hash = createHash('sha256');
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:tsx?|css|html|svg)$/.test(name) && !/\.test\.ts$|^testing\b/.test(name))
    .sort((a, b) => (a < b ? -1 : 1));
  for (const name of files) hash.update(`${name}\n`).update(readFileSync(join(SOURCES, name)));
  for (const name of SETTINGS) hash.update(readFileSync(join(ROOT, name)));
  return hash.digest('hex');
}

async function make() {
  const { build } = await import('vite');
  const { NODE_ENV } = process.env;
  // A test that calls for the page has its own, and with that it would be larger and slower.
  process.env.NODE_ENV = 'production';
  try {
    await build({
      configFile: false,
      root: SOURCES,
      // Wherever a node serves it from.
      base: './',
      logLevel: 'silent',
      publicDir: false,
      build: {
        outDir: MADE,
        emptyOutDir: true,
        target: 'es2022',
        // The page may load nothing but files: no data in its addresses, no script in its text.
        assetsInlineLimit: 0,
        modulePreload: { polyfill: false },
      },
      oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    });
  } catch (error) {
    throw new ScriptError(
      `${error.message}\n\nBuilding the web page failed; vite's output is above. [BUILD_FAILED]`,
    );
  } finally {
    if (NODE_ENV === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = NODE_ENV;
  }
}

if (isProgram(import.meta.url)) {
  await runScript(async () => {
    if (dashboardIsStale()) await buildDashboard();
  });
}
