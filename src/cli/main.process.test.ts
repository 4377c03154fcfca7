/** The command line as a whole: each command is loaded when it is asked for, and the help still has them all. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operatorCommands } from './operate/index.ts';

const BATON = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const OTHERS = ['up', 'chaos', 'node', 'acceptor', 'acceptors', 'gateway', 'dns', 'certs', 'demo', 'sim'];

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function baton(...args: string[]): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(process.execPath, [BATON, ...args], (error, out, err) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, out, err }),
    );
  });
}

describe('the help', () => {
  test('has every command, and the help of each is its own', async () => {
    const { code, out } = await baton('--help');
    const listed = [...out.matchAll(/^ {2}([a-z][a-z-]*)(?= )/gm)].map(([, name]) => name);
    expect([code, listed]).toEqual([
      0,
      [...OTHERS, ...operatorCommands().map((command) => command.name()), 'help'],
    ]);
    expect((await baton('gateway', '--help')).out).toMatch(/^Usage: baton gateway \[options\]/);
    expect((await baton('help', 'list')).out).toMatch(/^Usage: baton list \[options\]/);
    expect((await baton('sim', '--help')).out).toContain('registers');
  });

  test('is at hand for who mistypes', async () => {
    const { code, err } = await baton('gatewy');
    expect([code, err]).toEqual([2, expect.stringContaining('(Did you mean gateway?)')]);
    expect((await baton('constructor')).err).toContain("unknown command 'constructor'");
  });
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
