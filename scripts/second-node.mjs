/**
 * Another Node for the second run of the tests, from the npm packages that carry the plain binary. It lives in the
 * cache and never in package.json.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanEnvironment, ROOT, runQuietly, ScriptError } from './run.mjs';

/** The path of a Node of this major version, fetched when it is not in the cache. */
export async function secondNode(major) {
  const folder = join(ROOT, '.cache', `node${major}`);
  const name = `node-${process.platform}-${process.arch}`;
  const path = join(folder, 'node_modules', name, 'bin', 'node');
  if (!(await isNode(path, major))) await install(folder, `${name}@${major}`);
  if (!(await isNode(path, major)))
    throw new ScriptError(`The npm package ${name}@${major} contains no Node that runs.`);
  return path;
}

async function isNode(path, major) {
  if (!existsSync(path)) return false;
  const { code, stdout } = await runQuietly(path, ['--version'], { seconds: 20 });
  return code === 0 && stdout.startsWith(`v${major}.`);
}

async function install(folder, specification) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const quiet = ['--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error'];
  const args = ['install', '--prefix', folder, ...quiet, specification];
  const { code, output } = await runQuietly('npm', args, {
    seconds: 300,
    cwd: folder,
    env: cleanEnvironment(),
  });
  if (code !== 0) throw new ScriptError(`${output}\nnpm could not install ${specification}.`);
}
