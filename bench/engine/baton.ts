/**
 * Baton: three regions, each a process with its engine, its agents and its disk, over the transport of a cluster; three
 * acceptor services. One partition-set at Strong: a write is answered when all three have it on disk.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from 'baton/server';
import { startAcceptors } from '../support/acceptors.ts';
import { NODE, Servers } from '../support/servers.ts';
import { openBaton } from './baton-client.ts';
import type { NodeArgs } from './baton-node.ts';
import { ONE_WRITE, type System, type SystemKind } from './system.ts';

const REGIONS = ['west', 'east', 'north'] as const;
const ACCEPTORS = 3;
/** What a node makes for one write is garbage soon: a larger nursery is collected less often. */
const NODE_FLAGS = ['--max-semi-space-size=64'];
const NODE_PROGRAM = fileURLToPath(new URL('./baton-node.js', import.meta.url));

export const baton: SystemKind = {
  setting: 'three regions at Strong, one partition-set, three acceptors',
  lacks: () => undefined,
  create: () => new Baton(),
};

export type Region = (typeof REGIONS)[number];

export class Baton implements System {
  readonly name = 'baton';
  readonly #servers = new Servers('baton');
  readonly #ports: Record<string, number> = {};
  readonly #nodes = new Map<Region, ChildProcess>();
  #acceptors: readonly string[] = [];
  #directory = '';

  async start(): Promise<void> {
    this.#directory = this.#servers.directory();
    this.#acceptors = await startAcceptors(this.#servers, ACCEPTORS);
    for (const region of REGIONS) this.#ports[region] = await freePort();
    for (const region of REGIONS) this.startRegion(region);
    await this.#servers.until('taking writes', this.#log, async () => {
      const store = await openBaton([this.addressOf('west')], ONE_WRITE);
      try {
        await store.put('first', Buffer.from('{"is":"there"}'));
        return true;
      } finally {
        store.close();
      }
    });
  }

  stop(): Promise<void> {
    return this.#servers.stop();
  }

  clientArgs(): readonly string[] {
    return [this.addressOf('west')];
  }

  addressOf(region: Region): string {
    return `127.0.0.1:${this.#ports[region]}`;
  }

  startRegion(region: Region): void {
    const args: NodeArgs = {
      region,
      ports: this.#ports,
      acceptors: this.#acceptors,
      data: join(this.#directory, region),
    };
    const flags = [...NODE_FLAGS, NODE_PROGRAM, JSON.stringify(args)];
    const node = this.#servers.start(NODE, flags, this.#log);
    this.#nodes.set(region, node);
  }

  async killRegion(region: Region): Promise<void> {
    const node = this.#nodes.get(region)!;
    node.kill('SIGKILL');
    await once(node, 'exit');
  }

  /** Megabytes of memory that a region's process holds for itself, without what it maps of its files. */
  memoryOf(region: Region): number {
    const status = readFileSync(`/proc/${this.#nodes.get(region)!.pid}/status`, 'utf8');
    return Number(/^RssAnon:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
  }

  get #log(): string {
    return join(this.#directory, 'log');
  }
}
