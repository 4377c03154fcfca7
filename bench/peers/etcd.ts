/** etcd: three members. Those who hold the data are those who decide: losing a majority of them stops the writes. */
import { EtcdMembers, TIGHT } from './etcd-members.ts';
import { Household, lackOfHousehold } from './household.ts';
import type { Peer, PeerClient, PeerKind } from './peer.ts';
import { until } from './waiting.ts';

const NAMES = ['etcd-1', 'etcd-2', 'etcd-3'] as const;
const WHOLE_MS = 60_000;

export const etcd: PeerKind = {
  name: 'etcd',
  settings: {
    default: 'three members; as it comes: heartbeat 100 ms, election timeout 1000 ms',
    tight: `three members; heartbeat ${TIGHT.heartbeat} ms, election timeout ${TIGHT.election} ms (ten heartbeats, as its manual advises; for members near each other)`,
  },
  lacks: () => lackOfHousehold(['etcd']),
  create: (settings) => new Etcd(settings === 'tight'),
};

class Etcd implements Peer {
  readonly #household = new Household('etcd');
  readonly #members = new EtcdMembers(this.#household, NAMES);
  readonly #isTight: boolean;

  constructor(isTight: boolean) {
    this.#isTight = isTight;
  }

  start(): Promise<void> {
    return this.#members.start(this.#isTight ? TIGHT : undefined);
  }

  whole(): Promise<void> {
    return until('waiting for all members of etcd', WHOLE_MS, () => this.#members.isWhole());
  }

  client(): Promise<PeerClient> {
    return this.#members.openClient();
  }

  leader(): Promise<string | undefined> {
    return this.#members.leader();
  }

  async kill(member: string): Promise<void> {
    await this.#household.kill([member]);
  }

  switchover(): Promise<void> {
    return this.#members.moveLeader();
  }

  /** The leader lives. */
  async blind(): Promise<void> {
    const leader = await this.leader();
    await this.#household.kill(NAMES.filter((name) => name !== leader));
  }

  heal(except = ''): Promise<void> {
    this.#household.startMissing([except]);
    return Promise.resolve();
  }

  stop(): Promise<void> {
    return this.#household.stop();
  }
}
