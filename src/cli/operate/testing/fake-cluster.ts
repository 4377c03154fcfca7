/**
 * A cluster that is nothing but its HTTP: each node serves the views it was given, and takes wishes as simply as can be. For
 * the tests of the commands; every answer can be made wrong.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { operatorCommands } from '../index.ts';
import type { Stage } from '../stage.ts';

export interface FakeRegion {
  status: string;
  building?: boolean;
  beat: number;
  progress: { epoch: number; lsn: number } | null;
  gclsn: number;
  version: number;
  isLive: boolean;
  reportedUnder: number;
}

export interface FakeView {
  partitionSet: string;
  container: string;
  /** Null: this node has not seen it yet. */
  gcn: number | null;
  phase: string;
  writeRegion: string | null;
  target?: string;
  pin?: string;
  leaseSet: string[];
  configuration: Record<string, unknown> & { priorities: string[]; version: number };
  regions: Record<string, FakeRegion>;
  intents: { open: Record<string, unknown>[]; recent: Record<string, unknown>[] };
  pausedAutomatic: boolean;
  cause: string;
}

export interface FakePost {
  readonly node: string;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface FakeMap {
  version: number;
  cluster: string;
  containers: { name: string; partitionSets: { name: string; column: number }[] }[];
}

/** Instead of the usual: `cut` takes the request and closes, `applied and cut` does what it says and closes. */
export type Manner = 'well' | 'cut' | 'applied and cut' | 'hang' | 'garbage' | 'busy' | 'not let in';

export interface FakeEntry {
  readonly at: string;
  readonly what: string;
  readonly who: string;
  readonly why: string;
  readonly from: number;
  readonly to: number;
  readonly region: string | null;
}

export const REGIONS = ['west', 'east', 'north'];
/** No node is taken for dead because the machine is slow. */
const PATIENT = ['--node-timeout', '60000'];

export const NOW = Date.parse('2030-01-02T03:04:05.000Z');

export function healthyView(partitionSet: string, writeRegion = 'west'): FakeView {
  return {
    partitionSet,
    container: 'items',
    gcn: 1,
    phase: 'Steady',
    writeRegion,
    leaseSet: [...REGIONS],
    configuration: {
      version: 1,
      priorities: [...REGIONS],
      consistency: 'Strong',
      minDurability: 2,
      timings: { intervalMs: 1000, leaseMs: 3000, settleMs: 300 },
      failback: 'automatic',
    },
    regions: Object.fromEntries(
      REGIONS.map((region) => [
        region,
        {
          status: region === writeRegion ? 'ReadWrite' : 'ReadOnlyReplicationAllowed',
          beat: 10,
          progress: { epoch: 1, lsn: 100 },
          gclsn: 99,
          version: 2,
          isLive: true,
          reportedUnder: 1,
        },
      ]),
    ),
    intents: { open: [], recent: [] },
    pausedAutomatic: false,
    cause: 'creation',
  };
}

export class FakeNode {
  readonly name: string;
  readonly region: string;
  readonly server: Server;
  manner: Manner = 'well';
  facts: Record<string, unknown>;
  views: FakeView[];
  /** Undefined: it is of a version that has none. */
  map: FakeMap | undefined;
  local: Record<string, Record<string, unknown>> = {};
  lost: Record<string, unknown>[] = [];
  history: Record<string, FakeEntry[]> = {};
  /** As much as it puts into one answer. */
  pageSize = 1000;

  constructor(region: string, partitionSets: readonly string[], serve: FakeCluster) {
    this.name = `${region}-1`;
    this.region = region;
    this.views = partitionSets.map((name) => healthyView(name));
    const column = 0;
    this.map = {
      version: 2 ** 32,
      cluster: 'demo',
      containers: [{ name: 'items', partitionSets: partitionSets.map((name) => ({ name, column })) }],
    };
    this.facts = {
      cluster: 'demo',
      node: this.name,
      region,
      version: '1.2.3',
      incarnation: 1,
      uptimeMs: 65_000,
      now: new Date(NOW).toISOString(),
      acceptors: ['a1', 'a2', 'a3'].map((name) => ({ name, url: `http://${name}`, state: 'up' })),
      peers: REGIONS.filter((one) => one !== region).map((one) => ({
        region: one,
        node: `${one}-1`,
        isUp: true,
      })),
      disk: { freeBytes: 50e9, totalBytes: 100e9 },
    };
    this.server = createServer((request, response) => void serve.handle(this, request, response));
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  view(name: string): FakeView {
    return this.views.find(({ partitionSet }) => partitionSet === name)!;
  }

  shown(): object[] {
    return this.views
      .filter(({ gcn }) => gcn !== null)
      .map((view) => ({
        ...view,
        local: {
          region: this.region,
          role: this.region === view.writeRegion ? 'writer' : 'reader',
          canWrite: this.region === view.writeRegion,
          canCommit: true,
          progress: view.regions[this.region]!.progress,
          gclsn: 99,
          lag: {},
          ...this.local[view.partitionSet],
        },
      }));
  }

  stop(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }
}

export interface Run {
  readonly code: number | undefined;
  readonly out: string;
  readonly err: string;
  readonly asked: readonly string[];
}

export interface RunOptions {
  readonly answer?: string;
  readonly isTerminal?: boolean;
  readonly env?: Record<string, string>;
  readonly cwd?: string;
  /** Interrupted in this sleep. */
  readonly sleeps?: number;
  readonly onSleep?: () => void;
}

export type Refuse = (wish: FakePost) => { readonly code: string; readonly message: string } | undefined;

export class FakeCluster {
  readonly directory = mkdtempSync(join(tmpdir(), 'baton-operate-'));
  readonly nodes: readonly FakeNode[];
  readonly posts: FakePost[] = [];
  readonly gets: { readonly node: string; readonly path: string }[] = [];
  refuse: Refuse = () => undefined;
  /** Whether wishes come true. */
  honours = true;
  token: string | undefined;
  #ids = 0;

  private constructor(partitionSets: number) {
    const width = Math.max(2, String(partitionSets - 1).length);
    const names = Array.from(
      { length: partitionSets },
      (_, at) => `items-${String(at).padStart(width, '0')}`,
    );
    this.nodes = REGIONS.map((region) => new FakeNode(region, names, this));
  }

  static async start({ partitionSets = 2, more = '' } = {}): Promise<FakeCluster> {
    const cluster = new FakeCluster(partitionSets);
    await Promise.all(
      cluster.nodes.map(
        ({ server }) => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)),
      ),
    );
    const regions = cluster.nodes.map(
      ({ region, name, port }, at) =>
        `  - { name: ${region}, nodes: [{ name: ${name}, listen: '127.0.0.1:${4101 + at}', http: '127.0.0.1:${port}', data: ./${name} }] }\n`,
    );
    const acceptors = [1, 2, 3].map(
      (at) => `  - { name: a${at}, url: 'http://127.0.0.1:400${at}', data: ./a${at} }\n`,
    );
    writeFileSync(
      join(cluster.directory, 'baton.yaml'),
      `cluster: demo\nregions:\n${regions.join('')}acceptors:\n${acceptors.join('')}containers:\n  - { name: items, partitionSets: ${partitionSets} }\n${more}`,
    );
    return cluster;
  }

  node(region: string): FakeNode {
    return this.nodes.find((node) => node.region === region)!;
  }

  /** Through the API, and every node has heard of it. */
  addContainer(container: string, partitionSets: readonly string[]): void {
    for (const node of this.nodes) {
      node.views.push(...partitionSets.map((name) => ({ ...healthyView(name), container })));
      node.map!.version += 2 ** 32;
      node.map!.containers.push({
        name: container,
        partitionSets: partitionSets.map((name) => ({ name, column: 0 })),
      });
    }
  }

  /** The same in what every node shows. */
  everywhere(partitionSet: string, change: (view: FakeView) => void): void {
    for (const node of this.nodes) change(node.view(partitionSet));
  }

  async close(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
    rmSync(this.directory, { recursive: true, force: true });
  }

  async run(args: readonly string[], options: RunOptions = {}): Promise<Run> {
    const [out, err, asked]: [string[], string[], string[]] = [[], [], []];
    let [code, time, sleeps]: [number | undefined, number, number] = [undefined, NOW, 0];
    const { answer, isTerminal = false, env = {}, cwd = this.directory } = options;
    const stage: Stage = {
      env,
      cwd,
      isTerminal,
      invocation: { script: '/bin/baton', env: { PATH: '/bin' }, cwd },
      who: 'ops@here',
      out: (text) => void out.push(text),
      err: (text) => void err.push(text),
      ...(answer !== undefined && {
        ask: (question: string) => {
          asked.push(question);
          return Promise.resolve(answer);
        },
      }),
      now: () => time,
      sleep: (ms) => {
        time += ms;
        sleeps += 1;
        options.onSleep?.();
        return new Promise((resolve) => setImmediate(() => resolve(sleeps !== options.sleeps)));
      },
      newId: () => `${NOW.toString(36)}-${(this.#ids += 1).toString(16).padStart(12, '0')}`,
      end: (exit) => (code = exit),
    };
    const program = new Command('baton');
    for (const command of operatorCommands(stage)) program.addCommand(command);
    const patience = args.includes('--node-timeout') ? [] : PATIENT;
    await program.parseAsync([...args, ...patience], { from: 'user' });
    return { code, out: out.join(''), err: err.join(''), asked };
  }

  async handle(node: FakeNode, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const path = request.url ?? '';
    const isPost = request.method === 'POST';
    const answer = (status: number, value: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };
    const error = (status: number, code: string, message: string): void =>
      answer(status, { error: { code, message } });
    const isLetIn = this.token === undefined || request.headers.authorization === `Bearer ${this.token}`;
    if (!isLetIn || node.manner === 'not let in')
      return error(401, 'UNAUTHORIZED', 'The operator token is wrong.');
    if (node.manner === 'garbage') return void response.end('<html>');
    if (node.manner === 'hang') return;
    if (!isPost) return answer(200, this.#get(node, path));
    if (node.manner === 'busy') return error(503, 'BUSY', 'Come back later.');
    const post = {
      node: node.name,
      path,
      body: JSON.parse(Buffer.concat(chunks).toString()) as FakePost['body'],
    };
    this.posts.push(post);
    if (node.manner === 'cut') return void request.socket.destroy();
    const refusal = this.refuse(post);
    if (refusal !== undefined) return error(409, refusal.code, refusal.message);
    if (path.startsWith('/v1/lost-writes/')) return answer(200, this.#settle(path, post));
    const name = decodeURIComponent(path.split('/')[3]!);
    if (post.body['dryRun'] !== true) this.#apply(name, post);
    if (node.manner === 'applied and cut') return void request.socket.destroy();
    return answer(200, { state: node.view(name) });
  }

  #get(node: FakeNode, path: string): unknown {
    const { pathname, searchParams: query } = new URL(path, 'http://node');
    this.gets.push({ node: node.name, path });
    if (pathname === '/v1/node') return node.facts;
    if (pathname === '/v1/map') return node.map ?? {};
    if (pathname === '/v1/partition-sets') return { partitionSets: node.shown() };
    const named = query.getAll('partitionSet');
    const isNamed = (name: unknown): boolean => named.length === 0 || named.includes(name as string);
    const size = Math.min(node.pageSize, Number(query.get('limit') ?? node.pageSize));
    if (pathname === '/v1/lost-writes') {
      const idOf = (one: Record<string, unknown>): string =>
        `${one['partitionSet'] as string}/${one['epoch'] as number}/${String(one['lsn']).padStart(9, '0')}`;
      const after = (query.get('after') ?? '').replace(/\d+$/, (lsn) => lsn.padStart(9, '0'));
      const all = node.lost
        .filter((one) => isNamed(one['partitionSet']) && idOf(one) > after)
        .filter((one) => query.get('open') !== '1' || one['closed'] === undefined)
        .toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1));
      const page = all.slice(0, size);
      return { lostWrites: page, ...(all.length > size && { next: idOf(page.at(-1)!) }) };
    }
    const before = Number(query.get('before') ?? Infinity);
    const all = Object.entries(node.history)
      .filter(([partitionSet]) => isNamed(partitionSet))
      .flatMap(([partitionSet, entries]) => entries.map((entry) => ({ partitionSet, ...entry })))
      .toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
      .map((entry, at) => ({ n: at + 1, ...entry }))
      .filter(({ n }) => n < before);
    const history = all.slice(-size);
    return { history, ...(all.length > size && { next: history[0]!.n }) };
  }

  #settle(path: string, { body }: FakePost): unknown {
    const closed = path.endsWith('reapply') ? 'reapplied' : 'dismissed';
    for (const { lost } of this.nodes) {
      for (const one of lost) if (one['lsn'] === body['lsn']) one['closed'] = closed;
    }
    return {};
  }

  #apply(name: string, { body }: FakePost): void {
    const { kind, target, intent } = body['intent'] as { kind: string; target?: string; intent?: string };
    const id = body['id'] as string;
    const { gcn: before, writeRegion: from } = this.nodes[0]!.view(name);
    const gcn = before ?? 0;
    if (this.nodes[0]!.view(name).intents.recent.some((one) => one['id'] === id)) return;
    const to = target ?? REGIONS.find((region) => region !== from)!;
    this.everywhere(name, (view) => {
      if (!this.honours) return void view.intents.open.push({ id, kind, who: body['who'], target });
      view.intents.recent.push({ id, kind, end: 'honoured' });
      if (kind === 'unpin') delete view.pin;
      if (kind === 'withdraw') view.intents.open = view.intents.open.filter((one) => one['id'] !== intent);
      if (kind === 'pause' || kind === 'resume') view.pausedAutomatic = kind === 'pause';
      if (kind === 'switchover' || kind === 'failover')
        Object.assign(view, { writeRegion: to, gcn: gcn + 1 });
    });
    if (!this.honours || (kind !== 'switchover' && kind !== 'failover')) return;
    const [first, second] = kind === 'switchover' ? ['began', 'switched'] : ['raised', 'elected'];
    const why = kind === 'switchover' ? 'operator' : 'forced';
    const entry = (what: string, ms: number, start: number, region: string | null): FakeEntry => {
      const at = new Date(NOW + ms).toISOString();
      return {
        at,
        what,
        who: 'west',
        why,
        from: start,
        to: kind === 'switchover' && ms === 0 ? gcn : gcn + 1,
        region,
      };
    };
    for (const { history } of this.nodes) {
      const start = kind === 'switchover' ? gcn : gcn + 1;
      const began = entry(first, 0, gcn, kind === 'switchover' ? to : from);
      history[name] = [...(history[name] ?? []), began, entry(second, 84, start, to)];
    }
  }
}
