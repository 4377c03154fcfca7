/**
 * Three members of etcd, for etcd itself and as what Patroni decides by. Every batch of the log is synced, as etcd comes.
 */
import { join } from 'node:path';
import { freePort } from 'baton/server';
import { runnable } from '../support/programs.ts';
import { EtcdClient } from './etcd-client.ts';
import type { Household } from './household.ts';

/** In milliseconds. Without it: as etcd comes, 100 and 1000. */
export interface EtcdTimings {
  readonly heartbeat: number;
  readonly election: number;
}

/**
 * etcd's manual: a heartbeat of about the round trip between members, an election timeout of ten heartbeats. On one machine
 * a round trip is far below a millisecond; shorter ones than these elect for no reason when two processors are busy.
 */
export const TIGHT: EtcdTimings = { heartbeat: 20, election: 200 };

interface Member {
  readonly name: string;
  readonly client: string;
  readonly peer: string;
}

interface Status {
  readonly header: { readonly member_id: string };
  readonly leader?: string;
}

const STATUS_MS = 1000;

export class EtcdMembers {
  readonly #household: Household;
  readonly #names: readonly string[];
  readonly #members: Member[] = [];

  constructor(household: Household, names: readonly string[]) {
    this.#household = household;
    this.#names = names;
  }

  /** As `host:port`, in the order of the names. */
  get addresses(): readonly string[] {
    return this.#members.map(({ client }) => client.replace('http://', ''));
  }

  async start(timings?: EtcdTimings): Promise<void> {
    for (const name of this.#names) {
      const [client, peer] = [await freePort(), await freePort()];
      this.#members.push({ name, client: `http://127.0.0.1:${client}`, peer: `http://127.0.0.1:${peer}` });
    }
    for (const member of this.#members) {
      const args = this.#flags(member, timings);
      this.#household.start({ name: member.name, program: runnable('etcd'), args });
    }
  }

  /** All members answer and agree on who leads. */
  async isWhole(): Promise<boolean> {
    const statuses = await this.#statuses();
    const [first] = statuses;
    return (
      first?.leader !== undefined &&
      statuses.every((status) => status !== undefined && status.leader === first.leader)
    );
  }

  /** By name; nobody while those who answer do not know one who answers. */
  async leader(): Promise<string | undefined> {
    const statuses = await this.#statuses();
    const at = statuses.findIndex(
      (status) => status !== undefined && status.leader === status.header.member_id,
    );
    return this.#members[at]?.name;
  }

  async moveLeader(): Promise<void> {
    const statuses = await this.#statuses();
    const from = statuses.findIndex(
      (status) => status !== undefined && status.leader === status.header.member_id,
    );
    const to = statuses.find((status, at) => status !== undefined && at !== from);
    if (from === -1 || to === undefined) throw new Error('etcd has no leader, or no other member');
    const body = JSON.stringify({ targetID: to.header.member_id });
    const url = `${this.#members[from]!.client}/v3/maintenance/transfer-leadership`;
    const answer = await fetch(url, { method: 'POST', body });
    if (!answer.ok) throw new Error(`etcd refused to move its leader: ${await answer.text()}`);
  }

  async openClient(): Promise<EtcdClient> {
    const leader = await this.leader();
    const at = this.#members.findIndex(({ name }) => name === leader);
    return new EtcdClient(this.addresses, Math.max(0, at));
  }

  #statuses(): Promise<readonly (Status | undefined)[]> {
    const asked = this.#members.map(async ({ client }) => {
      const signal = AbortSignal.timeout(STATUS_MS);
      const answer = await fetch(`${client}/v3/maintenance/status`, { method: 'POST', body: '{}', signal });
      return (await answer.json()) as Status;
    });
    return Promise.all(asked.map((one) => one.catch(() => undefined)));
  }

  #flags({ name, client, peer }: Member, timings: EtcdTimings | undefined): readonly string[] {
    return [
      `--name=${name}`,
      `--data-dir=${join(this.#household.directory, name)}`,
      `--listen-client-urls=${client}`,
      `--advertise-client-urls=${client}`,
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=${this.#members.map((one) => `${one.name}=${one.peer}`).join(',')}`,
      '--logger=zap',
      '--log-level=warn',
      ...(timings
        ? [`--heartbeat-interval=${timings.heartbeat}`, `--election-timeout=${timings.election}`]
        : []),
    ];
  }
}
