/**
 * etcd: three members, each syncing every batch of its log, as it comes. The quota is raised so that a long run does not
 * fill it; nothing else is changed. The client talks to the leader only: spread over all
 * members, reads and (at 64 in flight) writes were about a third slower; at 1,024 writes differed by no more than noise.
 */
import { join } from 'node:path';
import { freePort } from 'baton/server';
import { lackOf, runnable } from '../support/programs.ts';
import { Servers } from '../support/servers.ts';
import type { System, SystemKind } from './system.ts';

const MEMBERS = ['a', 'b', 'c'] as const;
const QUOTA_BYTES = 8 * 2 ** 30;

export const etcd: SystemKind = {
  setting: 'three members, gRPC to the leader, linearizable reads',
  lacks: () => lackOf(['etcd']),
  create: () => new Etcd(),
};

interface Member {
  readonly name: string;
  readonly client: string;
  readonly peer: string;
}

class Etcd implements System {
  readonly name = 'etcd';
  readonly #servers = new Servers('etcd');
  #leader = '';

  async start(): Promise<void> {
    const program = runnable('etcd');
    const members: Member[] = [];
    for (const name of MEMBERS) {
      members.push({
        name,
        client: `http://127.0.0.1:${await freePort()}`,
        peer: `http://127.0.0.1:${await freePort()}`,
      });
    }
    const directory = this.#servers.directory();
    const log = join(directory, 'log');
    for (const member of members) this.#servers.start(program, flags(member, members, directory), log);
    await this.#servers.until('electing a leader', log, async () => {
      this.#leader = (await leaderOf(members)) ?? '';
      return this.#leader !== '';
    });
  }

  stop(): Promise<void> {
    return this.#servers.stop();
  }

  clientArgs(): readonly string[] {
    return [this.#leader];
  }
}

function flags(member: Member, members: readonly Member[], directory: string): readonly string[] {
  const cluster = members.map(({ name, peer }) => `${name}=${peer}`).join(',');
  return [
    `--name=${member.name}`,
    `--data-dir=${join(directory, member.name)}`,
    `--listen-client-urls=${member.client}`,
    `--advertise-client-urls=${member.client}`,
    `--listen-peer-urls=${member.peer}`,
    `--initial-advertise-peer-urls=${member.peer}`,
    `--initial-cluster=${cluster}`,
    `--quota-backend-bytes=${QUOTA_BYTES}`,
    '--logger=zap',
    '--log-level=warn',
  ];
}

/** The leader's address as `host:port` once all members agree on one, over the JSON gateway. */
async function leaderOf(members: readonly Member[]): Promise<string | undefined> {
  const statuses = await Promise.all(
    members.map(async ({ client }) => {
      const answer = await fetch(`${client}/v3/maintenance/status`, { method: 'POST', body: '{}' });
      return (await answer.json()) as { header: { member_id: string }; leader?: string };
    }),
  );
  const leader = statuses[0]?.leader;
  if (leader === undefined || statuses.some((status) => status.leader !== leader)) return undefined;
  const at = statuses.findIndex(({ header }) => header.member_id === leader);
  return members[at]?.client.replace('http://', '');
}
