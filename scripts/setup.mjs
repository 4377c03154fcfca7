/**
 * Makes a clone ready to run: installs the dependencies, compiles the sources, builds the web page. Every command that needs these calls
 * the set-up first, so nobody has to know the order. It redoes only what is stale, and prints nothing when nothing is.
 *
 * It runs before anything is installed: plain JavaScript, nothing but Node.
 *
 *     node scripts/setup.mjs             dependencies and build
 *     node scripts/setup.mjs --install   dependencies only
 */
import './demand-node.cjs';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildDashboard, dashboardIsStale } from './dashboard.mjs';
import { withLock } from './lock.mjs';
import { isProgram, ROOT, runQuietly, runScript, ScriptError } from './run.mjs';
import { showStep } from './steps.mjs';

/** Lives inside what it vouches for: `npm ci` removes it with the folder, so an interrupted one is seen as stale. */
const INSTALLED = join(ROOT, 'node_modules', '.baton-installed');

/** The compiler's notes on what it built. It trusts them and does not see that a file went away since. */
const NOTES = join(ROOT, 'build', 'info');

/** Our own note: the files of the last build. */
const OUTPUTS = join(NOTES, 'outputs.json');

/** The dependencies are there but the sources do not compile: what is left of the old build may still run. */
export class BuildError extends ScriptError {}

/** `projects` are the TypeScript projects to build, with everything they refer to; by default, all of them. */
export async function setUp({ build = true, projects = [] } = {}) {
  const wait = (pid) => say(`Waiting for another set-up in this folder (process ${pid}) ...`);
  await withLock('setup', () => takeSteps(stepsOfSetUp(build, projects)), wait);
}

/** What has to be done. The compiler itself finds out what is stale: only when it is everything, that is known before. */
function stepsOfSetUp(build, projects) {
  const steps = [];
  if (readIfThere(INSTALLED) !== dependencyHash())
    steps.push({ name: 'Installing dependencies (npm ci)', isLong: true, take: installDependencies });
  if (!build) return steps;
  steps.push({ name: 'Compiling (tsc -b)', isLong: !isBuilt(), take: (show) => compile(projects, show) });
  if (dashboardIsStale())
    steps.push({ name: 'Building the web page (vite)', isLong: true, take: (show) => show(buildDashboard) });
  return steps;
}

async function takeSteps(steps) {
  const long = steps.filter(({ isLong }) => isLong);
  for (const step of steps) {
    const { name, isLong, take } = step;
    const place = isLong && long.length > 1 ? `Step ${long.indexOf(step) + 1} of ${long.length}: ` : '';
    await take((action) => showStep(`${place}${name}`, action, { isLong }));
  }
}

async function installDependencies(show) {
  const quiet = ['--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
  const { code, output } = await show(() => runQuietly('npm', ['ci', ...quiet], { seconds: 600 }));
  if (code !== 0)
    throw new ScriptError(
      `${output}\n\nInstalling the dependencies failed; npm's output is above. [INSTALL_FAILED]`,
    );
  writeFileSync(INSTALLED, dependencyHash());
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

/** All that the last build made is still there. */
function isBuilt() {
  const files = JSON.parse(readIfThere(OUTPUTS) ?? '[]');
  return files.length > 0 && files.every((file) => existsSync(join(ROOT, file)));
}

async function compile(projects, show) {
  if (!isBuilt()) rmSync(NOTES, { recursive: true, force: true });
  const args = [join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc'), '-b', ...projects];
  const { code, output } = await show(() => runQuietly(process.execPath, args, { seconds: 600 }));
  mkdirSync(NOTES, { recursive: true });
  writeFileSync(OUTPUTS, JSON.stringify(outputs()));
  if (code !== 0)
    throw new BuildError(`${output}\n\nCompiling failed; the compiler's output is above. [BUILD_FAILED]`);
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
