/**
 * Baton: three regions, each a process with its engine, its agents and its disk, over the transport of a cluster; three
 * acceptor services. One partition-set at Strong: a write is answered when all three have it on disk.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../support/processes.ts';
import { Servers } from '../support/servers.ts';
import { openBaton } from './baton-client.ts';
import type { NodeArgs } from './baton-node.ts';
import type { System, SystemKind } from './system.ts';

const REGIONS = ['west', 'east', 'north'] as const;
const CLI = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));
const NODE = fileURLToPath(new URL('./baton-node.js', import.meta.url));

export const baton: SystemKind = {
  setting: 'three regions at Strong, one partition-set, three acceptors',
  lacks: () => undefined,
  create: () => new Baton(),
};

class Baton implements System {
  readonly name = 'baton';
  readonly #servers = new Servers('baton');
  #address = '';

  async start(): Promise<void> {
    const directory = this.#servers.directory();
    const log = join(directory, 'log');
    const acceptors: string[] = [];
    for (const name of ['1', '2', '3']) {
      const port = await freePort();
      const data = join(directory, `acceptor-${name}`);
      const flags = ['acceptor', '--data', data, '--listen', `127.0.0.1:${port}`, '--log-level', 'warn'];
      this.#servers.start(process.execPath, [CLI, ...flags], log);
      acceptors.push(`http://127.0.0.1:${port}`);
    }
    await this.#servers.until('starting the acceptors', log, async () => {
      const answers = await Promise.all(
        acceptors.map((url) => fetch(`${url}/health`).catch(() => undefined)),
      );
      return answers.every((answer) => answer !== undefined);
    });
    const ports: Record<string, number> = {};
    for (const region of REGIONS) ports[region] = await freePort();
    for (const region of REGIONS) {
      const args: NodeArgs = { region, ports, acceptors, data: join(directory, region) };
      this.#servers.start(process.execPath, [NODE, JSON.stringify(args)], log);
    }
    this.#address = `127.0.0.1:${ports[REGIONS[0]]}`;
    await this.#servers.until('taking writes', log, async () => {
      const store = await openBaton([this.#address], { mode: 'write', inFlight: 1 });
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
    return [this.#address];
  }
}
