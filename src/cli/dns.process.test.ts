import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Child, Nursery, ROOT } from '../../test/process/support/nursery.ts';

const RECORD = 'v=baton1; account=demo; serial=7; region=west 127.0.0.1:4101';
/** The command alone, whatever else `baton` can do. */
const PROGRAM = `
const { dnsCommand } = await import(${JSON.stringify(join(ROOT, 'dist/cli/dns.js'))});
try { await dnsCommand().parseAsync(process.argv.slice(2), { from: 'user' }); }
catch (error) { console.error(error.message, "[" + error.code + "]"); process.exitCode = 1; }
`;

let nursery: Nursery;
let script: string;

beforeAll(() => {
  nursery = new Nursery();
  script = join(nursery.directory, 'dns.mjs');
  writeFileSync(script, PROGRAM);
});

afterAll(() => nursery.close());

interface Line {
  readonly msg: string;
  readonly host: string;
  readonly port: number;
  readonly serials?: Record<string, number>;
  readonly reason?: string;
}

class Dns {
  readonly child: Child;
  readonly #lines: AsyncIterator<string>;
  port = 0;

  constructor(child: Child) {
    this.child = child;
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  static async start(...args: string[]): Promise<Dns> {
    const dns = new Dns(nursery.spawn(script, args));
    dns.port = (await dns.line('dns is ready')).port;
    return dns;
  }

  /** The next line of its log that says so. */
  async line(msg: string): Promise<Line> {
    for (;;) {
      const { value, done } = await this.#lines.next();
      if (done === true) throw new Error(`it ended without saying "${msg}"`);
      const line = JSON.parse(value) as Line;
      if (line.msg === msg) return line;
    }
  }

  async text(): Promise<string> {
    const resolver = new Resolver({ timeout: 5000, tries: 3 });
    resolver.setServers([`127.0.0.1:${this.port}`]);
    const [strings] = await resolver.resolveTxt('demo.baton.local');
    return strings!.join('');
  }

  exit(): Promise<unknown[]> {
    return once(this.child, 'exit');
  }
}

function fileOf(port: number, mtime: number): string {
  const path = join(nursery.directory, 'baton.yaml');
  writeFileSync(
    path,
    `cluster: demo
regions: [{ name: west, nodes: [{ name: west-1, listen: '127.0.0.1:${port}', data: ./west-1 }] }]
acceptors: [{ name: a1, url: 'http://127.0.0.1:4001', data: ./a1 }]
dns: { listen: '127.0.0.1:4053', zone: baton.local }
`,
  );
  utimesSync(path, mtime, mtime);
  return path;
}

async function refused(...args: string[]): Promise<string> {
  const child = nursery.spawn(script, args);
  const said: string[] = [];
  child.stderr.on('data', (bytes: Buffer) => said.push(bytes.toString()));
  const [code] = (await once(child, 'close')) as [number];
  expect(code).toBe(1);
  return said.join('');
}

const FLAGS = ['--zone', 'baton.local', '--listen', '127.0.0.1:0', '--record', RECORD];

describe('baton dns', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('serves what its flags say until %s', async (signal) => {
    const dns = await Dns.start(...FLAGS);
    expect(await dns.text()).toBe(RECORD);
    const exited = dns.exit();
    dns.child.kill(signal);
    await dns.line('stopped');
    expect(await exited).toEqual([0, null]);
  });

  it('stops with its parent', async () => {
    const dns = await Dns.start(...FLAGS, '--stop-with-parent');
    const exited = dns.exit();
    dns.child.stdin.end();
    expect(await exited).toEqual([0, null]);
  });

  it('serves the account of a cluster file, and reads it again on SIGHUP', async () => {
    const dns = await Dns.start('--config', fileOf(4101, 1000), '--listen', '127.0.0.1:0');
    expect(await dns.text()).toMatch(/serial=1000; .* 127\.0\.0\.1:4101$/);
    fileOf(4102, 900);
    dns.child.kill('SIGHUP');
    expect(await dns.line('records are read again')).toMatchObject({ serials: { demo: 1001 } });
    expect(await dns.text()).toMatch(/serial=1001; .* 127\.0\.0\.1:4102$/);
    writeFileSync(join(nursery.directory, 'baton.yaml'), 'cluster: {}');
    dns.child.kill('SIGHUP');
    const { reason } = await dns.line('serving the old records: cannot reload');
    expect(reason).toContain('baton.yaml:1:');
    expect(await dns.text()).toContain('serial=1001');
    const exited = dns.exit();
    dns.child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
  });

  it('says in a line what it cannot do', async () => {
    const dns = await Dns.start(...FLAGS);
    const taken = ['--listen', `127.0.0.1:${dns.port}`];
    expect(await refused(...FLAGS, ...taken)).toContain('the port is taken. [LISTEN_FAILED]');
    const exited = dns.exit();
    dns.child.kill('SIGTERM');
    await exited;
    expect(await refused('--zone', 'x', '--listen', '127.0.0.1:0')).toContain(
      'Give either --config or --record',
    );
    expect(await refused('--record', RECORD)).toContain('--listen and --zone are required');
    expect(await refused('--record', RECORD, '--config', 'x')).toContain('cannot be combined');
    expect(await refused('--record', 'demo')).toContain('"demo" is no record.');
    expect(await refused(...FLAGS, '--zone', 'a b')).toContain('"a b" cannot be the name of a zone');
    expect(await refused('--config', '/no/such/file')).toContain('[CONFIG_UNREADABLE]');
    expect(await refused(...FLAGS, '--listen', 'here')).toContain('--listen must have the form HOST:PORT');
  });
});
