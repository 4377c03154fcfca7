/**
 * Nodes that only play (`src/dashboard/testing/fake-fleet.ts`), over real HTTP: they serve the page with the headers of a real node,
 * and can be killed. For looking at the page, and for measuring it, without a cluster.
 */
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import type { ServerEvent } from '../../src/dashboard/api.ts';
import { FakeFleet } from '../../src/dashboard/testing/fake-fleet.ts';
import { packageRoot } from '../support/programs.ts';

const PAGE = join(packageRoot(), 'dist', 'dashboard');
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};
const TICK_MS = 250;

export interface FakeNodesOptions {
  readonly sets: number;
  readonly token?: string;
  /** So many partition-sets, at random, have a write in every tick. */
  readonly writesPerTick?: number;
}

export class FakeNodes {
  readonly fleet: FakeFleet;
  /** As long as this is set nothing happens to the fleet by itself, so that a page has all the time to show how it is. */
  isTimeStopped = false;
  readonly #token: string | undefined;
  readonly #servers = new Map<string, Server>();
  readonly #ports = new Map<string, number>();
  readonly #streams = new Map<string, Set<ServerResponse>>();
  readonly #audit: object[] = [];
  #timer: ReturnType<typeof setInterval> | undefined;
  #ticks = 0;

  private constructor({ sets, token, writesPerTick = 0 }: FakeNodesOptions) {
    this.fleet = new FakeFleet({ sets, startMs: Date.now() });
    this.#token = token;
    if (writesPerTick > 0) Object.assign(this.fleet.load, { on: true, perSecond: writesPerTick * 4 });
  }

  static async start(options: FakeNodesOptions): Promise<FakeNodes> {
    const nodes = new FakeNodes(options);
    for (const region of nodes.fleet.regions) await nodes.#listen(region, 0);
    nodes.#timer = setInterval(() => nodes.#tick(), TICK_MS);
    return nodes;
  }

  get url(): string {
    return this.urlOf(this.fleet.regions[0]!);
  }

  urlOf(region: string): string {
    return `http://127.0.0.1:${this.#ports.get(region)}`;
  }

  async order(action: string, targets: readonly string[]): Promise<string[]> {
    const done = this.fleet.order(action, targets);
    for (const region of this.fleet.regions) {
      const state = this.fleet.processes.find((one) => one.region === region)!.state;
      if (state === 'stopped') this.#drop(region);
      else if (state === 'running' && !this.#servers.has(region))
        await this.#listen(region, this.#ports.get(region)!);
    }
    return done;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    for (const region of this.fleet.regions) this.#drop(region);
    await Promise.resolve();
  }

  async #listen(region: string, port: number): Promise<void> {
    const server = createServer((request, response) => void this.#answer(region, request, response));
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    this.#servers.set(region, server);
    this.#ports.set(region, (server.address() as AddressInfo).port);
    this.#streams.set(region, new Set());
  }

  #drop(region: string): void {
    const server = this.#servers.get(region);
    this.#servers.delete(region);
    server?.close();
    server?.closeAllConnections();
  }

  #tick(): void {
    this.#ticks += 1;
    if (!this.isTimeStopped) this.fleet.advance(TICK_MS);
    for (const [region, events] of this.fleet.news()) {
      const isSecond = this.#ticks % 4 === 0;
      const all = isSecond ? [...events, this.fleet.beat(region), this.fleet.local()] : events;
      const text = all.map(eventText).join('');
      if (text !== '') for (const stream of this.#streams.get(region) ?? []) stream.write(text);
    }
  }

  async #answer(region: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url!, this.url);
    const origins = this.fleet.regions.map((name) => this.urlOf(name));
    const { origin } = request.headers;
    if (origin !== undefined && origins.includes(origin))
      response.setHeader('access-control-allow-origin', origin);
    response.setHeader('access-control-allow-headers', 'authorization, content-type');
    if (request.method === 'OPTIONS') response.writeHead(204).end();
    else if (!pathname.startsWith('/v1/')) this.#file(pathname, origins, response);
    else if (this.#token !== undefined && request.headers.authorization !== `Bearer ${this.#token}`)
      json(response, 401, { error: { code: 'NOT_AUTHORIZED', message: 'The token is not accepted.' } });
    else if (pathname === '/v1/events') this.#stream(region, response);
    else json(response, 200, await this.#data(region, pathname, searchParams, await bodyOf(request)));
  }

  #file(pathname: string, origins: readonly string[], response: ServerResponse): void {
    const name = pathname === '/' ? 'index.html' : pathname.slice(1);
    if (name.includes('..')) return void response.writeHead(404).end();
    const policy = `default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self' ${origins.join(' ')}; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;
    try {
      const content = readFileSync(join(PAGE, name));
      response.writeHead(200, {
        'content-type': TYPES[extname(name)] ?? 'text/plain',
        'content-security-policy': policy,
      });
      response.end(content);
    } catch {
      response.writeHead(404).end();
    }
  }

  #stream(region: string, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    response.write(this.fleet.welcome(region).map(eventText).join(''));
    const streams = this.#streams.get(region)!;
    streams.add(response);
    response.once('close', () => streams.delete(response));
  }

  async #data(
    region: string,
    path: string,
    query: URLSearchParams,
    body: Record<string, unknown> | undefined,
  ): Promise<object> {
    if (path === '/v1/map') return this.#map();
    if (path === '/v1/audit') return { audit: region === this.fleet.regions[1] ? this.#audit : [] };
    if (path === '/v1/partition-sets')
      return { partitionSets: [this.#detail(region, query.get('partitionSet')!)] };
    if (path.endsWith('/history')) {
      const name = decodeURIComponent(path.split('/')[3]!);
      const of = this.fleet.history.filter(({ partitionSet }) => partitionSet === name);
      return {
        history: of.map(({ at, what, sentence }) => ({ at: new Date(at).toISOString(), what, sentence })),
      };
    }
    if (path === '/v1/local/orders') return this.#ordered(body!);
    return this.#intended(decodeURIComponent(path.split('/')[3]!), body!);
  }

  async #ordered(body: Record<string, unknown>): Promise<object> {
    this.#note('local', null, body);
    if (body['action'] === 'load')
      Object.assign(this.fleet.load, { on: body['on'], perSecond: body['perSecond'] ?? 200 });
    return { processes: await this.order(String(body['action']), (body['targets'] ?? []) as string[]) };
  }

  #intended(name: string, { intent, dryRun }: Record<string, unknown>): object {
    const { kind, target } = intent as { kind: string; target?: string };
    const set = this.fleet.sets.find((one) => one.name === name)!;
    if (dryRun === true)
      return {
        dryRun: true,
        changes: [
          { field: 'phase', from: set.phase, to: kind === 'failover' ? 'Ungraceful' : 'Graceful' },
          { field: 'target', from: null, to: target },
          { field: 'step', from: set.step, to: set.step + 1 },
        ],
      };
    this.#note('intent', name, { intent });
    if (kind === 'switchover') this.fleet.move(name, target!, 'operator');
    if (kind === 'failover') this.fleet.force(name);
    return { state: {} };
  }

  #note(action: string, target: string | null, detail: object): void {
    const at = new Date().toISOString();
    this.#audit.push({
      n: this.#audit.length + 1,
      at,
      role: 'operator',
      who: 'page',
      from: '127.0.0.1',
      action,
      target,
      detail,
      outcome: 'done',
      code: null,
    });
  }

  #map(): object {
    return {
      version: 1,
      cluster: 'fake',
      regions: this.fleet.regions.map((name) => ({
        name,
        nodes: [
          { name: `${name}-1`, address: '127.0.0.1:1', http: this.urlOf(name).slice('http://'.length) },
        ],
      })),
      containers: [],
    };
  }

  #detail(region: string, name: string): object {
    const { fleet } = this;
    const set = fleet.sets.find((one) => one.name === name)!;
    const isWriter = set.writer === region;
    const progress = { epoch: set.gcn, lsn: set.lsn };
    return {
      partitionSet: name,
      container: set.container,
      range: { from: '', to: '1FFFFFFF' },
      gcn: set.gcn,
      phase: set.phase,
      step: set.step,
      writeRegion: set.writer,
      target: set.target,
      leaseSet: set.leaseSet,
      configuration: { priorities: fleet.regions, consistency: 'Strong', minDurability: 1 },
      regions: Object.fromEntries(
        fleet.regions.map((one) => [
          one,
          {
            status: set.writer === one ? 'ReadWrite' : 'ReadOnlyReplicationAllowed',
            build: 'Built',
            beat: Math.floor((fleet.now % 1e8) / 1000),
            progress: fleet.isUp(one) ? progress : null,
            gclsn: fleet.isUp(one) ? set.lsn - 1 : null,
            isLive: fleet.isUp(one),
            reportedUnder: fleet.isUp(one) ? set.gcn : null,
            reaches: [],
            isStopped: false,
            isLeaving: false,
          },
        ]),
      ),
      local: {
        region,
        role: isWriter ? 'writer' : 'follower',
        canWrite: isWriter,
        canRead: true,
        canCommit: isWriter,
        progress,
        gclsn: set.lsn - 1,
        build: 'Built',
        lag: {},
        logBytes: 40_960 + set.lsn * 120,
        undoneWrites: 0,
        undoneCommitted: 0,
        refuses: null,
      },
      intents: { open: [], recent: [] },
      cause: set.cause,
      pin: set.pin,
      pausedAutomatic: false,
    };
  }
}

function eventText({ type, ...data }: ServerEvent): string {
  return `event: ${type}\ndata: ${JSON.stringify({ at: Date.now(), ...data })}\n\n`;
}

function json(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown> | undefined> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString();
  return text === '' ? undefined : (JSON.parse(text) as Record<string, unknown>);
}
