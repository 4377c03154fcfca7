/**
 * The real programs that tests and benchmarks run against. Each is looked for on the PATH, then in our own cache, and
 * on Debian and its kin fetched into that cache: `apt-get download` and `dpkg -x` need no root, start no service and
 * change nothing outside this folder. What cannot be had is a record that says why and how to get it; whoever needed it
 * reports itself as not run (`test/support/not-run.ts`).
 *
 *     node scripts/programs.mjs [NAME ...]    look, fetch, and list; all of them unless some are named
 *     node scripts/programs.mjs --json        the same, for other programs
 */
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { withLock } from './lock.mjs';
import { cleanEnvironment, isProgram, ROOT, runQuietly, runScript, ScriptError } from './run.mjs';

/**
 * One row for each program. `packages` are the Debian packages that hold it (what those need and this machine lacks is
 * added by itself), `file` is where they put it, `probe` are arguments with which it proves that it starts, and exits.
 */
const PROGRAMS = [
  {
    name: 'redis-server',
    packages: ['redis-server', 'redis-tools'],
    file: 'usr/bin/redis-server',
    probe: ['--version'],
    how: 'Debian and Ubuntu: apt-get install redis-server; macOS: brew install redis',
  },
  {
    // What is used is the library beside it, which moves a process's wall clock.
    name: 'faketime',
    packages: ['faketime', 'libfaketime'],
    file: 'usr/bin/faketime',
    probe: ['--version'],
    how: 'Debian and Ubuntu: apt-get install faketime',
  },
  {
    name: 'chromium',
    packages: ['chromium', 'fonts-dejavu-core'],
    file: 'usr/lib/chromium/chromium',
    probe: ['--version'],
    how: 'Debian: apt-get install chromium; macOS: brew install chromium',
  },
  {
    name: 'dig',
    packages: ['bind9-dnsutils'],
    file: 'usr/bin/dig',
    probe: ['-v'],
    how: 'Debian and Ubuntu: apt-get install bind9-dnsutils; macOS has it',
  },
];

const CACHE = join(ROOT, '.cache', 'programs');

/** The package lists of our own, for a machine without any or with lists too old to download by. */
const LISTS = join(ROOT, '.cache', 'apt');

/**
 * Looks for programs, all known ones unless named.
 * @returns {Promise<Array<{name: string, path: string, env: Record<string, string>}
 *   | {name: string, why: string, how: string}>>} `env` is what must be added to the environment to run it.
 */
export async function findPrograms(names = PROGRAMS.map(({ name }) => name)) {
  const records = [];
  for (const name of names) {
    const program = PROGRAMS.find((row) => row.name === name);
    if (program === undefined) throw new Error(`scripts/programs.mjs has no row for ${name}`);
    records.push((await onPath(program)) ?? (await inCache(program)) ?? (await fetch(program)));
  }
  return records;
}

async function onPath(program) {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(folder, program.name);
    if (folder !== '' && isExecutable(path) && (await starts(program, path, {}))) {
      return { name: program.name, path, env: {} };
    }
  }
  return undefined;
}

async function inCache(program, root = join(CACHE, program.name)) {
  const path = join(root, program.file);
  if (!isExecutable(path)) return undefined;
  const libraries = libraryFolders(root);
  if (process.env.LD_LIBRARY_PATH) libraries.push(process.env.LD_LIBRARY_PATH);
  const env = libraries.length === 0 ? {} : { LD_LIBRARY_PATH: libraries.join(delimiter) };
  return (await starts(program, path, env)) ? { name: program.name, path, env } : undefined;
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function libraryFolders(root) {
  const holdsLibraries = (folder) => readdirSync(folder).some((name) => /\.so(?:\.|$)/.test(name));
  return ['usr/lib', 'lib'].flatMap((name) => {
    const folder = join(root, name);
    if (!existsSync(folder)) return [];
    const inside = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return [folder].concat(inside.map((entry) => join(folder, entry.name))).filter(holdsLibraries);
  });
}

async function starts(program, path, env) {
  const { code } = await runQuietly(path, program.probe, { seconds: 20, env: cleanEnvironment(env) });
  return code === 0;
}

/** Downloads at most twice: by the machine's own package lists, then by fresh ones of ours. */
async function fetch(program) {
  const lacks = (why) => ({ name: program.name, why, how: program.how });
  if (!(await has('apt-get')) || !(await has('dpkg'))) {
    return lacks('it is not on the PATH, and there is no apt-get here to fetch it with');
  }
  return withLock('programs', async () => {
    const byNow = await inCache(program);
    if (byNow !== undefined) return byNow;
    process.stderr.write(`Fetching ${program.name} ...\n`);
    try {
      await unpack(program, []).catch(async () => unpack(program, await refreshLists()));
    } catch (error) {
      if (error instanceof ScriptError) return lacks(`it is not on the PATH, and ${error.message}`);
      throw error;
    }
    return (await inCache(program)) ?? lacks('the one that was fetched does not start');
  });
}

async function has(command) {
  return (await runQuietly(command, ['--version'], { seconds: 20 })).code === 0;
}

/** Fills the cache's folder in one step at the end, so that a folder that is there is whole. */
async function unpack(program, options) {
  const draft = join(CACHE, `${program.name}.draft`);
  rmSync(draft, { recursive: true, force: true });
  try {
    await unpackInto(draft, program, options);
    rmSync(join(CACHE, program.name), { recursive: true, force: true });
    renameSync(join(draft, 'root'), join(CACHE, program.name));
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

async function unpackInto(draft, program, options) {
  mkdirSync(join(draft, 'packages'), { recursive: true });
  const packages = [...new Set([...program.packages, ...(await lackingPackages(program, options))])];
  await apt(options, ['download', ...packages], { seconds: 120, cwd: join(draft, 'packages') });
  for (const file of readdirSync(join(draft, 'packages'))) {
    const { code, output } = await runQuietly('dpkg', [
      '-x',
      join(draft, 'packages', file),
      join(draft, 'root'),
    ]);
    if (code !== 0) throw new ScriptError(`dpkg could not unpack it: ${complaint(output)}`);
  }
  if ((await inCache(program, join(draft, 'root'))) === undefined) {
    throw new ScriptError(`what ${packages.join(', ')} hold does not start`);
  }
}

/**
 * What an installation would add to this machine. Upgrades are left out: the installed ones do, and a C library from
 * here with the loader from there would not.
 */
async function lackingPackages(program, options) {
  const simulate = ['install', '--simulate', '--no-install-recommends', ...program.packages];
  const { stdout } = await apt(options, simulate, { seconds: 60 });
  return [...stdout.matchAll(/^Inst (\S+) \(/gm)].map(([, name]) => name).filter((name) => name !== 'libc6');
}

let freshLists;

/** The options that make apt-get use lists fetched now, into a folder of ours; fetched once for all programs. */
function refreshLists() {
  freshLists ??= fetchLists();
  return freshLists;
}

async function fetchLists() {
  mkdirSync(join(LISTS, 'lists', 'partial'), { recursive: true });
  mkdirSync(join(LISTS, 'cache', 'archives', 'partial'), { recursive: true });
  const options = [
    '-o',
    `Dir::State::lists=${join(LISTS, 'lists')}`,
    '-o',
    `Dir::Cache=${join(LISTS, 'cache')}`,
  ];
  await apt([...options, '-o', 'APT::Update::Error-Mode=any'], ['update'], { seconds: 180 });
  return options;
}

async function apt(options, args, { seconds, cwd = ROOT }) {
  const patience = [
    '-o',
    'Acquire::Retries=1',
    '-o',
    'Acquire::http::Timeout=15',
    '-o',
    'APT::Sandbox::User=root',
  ];
  const env = cleanEnvironment({ LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' });
  const result = await runQuietly('apt-get', ['-q', ...patience, ...options, ...args], { seconds, cwd, env });
  if (result.code === 0) return result;
  throw new ScriptError(`"apt-get ${args.join(' ')}" failed: ${complaint(result.output)}`);
}

/** The first line that names an error, for a sentence. */
function complaint(output) {
  const lines = output.trim().split('\n');
  const line = lines.find((text) => /^[EW]: /.test(text)) ?? lines.at(-1);
  return line
    .replace(/^[EW]: /, '')
    .replace(/\.$/, '')
    .trim();
}

if (isProgram(import.meta.url)) {
  await runScript(async () => {
    const names = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));
    const records = await findPrograms(names.length === 0 ? undefined : names);
    const line = ({ name, path, why, how }) => (path ? `${name}: ${path}` : `${name}: ${why}.\n  ${how}`);
    const text = process.argv.includes('--json') ? JSON.stringify(records) : records.map(line).join('\n');
    process.stdout.write(`${text}\n`);
    return records.every(({ path }) => path !== undefined) ? 0 : 1;
  });
}
