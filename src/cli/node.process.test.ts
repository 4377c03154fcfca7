/** `baton node` and `baton acceptor` as people run them: three of each, from one file. */
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { BATON, type Child, Nursery } from '../../test/process/support/nursery.ts';
import {
  type Answer,
  ask,
  clusterFile,
  placeOf,
  type Ports,
  portsFor,
  type Region,
  REGIONS,
  RpcClient,
} from '../../test/server/daemons.ts';
import { until } from '../../test/support/until.ts';
import { type ClusterMap, METHODS } from '../client/index.ts';
import type { HistoryEntry } from '../failover/index.ts';
import { freePort, type PartitionSetView } from '../server/index.ts';

/** A region has been given the writes. */
const ENTHRONED: ReadonlySet<HistoryEntry['what']> = new Set(['switched', 'elected']);
const TOKENS = {
  node: 'node-token-0123456789',
  client: 'client-token-0123456789',
  operator: 'op-token-0123456789',
};

function tokensLine({ node, client, operator }: typeof TOKENS): string {
  return `tokens: { node: ${node}, client: ${client}, operator: ${operator} }`;
}

interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

class Running {
  readonly child: Child;
  readonly exited: Promise<Exit>;
  readonly lines: Record<string, unknown>[] = [];
  errors = '';

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  constructor(child: Child) {
    this.child = child;
    createInterface({ input: child.stdout }).on('line', (line) =>
      this.lines.push(JSON.parse(line) as Record<string, unknown>),
    );
    child.stderr.on('data', (bytes: Buffer) => (this.errors += bytes.toString()));
    this.exited = once(child, 'close').then(([code, signal]) => ({
      code: code as number | null,
      signal: signal as NodeJS.Signals | null,
    }));
  }

  says(msg: string): Promise<Record<string, unknown>> {
    return until(`it says "${msg}"`, () => this.lines.find((line) => line['msg'] === msg));
  }

  /** Told to read its files again; resolves when it has answered so. */
  async reload(answer: string): Promise<void> {
    this.lines.length = 0;
    this.child.kill('SIGHUP');
    await this.says(answer);
  }
}

class Machines {
  readonly nursery = new Nursery();
  readonly ports: Ports;
  readonly path = join(this.nursery.directory, 'baton.yaml');
  readonly nodes = new Map<Region, Running>();
  readonly #acceptors: readonly string[];
  readonly #clients = new Map<Region, RpcClient>();
  map!: ClusterMap;

  private constructor(ports: Ports, acceptorPorts: readonly number[]) {
    this.ports = ports;
    this.#acceptors = acceptorPorts.map(
      (port, at) => `{ name: a${at + 1}, url: "http://127.0.0.1:${port}", data: ./a${at + 1} }`,
    );
    this.write(tokensLine(TOKENS));
  }

  static async start(): Promise<Machines> {
    const ports = await portsFor(REGIONS);
    const machines = new Machines(ports, [await freePort(), await freePort(), await freePort()]);
    try {
      await machines.startAll();
      return machines;
    } catch (error) {
      await machines.nursery.close();
      throw error;
    }
  }

  async startAll(): Promise<void> {
    const acceptors = ['a1', 'a2', 'a3'].map((name) => this.spawn('acceptor', name));
    for (const region of REGIONS) this.startNode(region);
    await Promise.all(acceptors.map((acceptor) => acceptor.says('acceptor is ready')));
    await Promise.all([...this.nodes.values()].map((node) => node.says('node is ready')));
    await this.untilReady();
    this.map = (await this.get('west', '/v1/map')).json as ClusterMap;
  }

  write(more: string): void {
    writeFileSync(this.path, clusterFile(this.ports, { partitionSets: 4, acceptors: this.#acceptors, more }));
  }

  spawn(role: 'node' | 'acceptor', name: string, ...more: readonly string[]): Running {
    return new Running(this.nursery.spawn(BATON, [role, '--config', this.path, '--name', name, ...more]));
  }

  startNode(region: Region): Running {
    const node = this.spawn('node', `${region}-1`);
    this.nodes.set(region, node);
    return node;
  }

  async untilReady(): Promise<void> {
    for (const region of this.nodes.keys())
      await until(`${region} is ready`, async () => (await this.get(region, '/readiness')).status === 200);
  }

  async untilHome(): Promise<void> {
    await until('the west writes everything', async () =>
      (await this.writers('east')).every((writer) => writer === 'west'),
    );
  }

  /** What a test that failed may have left: nodes that are gone, other tokens, writes that were moved. */
  async putRight(): Promise<void> {
    this.write(tokensLine(TOKENS));
    for (const region of REGIONS) {
      const node = this.nodes.get(region);
      if (node?.isRunning === true) await node.reload('configuration is read again');
      else this.startNode(region);
    }
    await this.untilReady();
    for (const { name } of this.map.containers[0]!.partitionSets)
      await this.wish('east', name, { kind: 'unpin' });
    await this.untilHome();
  }

  get(region: Region, path: string, token = TOKENS.operator): Promise<Answer> {
    const headers = { authorization: `Bearer ${token}` };
    return ask(`http://127.0.0.1:${this.ports.http[region]}${path}`, { headers });
  }

  async writers(from: Region): Promise<readonly (string | null)[]> {
    const { json } = await this.get(from, '/v1/partition-sets?fresh=1');
    return (json as { partitionSets: PartitionSetView[] }).partitionSets.map(
      ({ writeRegion }) => writeRegion,
    );
  }

  wish(region: Region, partitionSet: string, intent: object): Promise<Answer> {
    return ask(`http://127.0.0.1:${this.ports.http[region]}/v1/partition-sets/${partitionSet}/intents`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${TOKENS.operator}` },
      body: JSON.stringify({ intent, id: `w-${Math.random()}`, who: 'test' }),
    });
  }

  async client(region: Region): Promise<RpcClient> {
    const known = this.#clients.get(region);
    if (known?.connection.isOpen === true) return known;
    const client = await RpcClient.to(this.ports.rpc[region]!, { token: TOKENS.client });
    this.#clients.set(region, client);
    return client;
  }

  /** Tries the regions in turn until one takes it. */
  async put(id: string, value: unknown): Promise<Region> {
    return until(`somebody takes ${id}`, async () => {
      for (const region of this.nodes.keys()) {
        const answer = await (await this.client(region)).put(placeOf(this.map, id), id, value);
        if (answer.outcome === 'done') return region;
      }
      return undefined;
    });
  }

  async untilRead(region: Region, id: string, value: unknown): Promise<void> {
    await until(`${region} reads ${id}`, async () => (await this.read(region, id)) === value);
  }

  async history(name: string): Promise<readonly HistoryEntry[]> {
    const { json } = await this.get('east', `/v1/partition-sets/${name}/history?fresh=1`);
    return (json as { history: readonly HistoryEntry[] }).history;
  }

  async read(region: Region, id: string): Promise<unknown> {
    const answer = await (await this.client(region)).get(placeOf(this.map, id), id);
    if (answer.outcome !== 'done') return answer.code;
    const body = answer.version?.body;
    return body && (JSON.parse(Buffer.from(body).toString()) as { value: unknown }).value;
  }
}

let there: Machines;

beforeAll(async () => {
  there = await Machines.start();
});
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await there.putRight();
});
afterAll(() => there.nursery.close());

describe('three regions', () => {
  test('are written in one and read in all', async () => {
    await there.untilHome();
    for (let at = 0; at < 20; at += 1) await there.put(`d${at}`, at);
    for (const region of REGIONS) await there.untilRead(region, 'd7', 7);
  });

  test('keep their data for their user only', () => {
    const data = join(there.nursery.directory, 'west-1');
    const files = readdirSync(data, { recursive: true, encoding: 'utf8' });
    expect(files).toContain('data.mdb');
    const open = ['.', ...files].filter((name) => (statSync(join(data, name)).mode & 0o077) !== 0);
    expect(open).toEqual([]);
  });

  test('a switchover that an operator asks for over HTTP', async () => {
    const set = placeOf(there.map, 'd3');
    const { status } = await there.wish('north', set, { kind: 'switchover', target: 'east' });
    expect(status).toBe(200);
    const client = await there.client('east');
    await until('the east writes', async () => (await client.put(set, 'd3', 'moved')).outcome === 'done');
    await there.untilRead('east', 'd3', 'moved');
    await there.wish('north', set, { kind: 'unpin' });
    await there.wish('north', set, { kind: 'switchover', target: 'west' });
    await there.untilHome();
  });

  test('SIGTERM of the write region moves the writes first, loses nothing, and ends with 0', async () => {
    const names = there.map.containers[0]!.partitionSets.map(({ name }) => name);
    for (let at = 0; at < 20; at += 1) await there.put(`s${at}`, at);
    const before = new Map<string, string>();
    for (const name of names) before.set(name, JSON.stringify((await there.history(name)).at(-1)));
    const node = there.nodes.get('west')!;
    there.nodes.delete('west');
    node.child.kill('SIGTERM');
    const { code } = await node.exited;
    expect([code, node.errors]).toEqual([0, '']);
    expect(node.lines.at(-1)).toMatchObject({ msg: 'stopped' });
    // Every one was given away, or at once elected elsewhere: nobody had to wait for a lease to end.
    for (const name of names) {
      const since = async (): Promise<readonly HistoryEntry[]> => {
        const all = await there.history(name);
        return all.slice(all.findLastIndex((entry) => JSON.stringify(entry) === before.get(name)) + 1);
      };
      await until(`${name} has another writer`, async () =>
        (await since()).some(({ what, region }) => ENTHRONED.has(what) && region !== 'west'),
      );
      expect((await since()).map(({ why }) => why)).not.toContain('silence');
    }
    expect(await there.put('after', 1)).not.toBe('west');
    for (let at = 0; at < 20; at += 1) await there.untilRead('east', `s${at}`, at);
    there.startNode('west');
    await there.untilReady();
    await there.untilHome();
  });

  test('kill -9 of the write region: another takes over with everything, and it comes back', async () => {
    for (let at = 0; at < 20; at += 1) await there.put(`k${at}`, at);
    const node = there.nodes.get('west')!;
    there.nodes.delete('west');
    node.child.kill('SIGKILL');
    await node.exited;
    const writer = await there.put('k0', 'after');
    expect(writer).not.toBe('west');
    for (let at = 1; at < 20; at += 1) await there.untilRead(writer, `k${at}`, at);
    there.startNode('west');
    await there.untilReady();
    await there.untilRead('west', 'k0', 'after');
  });
});

describe('who may do what', () => {
  test('a wrong token gets nothing', async () => {
    for (const token of ['', TOKENS.client, TOKENS.node])
      expect(await there.get('east', '/v1/partition-sets', token)).toMatchObject({
        status: 401,
        json: { error: { code: 'NOT_AUTHORIZED' } },
      });
    for (const options of [
      {},
      { token: TOKENS.node },
      { token: TOKENS.client, role: 'node' as const, node: 'west-1', region: 'west' },
    ])
      await expect(RpcClient.to(there.ports.rpc['east']!, options)).rejects.toMatchObject({
        code: 'NOT_AUTHORIZED',
      });
  });

  test('SIGHUP puts new tokens in force, and keeps the old file when the new one is wrong', async () => {
    const node = there.nodes.get('north')!;
    const later = { ...TOKENS, client: 'later-token-0123456789' };
    there.write(tokensLine(later));
    await node.reload('configuration is read again');
    const { connection } = await RpcClient.to(there.ports.rpc['north']!, { token: later.client });
    await connection.close();
    const text = readFileSync(there.path, 'utf8');
    writeFileSync(there.path, 'cluster: [');
    await node.reload('keeping the old configuration: cannot reload');
    writeFileSync(there.path, text);
    await RpcClient.to(there.ports.rpc['north']!, { token: later.client });
    there.write(tokensLine(TOKENS));
    await node.reload('configuration is read again');
  });
});

describe('bad company', () => {
  function rss(pid: number): number {
    const pages = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Number(pages) * 1024;
  }

  /** Until it is answered or hung up on. */
  function throwAt(port: number, bytes: Buffer): Promise<void> {
    return new Promise((resolve) => {
      const socket = connect({ host: '127.0.0.1', port });
      socket.on('error', () => {}).on('close', () => resolve());
      socket.once('data', () => socket.destroy());
      socket.write(bytes);
    });
  }

  test('garbage on both ports, and requests that make no sense, cost little and harm nobody', async () => {
    const { child } = there.nodes.get('east')!;
    const client = await there.client('east');
    const before = rss(child.pid!);
    const junk = Buffer.alloc(1024 * 1024, 0xdd);
    for (let at = 0; at < 20; at += 1) {
      await Promise.all([
        throwAt(there.ports.rpc['east']!, junk),
        throwAt(there.ports.http['east']!, junk),
        throwAt(
          there.ports.http['east']!,
          Buffer.from('POST /v1/lost-writes/dismiss HTTP/1.1\r\ncontent-length: 999999999\r\n\r\n'),
        ),
      ]);
    }
    // Lists of millions within each other, announced in a few bytes.
    const bomb = Buffer.concat([
      Buffer.alloc(4),
      Buffer.from(Array.from({ length: 100 }, () => [0xdd, 0x01, 0xff, 0xff, 0xff]).flat()),
    ]);
    bomb.writeUInt32LE(bomb.length - 4, 0);
    for (const method of Object.values(METHODS).filter((one) => one !== METHODS.map))
      await expect(client.connection.call(method, bomb, { timeoutMs: 60_000 })).rejects.toMatchObject({
        code: 'MALFORMED',
      });
    expect(rss(child.pid!) - before).toBeLessThan(150 * 1024 * 1024);
    expect((await there.get('east', '/health')).status).toBe(200);
    await there.put('b', 'sound');
    await there.untilRead('east', 'b', 'sound');
  });
});

describe('a start that cannot be is one line', () => {
  async function ended(exit: number, args: readonly string[]): Promise<string> {
    const running = new Running(there.nursery.spawn(BATON, args));
    const { code } = await running.exited;
    expect(code).toBe(exit);
    expect(running.errors.trim().split('\n')).toHaveLength(1);
    return running.errors;
  }

  const refused = (...args: readonly string[]): Promise<string> => ended(1, args);
  /** The command line, or the file, is wrong. */
  const misused = (...args: readonly string[]): Promise<string> => ended(2, args);

  test('of a node', async () => {
    const config = ['--config', there.path];
    expect(await refused('node', ...config, '--name', 'west-9')).toContain(
      'has no node west-9. [NODE_UNKNOWN]',
    );
    expect(await refused('node', ...config, '--name', 'west-1')).toContain('[DATA_IN_USE]');
    expect(await misused('node', '--config', '/none', '--name', 'x')).toContain('[CONFIG_UNREADABLE]');
    expect(await misused('node', ...config, '--name', 'west-1', '--log-level', 'loud')).toContain(
      '--log-level',
    );
    const moved = join(there.nursery.directory, 'moved.yaml');
    writeFileSync(moved, readFileSync(there.path, 'utf8').replace('data: ./west-1', 'data: ./moved'));
    expect(await refused('node', '--config', moved, '--name', 'west-1')).toContain('the port is taken');
  });

  test('of an acceptor', async () => {
    const config = ['--config', there.path];
    expect(await misused('acceptor', ...config, '--name', 'a9')).toContain('has no acceptor a9.');
    expect(await refused('acceptor', ...config, '--name', 'a1')).toContain('[DATA_LOCKED]');
    expect(await misused('acceptor', ...config)).toContain('--config needs --name.');
    expect(await misused('acceptor', ...config, '--name', 'a1', '--data', 'x')).toContain(
      'the cluster file gives that setting.',
    );
    expect(await misused('acceptor')).toContain('Give either --data, or --config and --name.');
  });

  test('what is wrong with the file is a line for each', async () => {
    const broken = join(there.nursery.directory, 'broken.yaml');
    writeFileSync(broken, 'cluster: 7\nregions: []\n');
    const running = new Running(there.nursery.spawn(BATON, ['node', '--config', broken, '--name', 'x']));
    expect((await running.exited).code).toBe(2);
    expect(running.errors).toMatch(/broken\.yaml:1:10 cluster: /);
    expect(running.errors).toMatch(/problems \[CONFIG_INVALID\]\n$/);
  });
});

describe('the end', () => {
  test('a second signal ends a node at once', async () => {
    const lonely = join(there.nursery.directory, 'lonely.yaml');
    const ports = await portsFor(REGIONS);
    const acceptors = [`{ name: a1, url: "http://127.0.0.1:${await freePort()}" }`];
    writeFileSync(lonely, clusterFile(ports, { acceptors }).replaceAll('data: ./', 'data: ./lonely-'));
    const args = ['node', '--config', lonely, '--name', 'west-1', '--stop-with-parent'];
    const waiting = new Running(there.nursery.spawn(BATON, args));
    await until('it waits', () =>
      waiting.lines.some(({ msg }) => String(msg).startsWith('Waiting for acceptors')),
    );
    waiting.child.stdin.end();
    expect(await waiting.exited).toEqual({ code: 0, signal: null });
    expect(waiting.lines.at(-1)).toMatchObject({ msg: 'stopped before it was ready' });

    const [west] = [there.nodes.get('west')!];
    west.child.kill('SIGTERM');
    const again = setInterval(() => west.child.kill('SIGINT'), 100);
    onTestFinished(() => clearInterval(again));
    const { code, signal } = await west.exited;
    // While it ends, Node gives signals back to the system: the next one may find nobody to catch it.
    expect([0, 1, 'SIGINT']).toContain(code ?? signal);
  });
});
