/**
 * PostgreSQL with Patroni: three members, and three of etcd to decide by, one on each member's machine. PostgreSQL itself is as
 * it comes: fsync on, synchronous_commit on. A former primary rejoins with pg_rewind.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { freePort } from 'baton/server';
import { folderOf, runnable } from '../support/programs.ts';
import { postgresIdentity } from '../support/servers.ts';
import { EtcdMembers, TIGHT } from './etcd-members.ts';
import { Household, lackOfHousehold } from './household.ts';
import type { Peer, PeerClient, PeerKind } from './peer.ts';
import { PostgresPool } from './postgres-pool.ts';
import { until } from './waiting.ts';

const PROGRAMS = ['postgres', 'etcd', 'patroni'] as const;
const IDENTITY = postgresIdentity();
const MEMBERS = ['member-1', 'member-2', 'member-3'] as const;
const ASK_MS = 2000;
const SWITCHOVER_MS = 60_000;
const WHOLE_MS = 180_000;

const AS_SHIPPED = { ttl: 30, loop_wait: 10, retry_timeout: 10 };
const TIGHTEST = { ttl: 10, loop_wait: 1, retry_timeout: 3, synchronous_mode: true, failsafe_mode: true };

export const patroni: PeerKind = {
  name: 'patroni',
  settings: {
    default:
      'PostgreSQL primary, two standbys, Patroni over three members of etcd; as shipped: ttl 30, loop_wait 10, retry_timeout 10, asynchronous replication',
    tight: `the same with ttl ${TIGHTEST.ttl}, loop_wait ${TIGHTEST.loop_wait}, retry_timeout ${TIGHTEST.retry_timeout} (newer releases want a ttl of 20 at least), synchronous_mode, failsafe_mode, and etcd's tight settings`,
  },
  lacks: () => lackOfHousehold(PROGRAMS, IDENTITY),
  create: (settings) => new Patroni(settings === 'tight'),
};

interface Box {
  readonly name: string;
  readonly etcd: string;
  readonly rest: number;
  readonly port: number;
}

interface ClusterView {
  readonly members: readonly {
    readonly name: string;
    readonly role: string;
    readonly state: string;
    readonly lag?: number | string;
    readonly timeline?: number;
  }[];
}

class Patroni implements Peer {
  readonly #household = new Household('patroni', IDENTITY);
  readonly #etcd = new EtcdMembers(
    this.#household,
    MEMBERS.map((name) => etcdOf(name)),
  );
  readonly #isTight: boolean;
  readonly #boxes: Box[] = [];

  constructor(isTight: boolean) {
    this.#isTight = isTight;
  }

  async start(): Promise<void> {
    await this.#etcd.start(this.#isTight ? TIGHT : undefined);
    await until('starting etcd', WHOLE_MS, () => this.#etcd.isWhole());
    for (const name of MEMBERS) {
      this.#boxes.push({ name, etcd: etcdOf(name), rest: await freePort(), port: await freePort() });
    }
    const [manager, server] = [runnable('patroni'), runnable('postgres')];
    const program = { ...manager, env: { ...server.env, ...manager.env } };
    for (const box of this.#boxes) {
      const file = join(this.#household.directory, `${box.name}.json`);
      writeFileSync(file, JSON.stringify(this.#configuration(box), undefined, 2));
      const pidFile = join(this.#household.directory, box.name, 'postmaster.pid');
      this.#household.start({ name: box.name, program, args: [file], pidFile });
    }
  }

  async whole(): Promise<void> {
    await until('waiting for all members of PostgreSQL', WHOLE_MS, async () => {
      if (!(await this.#etcd.isWhole())) return false;
      const { members } = (await this.#view())!;
      const isThere = members.every(({ state }) => state === 'running' || state === 'streaming');
      const roles = new Set(members.map(({ role }) => role));
      const isInPlace = roles.has('leader') && (!this.#isTight || roles.has('sync_standby'));
      return members.length === MEMBERS.length && isThere && isInPlace && (await this.#isReplicating());
    });
  }

  async client(): Promise<PeerClient> {
    const pool = new PostgresPool(this.#boxes.map(({ port }) => port));
    await pool.prepare();
    return pool;
  }

  async leader(): Promise<string | undefined> {
    return (await this.#view())?.members.find(({ role }) => role === 'leader')?.name;
  }

  async kill(member: string): Promise<void> {
    await this.#household.kill([member, etcdOf(member)]);
  }

  async switchover(): Promise<void> {
    const { name, rest } = await this.#leadingBox();
    const url = `http://127.0.0.1:${rest}/switchover`;
    const signal = AbortSignal.timeout(SWITCHOVER_MS);
    const answer = await fetch(url, { method: 'POST', body: JSON.stringify({ leader: name }), signal });
    if (!answer.ok) throw new Error(`Patroni refused the switchover: ${await answer.text()}`);
  }

  async blind(): Promise<void> {
    const { etcd: kept } = await this.#leadingBox();
    await this.#household.kill(this.#boxes.map(({ etcd }) => etcd).filter((etcd) => etcd !== kept));
  }

  heal(except = ''): Promise<void> {
    this.#household.startMissing([except, etcdOf(except)]);
    return Promise.resolve();
  }

  stop(): Promise<void> {
    return this.#household.stop();
  }

  async #leadingBox(): Promise<Box> {
    const leader = await this.leader();
    const box = this.#boxes.find(({ name }) => name === leader);
    if (box === undefined) throw new Error('Patroni names no leader');
    return box;
  }

  /** What the first Patroni that answers has to say. */
  async #view(): Promise<ClusterView | undefined> {
    for (const { rest } of this.#boxes) {
      const signal = AbortSignal.timeout(ASK_MS);
      const answer = await fetch(`http://127.0.0.1:${rest}/cluster`, { signal }).catch(() => undefined);
      if (answer?.ok === true) return (await answer.json()) as ClusterView;
    }
    return undefined;
  }

  async #isReplicating(): Promise<boolean> {
    const { port } = await this.#leadingBox();
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres', database: 'postgres' });
    client.on('error', () => {});
    try {
      await client.connect();
      const sql = "select 1 from pg_stat_replication where state = 'streaming' and sent_lsn = flush_lsn";
      return (await client.query(sql)).rows.length === MEMBERS.length - 1;
    } finally {
      await client.end().catch(() => {});
    }
  }

  #configuration({ name, rest, port }: Box): object {
    const { directory } = this.#household;
    const hba = [
      'local all all trust',
      'host all all 127.0.0.1/32 trust',
      'host replication all 127.0.0.1/32 trust',
    ];
    const restApi = `127.0.0.1:${rest}`;
    return {
      scope: 'peers',
      name,
      restapi: { listen: restApi, connect_address: restApi },
      etcd3: { hosts: [...this.#etcd.addresses] },
      bootstrap: {
        dcs: { ...(this.#isTight ? TIGHTEST : AS_SHIPPED), postgresql: { use_pg_rewind: true } },
        initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, { auth: 'trust' }],
      },
      postgresql: {
        listen: `127.0.0.1:${port}`,
        connect_address: `127.0.0.1:${port}`,
        data_dir: join(directory, name),
        bin_dir: folderOf(runnable('postgres').path),
        pgpass: join(directory, `${name}.pgpass`),
        authentication: { superuser: { username: 'postgres' }, replication: { username: 'replicator' } },
        parameters: { unix_socket_directories: directory },
        pg_hba: hba,
        remove_data_directory_on_rewind_failure: true,
        remove_data_directory_on_diverged_timelines: true,
      },
    };
  }
}

function etcdOf(member: string): string {
  return `etcd-of-${member}`;
}
