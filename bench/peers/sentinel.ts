/**
 * Redis with Sentinel: a primary and two replicas, a sentinel beside each, a quorum of two. Every write is synced
 * (`appendfsync always`), so that an acknowledgement means the same as elsewhere on the primary's own disk.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from 'baton/server';
import { runnable } from '../support/programs.ts';
import { Household, lackOfHousehold } from './household.ts';
import type { Peer, PeerClient, PeerKind } from './peer.ts';
import { ask, fieldsOf } from './redis-ask.ts';
import { SentinelClient } from './sentinel-client.ts';
import { until } from './waiting.ts';

const GROUP = 'main';
const QUORUM = 2;
const BOXES = [1, 2, 3] as const;
/** A primary that comes back is made a replica after ten seconds, and is looked at every ten. */
const WHOLE_MS = 120_000;

interface Settings {
  readonly downAfterMs: number;
  readonly failoverTimeoutMs: number;
  /** Of how many replicas a write needs the word. */
  readonly copies: number;
  /** For how long the primary holds up writes when a switchover begins. */
  readonly pauseMs: number;
}

const SETTINGS: Readonly<Record<string, Settings>> = {
  default: { downAfterMs: 30_000, failoverTimeoutMs: 180_000, copies: 0, pauseMs: 0 },
  tight: { downAfterMs: 500, failoverTimeoutMs: 5000, copies: 1, pauseMs: 3000 },
};

export const sentinel: PeerKind = {
  name: 'sentinel',
  settings: {
    default:
      'Redis primary, two replicas, three sentinels; as shipped: down-after-milliseconds 30000, failover-timeout 180000, asynchronous replication; appendfsync always',
    tight:
      'the same with down-after-milliseconds 500, failover-timeout 5000, min-replicas-to-write 1, repl-diskless-sync-delay 0, and a client that counts a write when WAIT 1 says that a replica has it; a switchover begins with CLIENT PAUSE WRITE',
  },
  lacks: () => lackOfHousehold(['redis-server']),
  create: (settings) => new Sentinel(SETTINGS[settings]!),
};

interface Box {
  readonly server: string;
  readonly sentinel: string;
  readonly serverPort: number;
  readonly sentinelPort: number;
}

class Sentinel implements Peer {
  readonly #household = new Household('sentinel');
  readonly #settings: Settings;
  readonly #boxes: Box[] = [];

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  async start(): Promise<void> {
    for (const number of BOXES) {
      this.#boxes.push({
        server: `redis-${number}`,
        sentinel: `sentinel-${number}`,
        serverPort: await freePort(),
        sentinelPort: await freePort(),
      });
    }
    const primary = this.#boxes[0]!.serverPort;
    for (const { server, serverPort } of this.#boxes)
      this.#run(server, this.#serverLines(serverPort, primary));
    for (const box of this.#boxes)
      this.#run(box.sentinel, this.#sentinelLines(box.sentinelPort, primary), '--sentinel');
  }

  async whole(): Promise<void> {
    await until('waiting for all replicas and sentinels', WHOLE_MS, async () => {
      const seen = await Promise.all(this.#boxes.map((box) => this.#seenBy(box)));
      return (
        seen.every((port) => port !== undefined && port === seen[0]) && (await this.#replicates(seen[0]!))
      );
    });
  }

  client(): Promise<PeerClient> {
    const ports = this.#boxes.map(({ sentinelPort }) => sentinelPort);
    return Promise.resolve(new SentinelClient(ports, GROUP, this.#settings.copies));
  }

  /** By the word of the first sentinel that answers. */
  async leader(): Promise<string | undefined> {
    return (await this.#leadingBox())?.server;
  }

  async kill(member: string): Promise<void> {
    await this.#household.kill(this.#processesOf(member));
  }

  /** Without the pause the old primary takes writes, and loses them, until the clients have heard of the new one. */
  async switchover(): Promise<void> {
    const { serverPort } = (await this.#leadingBox())!;
    const { pauseMs } = this.#settings;
    if (pauseMs > 0) await ask(serverPort, 'CLIENT', 'PAUSE', `${pauseMs}`, 'WRITE');
    await ask(this.#boxes[0]!.sentinelPort, 'SENTINEL', 'FAILOVER', GROUP);
  }

  async blind(): Promise<void> {
    await this.#household.kill(this.#boxes.slice(0, QUORUM).map((box) => box.sentinel));
  }

  heal(except = ''): Promise<void> {
    this.#household.startMissing(this.#processesOf(except));
    return Promise.resolve();
  }

  stop(): Promise<void> {
    return this.#household.stop();
  }

  #processesOf(member: string): readonly string[] {
    const box = this.#boxes.find(({ server }) => server === member);
    return box === undefined ? [] : [box.server, box.sentinel];
  }

  async #leadingBox(): Promise<Box | undefined> {
    for (const { sentinelPort } of this.#boxes) {
      const command = ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', GROUP];
      const address = await ask(sentinelPort, ...command).catch(() => undefined);
      if (Array.isArray(address)) return this.#boxes.find((box) => `${box.serverPort}` === address[1]);
    }
    return undefined;
  }

  /** The primary's port, if this sentinel sees everybody, well and in place. */
  async #seenBy({ sentinelPort }: Box): Promise<number | undefined> {
    const group = fieldsOf(await ask(sentinelPort, 'SENTINEL', 'MASTER', GROUP));
    const replicas = (await ask(sentinelPort, 'SENTINEL', 'REPLICAS', GROUP)) as readonly unknown[];
    const others = (await ask(sentinelPort, 'SENTINEL', 'SENTINELS', GROUP)) as readonly unknown[];
    const isWell =
      group['flags'] === 'master' &&
      replicas.length === BOXES.length - 1 &&
      replicas.map(fieldsOf).every((one) => one['flags'] === 'slave' && one['master-link-status'] === 'ok') &&
      others.length === BOXES.length - 1 &&
      others.map(fieldsOf).every((one) => one['flags'] === 'sentinel');
    return isWell ? Number(group['port']) : undefined;
  }

  async #replicates(primary: number): Promise<boolean> {
    const info = String(await ask(primary, 'INFO', 'replication'));
    return (info.match(/^slave\d+:.*state=online/gm) ?? []).length === BOXES.length - 1;
  }

  /** Both kinds keep what they learn in the file that they were started with. */
  #run(name: string, lines: readonly string[], ...more: readonly string[]): void {
    const folder = join(this.#household.directory, name);
    mkdirSync(folder);
    const file = join(folder, 'redis.conf');
    writeFileSync(file, [...lines, `dir ${folder}`, ''].join('\n'));
    this.#household.start({ name, program: runnable('redis-server'), args: [file, ...more] });
  }

  #serverLines(port: number, primary: number): readonly string[] {
    const { copies } = this.#settings;
    return [
      `port ${port}`,
      'bind 127.0.0.1',
      'appendonly yes',
      'appendfsync always',
      ...(port === primary ? [] : [`replicaof 127.0.0.1 ${primary}`]),
      ...(copies > 0 ? [`min-replicas-to-write ${copies}`, 'repl-diskless-sync-delay 0'] : []),
    ];
  }

  #sentinelLines(port: number, primary: number): readonly string[] {
    const { downAfterMs, failoverTimeoutMs } = this.#settings;
    return [
      `port ${port}`,
      'bind 127.0.0.1',
      `sentinel monitor ${GROUP} 127.0.0.1 ${primary} ${QUORUM}`,
      `sentinel down-after-milliseconds ${GROUP} ${downAfterMs}`,
      `sentinel failover-timeout ${GROUP} ${failoverTimeoutMs}`,
    ];
  }
}
