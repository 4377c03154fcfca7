/** What a driver is put into by its conformance suite: three copies, and agents that do as each check says. */
import type { AgentView, Driver, PeerStatus, RegionName, Role } from 'baton/failover';
import { expect, vi } from 'vitest';

/** The regions of the partition-set that the suite is given. */
export const CONFORMANCE_REGIONS = ['west', 'east', 'north'] as const;

export interface LoggedWrite {
  readonly epoch: number;
  readonly value: string;
}

/** One partition-set with a copy in each of the regions. All are up and linked, nobody has a role, nothing is written. */
export interface PartitionSetUnderTest {
  /** Of the process that runs now. */
  driver(region: RegionName): Driver;
  /** Resolves when the write is acknowledged, rejects when it is not taken or when its outcome is not known. */
  write(region: RegionName, value: string): Promise<unknown>;
  /** The durable log, also of a copy that is down. */
  log(region: RegionName): readonly LoggedWrite[];
  /** The process ends without warning. Its driver may still be asked for its status. */
  crash(region: RegionName): Promise<void>;
  /** A new process on the same disk. */
  restart(region: RegionName): Promise<void>;
  /** Cuts, or heals, the link between two regions. */
  connect(a: RegionName, b: RegionName, isConnected: boolean): void;
  close?(): Promise<void>;
}

export interface Patience {
  /** For what must become so. */
  readonly patienceMs: number;
  /** For what must not happen. */
  readonly settleMs: number;
}

/** A write, and what has become of it. */
export interface Sent {
  outcome: 'waiting' | 'acknowledged' | 'refused';
}

interface PlayedAgent extends AgentView {
  isAllowed: boolean;
  changes: number;
}

/** The suite's side: agents that do as the check says. */
export class DriverScene {
  readonly set: PartitionSetUnderTest;
  readonly #patience: Patience;
  readonly #agents = new Map<RegionName, PlayedAgent>();

  constructor(set: PartitionSetUnderTest, patience: Patience) {
    this.set = set;
    this.#patience = patience;
  }

  /** What an agent does first. The result is the incarnation. */
  async begin(region: RegionName): Promise<number> {
    const driver = this.set.driver(region);
    const incarnation = await driver.incarnation();
    const agent: PlayedAgent = {
      isAllowed: true,
      changes: 0,
      mayWrite: () => agent.isAllowed,
      grant: () => 0,
      changed: () => {
        agent.changes += 1;
      },
    };
    this.#agents.set(region, agent);
    driver.attach?.(agent);
    return incarnation;
  }

  async beginAll(): Promise<void> {
    for (const region of CONFORMANCE_REGIONS) await this.begin(region);
  }

  /** The end of a process and the start of the next. */
  async restart(region: RegionName): Promise<number> {
    await this.set.crash(region);
    await this.set.restart(region);
    return this.begin(region);
  }

  agent(region: RegionName): PlayedAgent {
    return this.#agents.get(region)!;
  }

  assume(region: RegionName, role: Role): Promise<void> {
    return this.set.driver(region).assume(role);
  }

  async lead(
    region: RegionName,
    epoch: number,
    commitSet: readonly RegionName[],
    accepts = true,
  ): Promise<void> {
    await this.assume(region, {
      role: 'writer',
      serves: { level: 'Strong' },
      keeps: { level: 'Strong' },
      epoch,
      accepts,
      commitSet,
    });
  }

  async follow(region: RegionName, epoch: number, writer: RegionName): Promise<void> {
    await this.assume(region, { role: 'reader', serves: { level: 'Strong' }, epoch, writer });
  }

  async fence(region: RegionName, epoch: number): Promise<void> {
    await this.assume(region, { role: 'fenced', epoch });
  }

  /** All three agree: that one writes in that epoch, the others follow, commits wait for everybody. */
  async reign(writer: RegionName, epoch: number): Promise<void> {
    const readers = CONFORMANCE_REGIONS.filter((region) => region !== writer);
    for (const reader of readers) await this.follow(reader, epoch, writer);
    await this.lead(writer, epoch, CONFORMANCE_REGIONS);
  }

  /** West writes in epoch 1. */
  async steady(): Promise<void> {
    await this.beginAll();
    await this.reign('west', 1);
  }

  isolate(region: RegionName, isIsolated: boolean): void {
    for (const other of CONFORMANCE_REGIONS)
      if (other !== region) this.set.connect(region, other, !isIsolated);
  }

  send(region: RegionName, value: string): Sent {
    const sent: Sent = { outcome: 'waiting' };
    const end = (outcome: Sent['outcome']) => () => {
      sent.outcome = outcome;
    };
    void this.set.write(region, value).then(end('acknowledged'), end('refused'));
    return sent;
  }

  async acknowledged(sent: Sent): Promise<void> {
    await this.until(() => expect(sent.outcome).toBe('acknowledged'));
  }

  /** A write that is not taken: refused, and in no log. */
  async notTaken(region: RegionName, value: string): Promise<void> {
    const sent = this.send(region, value);
    await this.until(() => expect(sent.outcome).toBe('refused'));
    for (const copy of CONFORMANCE_REGIONS) expect(this.values(copy)).not.toContain(value);
  }

  values(region: RegionName): string[] {
    return this.set.log(region).map(({ value }) => value);
  }

  peer(region: RegionName, other: RegionName): PeerStatus {
    return this.set.driver(region).status().peers[other]!;
  }

  until(check: () => void): Promise<void> {
    return vi.waitFor(check, { timeout: this.#patience.patienceMs, interval: 5 });
  }

  /** Time enough for what must not happen. */
  settle(): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, this.#patience.settleMs));
  }
}
