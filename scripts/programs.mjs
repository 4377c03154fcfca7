/**
 * The real programs that tests and benchmarks run against. Each is looked for on the PATH and where its package puts it,
 * then in our own cache, and on Debian and its kin fetched into that cache: `apt-get download` and `dpkg -x` need no
 * root, start no service and change nothing outside this folder. A few are written in JavaScript and come from npm, in
 * one version, into the same cache: as dependencies they would weigh more than everything else together. What cannot be
 * had is a record that says why and how to get it; whoever needed it reports itself as not run
 * (`test/support/not-run.ts`).
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
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { withLock } from './lock.mjs';
import { cleanEnvironment, isProgram, ROOT, runQuietly, runScript, ScriptError } from './run.mjs';

/**
 * One row for each program. `packages` are the Debian packages that hold it (what those need and this machine lacks is
 * added by itself), `file` is where they put it, with `*` for a version in it, `probe` are arguments with which it proves
 * that it starts, and exits; `isOffPath` is one that an installation does not put on the PATH. One from npm has a
 * `version` instead; its `file` is the script in its package that Node runs.
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
  {
    // `initdb`, which is beside it, is needed too.
    name: 'postgres',
    packages: ['postgresql'],
    file: 'usr/lib/postgresql/*/bin/postgres',
    isOffPath: true,
    probe: ['--version'],
    how: 'Debian and Ubuntu: apt-get install postgresql; macOS: brew install postgresql@17',
  },
  {
    name: 'etcd',
    packages: ['etcd-server'],
    file: 'usr/bin/etcd',
    probe: ['--version'],
    how: 'Debian and Ubuntu: apt-get install etcd-server; macOS: brew install etcd',
  },
  {
    name: 'patroni',
    packages: ['patroni', 'python3-etcd', 'python3-psycopg2'],
    file: 'usr/bin/patroni',
    probe: ['--version'],
    how: 'Debian and Ubuntu: apt-get install patroni python3-etcd',
    onlyWhenNamed: true,
  },
  npmProgram({ name: 'azurite', version: '3.35.0', file: 'dist/src/blob/main.js', probe: ['--help'] }),
  npmProgram({ name: 'dynalite', version: '4.0.0', file: 'cli.js', probe: ['--help'] }),
];

function npmProgram(row) {
  return { ...row, how: `where npm can install packages: node scripts/programs.mjs ${row.name}` };
}

/** What tests use; a benchmark may name others. */
const USUAL = PROGRAMS.filter(({ onlyWhenNamed }) => !onlyWhenNamed).map(({ name }) => name);

const CACHE = join(ROOT, '.cache', 'programs');

/** The package lists of our own, for a machine without any or with lists too old to download by. */
const LISTS = join(ROOT, '.cache', 'apt');

/**
 * Looks for programs, the usual ones unless named.
 * @returns {Promise<Array<{name: string, path: string, env: Record<string, string>}
 *   | {name: string, why: string, how: string}>>} `env` is what must be added to the environment to run it.
 */
export async function findPrograms(names = USUAL) {
  const programs = names.map((name) => {
    const program = PROGRAMS.find((row) => row.name === name);
    if (program === undefined) throw new Error(`scripts/programs.mjs has no row for ${name}`);
    return program;
  });
  return Promise.all(programs.map(findProgram));
}

async function findProgram(program) {
  return (await installed(program)) ?? (await inCache(program)) ?? (await fetch(program));
}

/** One from npm is not looked for: another version may behave differently. */
async function installed(program) {
  if (program.version !== undefined) return undefined;
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const paths = folders.map((folder) => join(folder, program.name));
  if (program.isOffPath) paths.push(...filesOf(program, '/'));
  for (const path of paths) {
    if (isExecutable(path) && (await starts(program, path))) return { name: program.name, path, env: {} };
  }
  return undefined;
}

async function inCache(program, root = join(CACHE, program.name)) {
  if (program.version !== undefined) return moduleIn(root, program);
  const path = filesOf(program, root).find(isExecutable);
  if (path === undefined) return undefined;
  const libraries = libraryFolders(root);
  if (process.env.LD_LIBRARY_PATH) libraries.push(process.env.LD_LIBRARY_PATH);
  const modules = join(root, 'usr/lib/python3/dist-packages');
  const env = {
    ...(libraries.length > 0 && { LD_LIBRARY_PATH: libraries.join(delimiter) }),
    ...(existsSync(modules) && { PYTHONPATH: modules }),
  };
  return (await starts(program, path, env)) ? { name: program.name, path, env } : undefined;
}

/** It proved that it starts when it was fetched: loading it once more would take longer than all the other proofs. */
function moduleIn(root, { name, version, file }) {
  const folder = join(root, 'node_modules', name);
  const path = join(folder, file);
  if (!existsSync(path)) return undefined;
  const found = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return found.version === version ? { name, path, env: {} } : undefined;
}

/** Where its packages put it below a folder, the newest version first. */
function filesOf({ file }, root) {
  const [before, after] = file.split('*');
  if (after === undefined) return [join(root, file)];
  const folder = join(root, before);
  const versions = existsSync(folder) ? readdirSync(folder) : [];
  return versions
    .toSorted((a, b) => b.localeCompare(a, 'en', { numeric: true }))
    .map((version) => join(folder, version, after));
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** A library may name a folder below the usual one, by its full path, as its own: that path is another one here. */
const LIBRARY_DEPTH = 2;

function libraryFolders(root) {
  const below = (folder, depth) => {
    if (!existsSync(folder)) return [];
    const entries = readdirSync(folder, { withFileTypes: true });
    const inside = depth === 0 ? [] : entries.filter((entry) => entry.isDirectory());
    const holdsLibraries = entries.some(({ name }) => /\.so(?:\.|$)/.test(name));
    return [
      ...(holdsLibraries ? [folder] : []),
      ...inside.flatMap(({ name }) => below(join(folder, name), depth - 1)),
    ];
  };
  return ['usr/lib', 'lib'].flatMap((name) => below(join(root, name), LIBRARY_DEPTH));
}

async function starts({ probe, version }, path, env = {}) {
  const [command, ...args] = version === undefined ? [path, ...probe] : [process.execPath, path, ...probe];
  const { code } = await runQuietly(command, args, { seconds: 20, env: cleanEnvironment(env) });
  return code === 0;
}

async function fetch(program) {
  const lacks = (why) => ({ name: program.name, why, how: program.how });
  const tools = program.version === undefined ? ['apt-get', 'dpkg'] : ['npm'];
  for (const tool of tools) {
    if (!(await has(tool))) return lacks(`it is not here, and there is no ${tool} to fetch it with`);
  }
  return withLock(`program-${program.name}`, async () => {
    const byNow = await inCache(program);
    if (byNow !== undefined) return byNow;
    process.stderr.write(`Fetching ${program.name} ...\n`);
    try {
      await fetchNow(program);
    } catch (error) {
      if (error instanceof ScriptError) return lacks(`it is not here, and ${error.message}`);
      throw error;
    }
    return (await inCache(program)) ?? lacks('the one that was fetched does not start');
  });
}

async function has(command) {
  return (await runQuietly(command, ['--version'], { seconds: 20 })).code === 0;
}

/** Downloads at most twice from Debian: by the machine's own package lists, then by fresh ones of ours. */
async function fetchNow(program) {
  if (program.version !== undefined) {
    await fillCache(program, (draft) => installInto(draft, program));
    return;
  }
  const unpack = (options) => fillCache(program, (draft) => unpackInto(draft, program, options));
  await unpack([]).catch(async () => unpack(await refreshLists()));
}

/** Fills the cache's folder in one step at the end, so that a folder that is there is whole. */
async function fillCache(program, fill) {
  const draft = join(CACHE, `${program.name}.draft`);
  rmSync(draft, { recursive: true, force: true });
  try {
    await fill(draft);
    rmSync(join(CACHE, program.name), { recursive: true, force: true });
    renameSync(join(draft, 'root'), join(CACHE, program.name));
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

async function installInto(draft, program) {
  const [root, specification] = [join(draft, 'root'), `${program.name}@${program.version}`];
  mkdirSync(root, { recursive: true });
  writeFileSync(join(root, 'package.json'), '{ "private": true }\n');
  const quiet = ['--no-save', '--no-package-lock', '--ignore-scripts', '--no-audit', '--no-fund'];
  const args = ['install', '--prefix', root, ...quiet, '--loglevel=error', specification];
  const { code, output } = await runQuietly('npm', args, { seconds: 300, cwd: root });
  if (code !== 0) throw new ScriptError(`npm could not install ${specification}: ${complaint(output)}`);
  const found = moduleIn(root, program);
  if (found === undefined || !(await starts(program, found.path)))
    throw new ScriptError(`what npm installed for ${specification} does not start`);
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
  freshLists ??= withLock('package-lists', fetchLists);
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
  const isNamed = (text) => /^(?:[EW]:|npm (?:error|ERR!)(?! code| errno| syscall)) /.test(text);
  const line = lines.find(isNamed) ?? lines.at(-1);
  return line
    .replace(/^(?:[EW]:|npm (?:error|ERR!)) /, '')
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
