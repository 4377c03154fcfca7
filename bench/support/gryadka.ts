/** The peer: gryadka 1.61.8 over Redis servers that sync every write, as its documentation sets it up. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from 'baton/server';
import type { Contender, Operate } from './contender.ts';
import { runnable } from './programs.ts';
import { Servers } from './servers.ts';

interface Cache {
  lostLeadership(key: string): void;
}

interface Proposer {
  changeQuery(
    key: string,
    change: (value: number | null) => [number, null],
    query: (value: number) => number,
    extra: object,
  ): Promise<{ readonly status: 'OK' | 'NO' | 'UNKNOWN' }>;
}

interface AcceptorClient {
  start(): void;
  close(): void;
}

interface Gryadka {
  Cache: new (id: number) => Cache;
  Proposer: new (
    cache: Cache,
    acceptors: AcceptorClient[],
    quorum: { read: number; write: number },
  ) => Proposer;
  AcceptorClient: new (settings: object) => AcceptorClient;
}

const require = createRequire(import.meta.url);
const SERVERS = 3;

export class GryadkaCluster implements Contender {
  readonly name = 'gryadka';
  readonly #servers = new Servers('gryadka');
  readonly #gryadka = require('gryadka') as Gryadka;
  readonly #ports: number[] = [];
  readonly #scripts: { readonly prepare: string; readonly accept: string };
  readonly #clients: AcceptorClient[] = [];

  constructor() {
    const lua = (name: string): string =>
      readFileSync(join(dirname(require.resolve('gryadka')), 'src', 'lua', `${name}.lua`), 'utf8');
    this.#scripts = { prepare: lua('prepare'), accept: lua('accept') };
  }

  async start(): Promise<void> {
    const redis = runnable('redis-server');
    for (let index = 0; index < SERVERS; index += 1) {
      const port = await freePort();
      const directory = this.#servers.directory();
      const where = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', directory];
      const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''];
      this.#servers.start(redis, [...where, ...durable], join(directory, 'log'));
      await loadScripts(port, [this.#scripts.prepare, this.#scripts.accept]);
      this.#ports.push(port);
    }
  }

  async stop(): Promise<void> {
    await this.closeClients();
    await this.#servers.stop();
  }

  /** With two round trips its cached ballot is dropped before each change. */
  proposer(id: number, rounds: 1 | 2): Promise<Operate> {
    const acceptors = this.#ports.map((port) => this.#connect(port));
    const cache = new this.#gryadka.Cache(id);
    const proposer = new this.#gryadka.Proposer(cache, acceptors, { read: 2, write: 2 });
    return Promise.resolve(async (register) => {
      if (rounds === 2) cache.lostLeadership(register);
      const { status } = await proposer.changeQuery(
        register,
        (value) => [(value ?? 0) + 1, null],
        identity,
        {},
      );
      return status === 'OK';
    });
  }

  closeClients(): Promise<void> {
    for (const client of this.#clients.splice(0)) client.close();
    return Promise.resolve();
  }

  #connect(port: number): AcceptorClient {
    const client = new this.#gryadka.AcceptorClient({
      isTransient: false,
      storage: { port, host: '127.0.0.1' },
      prepare: sha1(this.#scripts.prepare),
      accept: sha1(this.#scripts.accept),
    });
    client.start();
    this.#clients.push(client);
    return client;
  }
}

function identity(value: number): number {
  return value;
}

function sha1(script: string): string {
  return createHash('sha1').update(script).digest('hex');
}

/** Loads the scripts as soon as the server answers, over a bare connection: three commands are not worth a client. */
async function loadScripts(port: number, scripts: readonly string[]): Promise<void> {
  for (const script of scripts) {
    const command = `*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$${Buffer.byteLength(script)}\r\n${script}\r\n`;
    const answer = await ask(port, command);
    if (!answer.includes(sha1(script))) throw new Error(`Redis did not load a script: ${answer}`);
  }
}

async function ask(port: number, command: string): Promise<string> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await new Promise<string>((resolve, reject) => {
        const socket = connect(port, '127.0.0.1', () => socket.write(command));
        socket.once('data', (data) => {
          socket.destroy();
          resolve(data.toString());
        });
        socket.once('error', reject);
      });
    } catch (error) {
      if (tries === 100) throw error;
      await sleep(50);
    }
  }
}
