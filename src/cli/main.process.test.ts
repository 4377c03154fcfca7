/** The command line as a whole: each command is loaded when it is asked for, and the help still has them all. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { thisProcess } from '../caspaxos/index.ts';
import { operatorCommands } from './operate/index.ts';

const BATON = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const LOCAL = ['up', 'chaos'];
const DEPLOYMENT = ['node', 'acceptor', 'gateway', 'dns', 'certs', 'acceptors'];
const EXPERIMENTS = ['demo', 'sim'];

/** As a global installation leaves it: a link on the PATH. */
const bin = mkdtempSync(join(tmpdir(), 'baton-bin-'));
const env = { ...process.env, PATH: `${bin}${delimiter}${process.env['PATH']}` };

beforeAll(() => symlinkSync(BATON, join(bin, 'baton')));
afterAll(() => rmSync(bin, { recursive: true }));

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function baton(...args: string[]): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(process.execPath, [join(bin, 'baton'), ...args], { env }, (error, out, err) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, err }),
    );
  });
}

describe('the help', () => {
  test('has every command, and the help of each is its own', async () => {
    const { code, out } = await baton('--help');
    expect(out).toContain('\nExamples:\n  baton up ');
    const commands = out.slice(0, out.indexOf('Examples:'));
    const listed = [...commands.matchAll(/^ {2}([a-z][a-z-]*)(?= )/gm)].map(([, name]) => name);
    expect([code, listed]).toEqual([
      0,
      [
        ...LOCAL,
        ...operatorCommands().map((command) => command.name()),
        ...DEPLOYMENT,
        ...EXPERIMENTS,
        'help',
      ],
    ]);
    expect((await baton('gateway', '--help')).out).toMatch(/^Usage: baton gateway \[options\]/);
    expect((await baton('help', 'list')).out).toMatch(/^Usage: baton list \[options\]/);
    expect((await baton('sim', '--help')).out).toContain('registers');
  });

  test('is named when a command is mistyped', async () => {
    const { code, err } = await baton('gatewy');
    const sentence = "baton: unknown command 'gatewy' (Did you mean gateway?). See `baton --help`. [USAGE]\n";
    expect([code, err]).toEqual([2, sentence]);
    expect((await baton('sim', 'fuzz', '--sed', '1')).err).toBe(
      "baton: unknown option '--sed' (Did you mean --seed?). See `baton sim fuzz --help`. [USAGE]\n",
    );
    expect((await baton('constructor')).err).toContain("unknown command 'constructor'");
  });
});

test('a second cluster in the same directory is refused with both ways out, and changes nothing', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'baton-second-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  mkdirSync(join(directory, 'lock'));
  writeFileSync(join(directory, 'lock', '1'), JSON.stringify(thisProcess()));
  const { code, err } = await baton('up', '--data', directory);
  expect(code).toBe(1);
  expect(err).toMatch(/^baton: A cluster is already running in .*\[CLUSTER_RUNNING\]\n$/);
  expect(err).toContain(
    `in ${directory} (process ${process.pid}); stop it, or start another one with its own --data and --port-base.`,
  );
  expect(readdirSync(directory)).toEqual(['lock']);
});

describe('a gateway that cannot start', () => {
  let directory: string;
  let path: string;

  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'baton-main-'));
    path = join(directory, 'baton.yaml');
    writeFileSync(
      path,
      `cluster: demo
regions: [{ name: west, nodes: [{ name: w, listen: 127.0.0.1:1 }] }]
acceptors: [{ name: a1, url: "http://127.0.0.1:2" }]
gateways: [{ name: door, listen: 127.0.0.1:3 }]
log: { level: error }
`,
    );
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  test('says why in one line', async () => {
    const nobody = await baton('gateway', '--config', path, '--name', 'west-9');
    expect(nobody.err).toBe(`baton: The file ${path} has no gateway west-9. [GATEWAY_UNKNOWN]\n`);
    const keyless = await baton('gateway', '--config', path, '--name', 'door');
    expect([keyless.code, keyless.err]).toEqual([1, expect.stringMatching(/^.*\[GATEWAY_KEYS_MISSING\]\n$/)]);
  });
});
