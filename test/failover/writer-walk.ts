/**
 * The shipped agent of a write region, walked through every order in which its register, its driver and its peers can answer. The
 * register is CASPaxos as seen from one change: a try is a value computed on another one, and it is chosen as long as that other one
 * is still the register's. So a try whose answer was given up may land late, while a later one is on its way; and of several
 * tries that were made on the same value any one may land, but no second one. The driver carries out its orders one after
 * the other, and in its own time.
 */
import { type FailoverState, type PeerStatus, type RegionName, type Role, transition } from 'baton/failover';
import { AgentScene, configurationOf, Register } from './agent-scene.ts';

export const MOVES = [
  'begin',
  'try',
  'land',
  'answer',
  'give up',
  'late',
  'assume',
  'assume all',
  'read',
  'old read',
  'b well',
  'b behind',
  'b silent',
  'c well',
  'c behind',
  'c silent',
  'b updates',
  'c updates',
  'switch over to b',
] as const;
export type Move = (typeof MOVES)[number];

/** A value that was put to the acceptors, and the one that it was computed on. */
interface Try {
  readonly on: FailoverState;
  readonly next: FailoverState;
}

interface Flight {
  readonly tries: Try[];
  /** The one that is in the register. */
  landed: Try | undefined;
}

const SILENT_MS = 20_000;
const PEERS: Readonly<Record<string, PeerStatus>> = {
  well: { acknowledgedMsAgo: 0, lsn: 10, behindMs: 0 },
  behind: { acknowledgedMsAgo: 0, lsn: 3, behindMs: 60_000 },
  silent: { acknowledgedMsAgo: SILENT_MS, lsn: 3, behindMs: 60_000 },
};

export class WriterWalk {
  readonly #register = new Register(configurationOf());
  readonly #agents: Readonly<Record<RegionName, AgentScene>>;
  /** Given up: each may still land. */
  readonly #ghosts: Try[] = [];
  #flight: Flight | undefined;
  #older: FailoverState;
  #now = 0;
  /** What the writer's driver is at this moment, and how many of its orders it has carried out. */
  #is: Role | undefined;
  #carriedOut = 0;
  /** How often something happened that the walks are about. */
  readonly seen = { additions: 0, lateLandings: 0, slowAdditions: 0, finals: 0 };

  constructor() {
    const regions = ['a', 'b', 'c'];
    this.#agents = Object.fromEntries(regions.map((name) => [name, new AgentScene(name, this.#register)]));
    for (const name of regions) this.#agents[name]!.begin(0);
    for (const name of ['b', 'c']) this.#agents[name]!.core.learn(this.#register.state, 0);
    this.#older = this.#register.state;
    while (this.#assume());
  }

  get state(): FailoverState {
    return this.#register.state;
  }

  /** Of the driver at this moment. */
  get commitSet(): readonly RegionName[] {
    return this.#is?.role === 'writer' ? this.#is.commitSet : [];
  }

  get isOver(): boolean {
    return this.state.gcn > 1;
  }

  /** What must hold after every move; the first thing that does not. */
  get problem(): string | undefined {
    const role = this.#is;
    if (role?.role !== 'writer') return undefined;
    if ((this.state.final !== undefined || isSwitched(this.state)) && role.accepts)
      return 'it accepts writes after its final report (rule 18)';
    if (this.isOver) return undefined;
    const missing = this.state.leaseSet.filter((name) => !role.commitSet.includes(name));
    if (missing.length > 0)
      return `commits do not wait for ${missing.join()}, of the lease set (rules 14 and 16)`;
    return undefined;
  }

  make(move: Move): void {
    const [peer, how] = move.split(' ') as [string, string];
    if (PEERS[how] !== undefined) this.#hear(peer, PEERS[how]);
    else if (how === 'updates') this.#updateOf(peer);
    else this.#do(move);
  }

  #do(move: Move): void {
    const { core } = this.#writer;
    switch (move) {
      case 'begin':
        return this.#begin();
      case 'try':
        return this.#try();
      case 'land':
        return void this.#land(this.#flight?.tries.at(-1));
      case 'answer':
        return this.#answer();
      case 'give up':
        return this.#giveUp();
      case 'late':
        return this.#landLate();
      case 'assume':
        return void this.#assume();
      case 'assume all':
        while (this.#assume());
        return;
      case 'read':
        return core.learn(this.state, this.#now);
      case 'old read':
        core.learn(this.#older, this.#now);
        this.#older = this.state;
        return;
      default:
        return this.#wish();
    }
  }

  get #writer(): AgentScene {
    return this.#agents['a']!;
  }

  #status(): void {
    const quiesced = this.#is?.role !== 'writer' || !this.#is.accepts;
    this.#writer.status = { ...this.#writer.status, quiesced };
  }

  #begin(): void {
    const { core } = this.#writer;
    const before = this.#writer.updates;
    for (let again = 0; again < 4 && this.#flight === undefined; again += 1) {
      // It may read, look at its duties, find its lease over.
      this.#now = Math.max(this.#now, Math.min(core.wakeAt, this.#now + 31_000));
      core.wake(this.#now);
      if (this.#writer.updates > before) this.#flight = { tries: [], landed: undefined };
    }
  }

  #try(): void {
    const flight = this.#flight;
    if (flight === undefined || flight.landed !== undefined) return;
    this.#status();
    const on = this.state;
    const verdict = this.#writer.core.edit(on, this.#writer.status, this.#now, '2026-11-15T00:00:00Z');
    if (verdict.verdict === 'accepted') flight.tries.push({ on, next: verdict.state });
  }

  #land(one: Try | undefined): boolean {
    if (one === undefined || one.on !== this.state) return false;
    this.#register.state = one.next;
    const added = one.next.leaseSet.filter((name) => !one.on.leaseSet.includes(name)).length;
    this.seen.additions += added;
    if (this.#carriedOut < this.#writer.roles.length) this.seen.slowAdditions += added;
    // The target has everything already: it switches in the same update.
    if (isSwitched(one.next)) this.seen.finals += 1;
    if (this.#flight?.tries.includes(one) === true) this.#flight.landed = one;
    return true;
  }

  #answer(): void {
    const landed = this.#flight?.landed;
    if (landed === undefined) return;
    this.#ghosts.push(...this.#flight!.tries.filter((one) => one !== landed));
    this.#flight = undefined;
    this.#writer.core.finish(landed.next, 'accepted', this.#now, { attemptMs: 0, phase2Ms: 1 });
  }

  #giveUp(): void {
    if (this.#flight === undefined) return;
    this.#ghosts.push(...this.#flight.tries.filter((one) => one !== this.#flight!.landed));
    this.#flight = undefined;
    this.#writer.core.fail(this.#now);
  }

  #landLate(): void {
    const one = [...this.#ghosts, ...(this.#flight?.tries ?? [])].find(({ on }) => on === this.state);
    if (this.#land(one) && one!.next.leaseSet.length > one!.on.leaseSet.length) this.seen.lateLandings += 1;
  }

  /** The driver carries out its next order. */
  #assume(): boolean {
    const role = this.#writer.roles[this.#carriedOut];
    if (role === undefined) return false;
    this.#carriedOut += 1;
    this.#is = role;
    this.#status();
    this.#writer.core.assumed(role, this.#writer.status, this.#now);
    return true;
  }

  #hear(peer: RegionName, how: PeerStatus): void {
    const { status, core } = this.#writer;
    this.#writer.status = { ...status, peers: { ...status.peers, [peer]: how } };
    this.#status();
    core.onStatus(this.#writer.status, this.#now);
  }

  #updateOf(name: RegionName): void {
    const agent = this.#agents[name]!;
    agent.core.learn(this.state, this.#now);
    agent.assume(this.#now);
    // A suspicion is not what these walks are about: it has waited for nothing yet.
    agent.core.suspended(this.#now);
    const before = agent.updates;
    agent.core.wake(this.#now);
    if (agent.updates > before) agent.answer(this.#now);
    agent.assume(this.#now);
  }

  #wish(): void {
    const intent = { kind: 'switchover', target: 'b' } as const;
    const at = '2026-11-15T00:00:00Z';
    const wished = transition(this.state, {
      type: 'intent',
      id: `wish at ${this.#now}`,
      who: 'ops',
      at,
      intent,
    });
    if (wished.verdict === 'accepted') this.#register.state = wished.state;
  }
}

function isSwitched({ raise }: FailoverState): boolean {
  return raise.cause === 'switch';
}

/** A writer in the middle of its life, for schedules that are written out. */
export function walked(...moves: readonly Move[]): WriterWalk {
  const walk = new WriterWalk();
  for (const move of moves) walk.make(move);
  return walk;
}
