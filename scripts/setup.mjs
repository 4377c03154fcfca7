/**
 * Makes a clone ready to run: the dependencies, then the build, then the web page. Every command that needs them calls this first, so no
 * reader has to know an order of commands; it redoes only what is stale and says nothing when nothing is.
 *
 * It runs before anything is installed: plain JavaScript, nothing but Node.
 *
 *     node scripts/setup.mjs             dependencies and build
 *     node scripts/setup.mjs --install   dependencies only
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildDashboard } from './dashboard.mjs';
import { withLock } from './lock.mjs';
import { isProgram, ROOT, runQuietly, runScript, ScriptError } from './run.mjs';

/** Lives inside what it vouches for: `npm ci` removes it with the folder, so an interrupted one is seen as stale. */
const INSTALLED = join(ROOT, 'node_modules', '.baton-installed');

/** The compiler's notes on what it built. It trusts them and does not see that a file went away since. */
const NOTES = join(ROOT, 'build', 'info');

/** Our own note: the files of the last build. */
const OUTPUTS = join(NOTES, 'outputs.json');

const OLDEST_NODE = [20, 19];

/** The dependencies are there but the sources do not compile: what is left of the old build may still run. */
export class BuildError extends ScriptError {}

/** `projects` are the TypeScript projects to build, with all that they refer to; unless named, everything. */
export async function setUp({ build = true, projects = [] } = {}) {
  demandNode();
  const wait = (pid) => say(`Waiting for another set-up (process ${pid}) ...`);
  await withLock(
    'setup',
    async () => {
      await installDependencies();
      if (!build) return;
      await compile(projects);
      await buildDashboard();
    },
    wait,
  );
}

function demandNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_NODE;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return;
  throw new ScriptError(
    `This needs Node ${OLDEST_NODE.join('.')} or newer; you run ${process.versions.node}.`,
  );
}

async function installDependencies() {
  const wanted = dependencyHash();
  if (readIfThere(INSTALLED) === wanted) return;
  say('Installing dependencies ...');
  const quiet = ['--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
  const { code, output } = await runQuietly('npm', ['ci', ...quiet], { seconds: 600 });
  if (code !== 0) throw new ScriptError(`${output}\n\nThe dependencies were not installed (npm ci, above).`);
  writeFileSync(INSTALLED, wanted);
}

/** What decides the content of node_modules. A changed script or version number in package.json does not. */
function dependencyHash() {
  const { dependencies, devDependencies, optionalDependencies, peerDependencies, overrides } = JSON.parse(
    readFileSync(join(ROOT, 'package.json'), 'utf8'),
  );
  const wishes = [dependencies, devDependencies, optionalDependencies, peerDependencies, overrides];
  const machine = [process.versions.node.split('.')[0], process.platform, process.arch];
  return createHash('sha256')
    .update(readFileSync(join(ROOT, 'package-lock.json')))
    .update(JSON.stringify([wishes, machine]))
    .digest('hex');
}

async function compile(projects) {
  const before = JSON.parse(readIfThere(OUTPUTS) ?? '[]');
  if (before.length === 0) say('Building ...');
  const complete = before.length > 0 && before.every((file) => existsSync(join(ROOT, file)));
  if (!complete) rmSync(NOTES, { recursive: true, force: true });
  const args = [join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'), '-b', ...projects];
  const { code, output } = await runQuietly(process.execPath, args, { seconds: 600 });
  mkdirSync(NOTES, { recursive: true });
  writeFileSync(OUTPUTS, JSON.stringify(outputs()));
  if (code !== 0) throw new BuildError(`${output}\n\nThe build failed (tsc -b, above).`);
}

/** What the compiler made of the sources; other files may come and go beside them. */
function outputs() {
  const made = (sources, folder) =>
    readdirSync(join(ROOT, sources), { recursive: true })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => join(folder, name.replace(/\.tsx?$/, '.js')));
  return [
    ['src', 'dist'],
    ['bench', 'build/bench'],
    ['test', 'build/test'],
  ]
    .filter(([sources]) => existsSync(join(ROOT, sources)))
    .flatMap(([sources, folder]) => made(sources, folder))
    .filter((file) => existsSync(join(ROOT, file)));
}

function readIfThere(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

function say(line) {
  process.stderr.write(`${line}\n`);
}

if (isProgram(import.meta.url)) {
  await runScript(() => setUp({ build: !process.argv.includes('--install') }));
}
