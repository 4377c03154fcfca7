/**
 * One partition-set in virtual time: its agents in their regions, its register on the acceptors, the links between all of
 * them, and what clients would have seen. Partition-sets do not touch each other, so a fleet is simulated one by one: the
 * result does not depend on how many are simulated together, or where. Where they share processors, each is told what the crowd
 * of all makes it wait: whatever arrives at a process, and every timer of it, is dealt with that much later.
 */
import { AcceptorStateMachine } from '../../caspaxos/index.ts';
import type { Configuration, FailoverState, SchedulingPolicy } from '../../failover/index.ts';
import { EventQueue, Random } from '../core/index.ts';
import { type Crowd, noteWork, waitAt } from './crowd.ts';
import { type Availability, Monitor } from './monitor.ts';
import { Replication } from './replication.ts';
import { type Message, type Reply, SimAgent } from './sim-agent.ts';
import type { OutageEvent, Topology } from './topology.ts';

export interface PartitionSetOptions {
  readonly name: string;
  readonly topology: Topology;
  readonly configuration: Configuration;
  readonly policy: SchedulingPolicy;
  readonly hints: boolean;
  /** What happens to the regions, the acceptors and the links, in order of time. */
  readonly events: readonly OutageEvent[];
  readonly untilMs: number;
  readonly seed: number;
  /** The others that the same processes serve; nobody, unless told otherwise. */
  readonly crowd?: Crowd | undefined;
}

export interface PartitionSetResult {
  readonly availability: Availability;
  readonly doubleWriters: number;
  readonly lostWrites: number;
  readonly requests: number;
  /** The same, for each interval of the configuration. */
  readonly requestsBy: readonly number[];
  readonly events: number;
  readonly state: FailoverState | undefined;
}

const AT_ACCEPTOR = 1;
const AT_AGENT = 2;
const WAKE = 3;
const RUN = 4;
const OUTAGE = 5;
/** Added to the kind of an event that has waited for its process. */
const LATE = 8;
/** Of no process. */
const NOBODY = -1;

type Answer = readonly [Message, Reply];

/** No answer within this, and an acceptor counts as not answering. */
const REQUEST_TIMEOUT_MS = 1000;
const DRIVER_MS = 5;
/** How often replication is looked at while something is being waited for. */
const LOOK_MS = 1000;
const MAX_DRIFT = 0.0005;

export function simulatePartitionSet(options: PartitionSetOptions): PartitionSetResult {
  return new SimPartitionSet(options).run();
}

/** One that is simulated step by step. */
export interface RunningPartitionSet {
  /** Everything that happens before that time. */
  goOn(untilMs: number): void;
}

export function startPartitionSet(options: PartitionSetOptions): RunningPartitionSet {
  const partitionSet = new SimPartitionSet(options);
  partitionSet.start();
  return partitionSet;
}

class SimPartitionSet implements RunningPartitionSet {
  readonly #options: PartitionSetOptions;
  readonly #queue = new EventQueue();
  readonly #random: Random;
  readonly #acceptors: AcceptorStateMachine<FailoverState>[];
  readonly #isAcceptorUp: boolean[];
  readonly #agents: readonly SimAgent[];
  readonly #replication: Replication;
  readonly #monitor: Monitor;
  /** Cut links, as `from>to` of places. */
  readonly #cuts = new Set<string>();
  readonly #wakes: number[];
  readonly #heardLife: number[] = [];
  readonly #slow = new Map<number, number>();
  #requests = 0;
  readonly #requestsBy: number[] = [];

  constructor(options: PartitionSetOptions) {
    this.#options = options;
    this.#random = new Random(options.seed);
    const { topology, configuration } = options;
    const { regions, acceptors } = topology;
    this.#acceptors = acceptors.map((_, index) => new AcceptorStateMachine<FailoverState>(undefined, index));
    this.#isAcceptorUp = acceptors.map(() => true);
    this.#replication = new Replication(
      {
        regions: configuration.priorities,
        isStrong: configuration.consistency === 'Strong',
        writesPerSecond: 10,
        catchUpFactor: 20,
        delayMs: (from, to) => topology.typicalMs(regions[from]!, regions[to]!),
      },
      (from, to) => this.#cuts.size === 0 || this.#isLinked(`r${from}`, `r${to}`),
    );
    this.#monitor = new Monitor(regions.length);
    this.#replication.onService = (region, from, to) => this.#monitor.service(region, from, to);
    this.#replication.onAccepting = (region, from, to) => this.#monitor.accepting(region, from, to);
    this.#wakes = regions.map(() => Infinity);
    this.#agents = regions.map((_, index) => this.#newAgent(index));
  }

  start(): void {
    const { configuration, events } = this.#options;
    for (const agent of this.#agents) agent.start(this.#random.between(0, configuration.timings.intervalMs));
    for (const event of events) this.#queue.push(event.atMs, OUTAGE, 0, 0, event);
    this.#queue.push(LOOK_MS, RUN, NOBODY, 0, () => this.#look());
  }

  goOn(untilMs: number): void {
    while (this.#queue.nextTime < untilMs && this.#queue.pop()) this.#step();
  }

  run(): PartitionSetResult {
    const { untilMs } = this.#options;
    this.start();
    while (this.#queue.pop() && this.#queue.now < untilMs) this.#step();
    this.#replication.advance(untilMs);
    return {
      availability: this.#monitor.finish(),
      doubleWriters: this.#monitor.doubleWriters,
      lostWrites: this.#replication.lostWrites,
      requests: this.#requests,
      requestsBy: this.#requestsBy,
      events: this.#queue.inserted - this.#queue.size,
      state: this.#agents.find((agent) => agent.isUp)?.core.state,
    };
  }

  #step(): void {
    if (this.#options.crowd !== undefined && this.#hasToWait(this.#options.crowd)) return;
    const { first, second, object, other, now } = this.#queue;
    const kind = this.#queue.kind & ~LATE;
    if (kind === AT_ACCEPTOR) this.#atAcceptor(first, second, object as Message, other as number);
    else if (kind === AT_AGENT) this.#atAgent(first, second, object as Answer, other as number);
    else if (kind === WAKE) {
      // One that came late carries the time at which it was due.
      if (this.#wakes[first] === (object ?? now)) {
        this.#wakes[first] = Infinity;
        this.#agents[first]!.wake();
      }
    } else if (kind === RUN) (object as () => void)();
    else this.#happen(object as OutageEvent);
  }

  /** Whether the event has arrived at a process that is busy with others: then it comes again when its turn is. */
  #hasToWait(crowd: Crowd): boolean {
    const { kind, first, second, object, other, now } = this.#queue;
    if (kind >= LATE || kind === OUTAGE || first === NOBODY) return false;
    if (kind === WAKE && this.#wakes[first] !== now) return false;
    this.#noteWork(crowd);
    const process = kind === AT_ACCEPTOR ? this.#agents.length + second : first;
    const waitMs = waitAt(crowd, process, now);
    if (waitMs === 0) return false;
    this.#queue.push(now + waitMs, kind + LATE, first, second, kind === WAKE ? now : object, other);
    return true;
  }

  /** Of the event that has just arrived; a process that is dead has none. */
  #noteWork(crowd: Crowd): void {
    const { kind, first, second, object, other, now } = this.#queue;
    if (kind === AT_ACCEPTOR && this.#isAcceptorUp[second]) {
      noteWork(crowd, this.#agents.length + second, now, 1);
    } else if (kind === AT_AGENT && this.#agents[first]!.life === other) {
      const [, reply] = object as Answer;
      if (reply.type !== 'failed') noteWork(crowd, first, now, 0.5);
    }
  }

  #newAgent(index: number): SimAgent {
    const { topology, name, configuration, policy, hints } = this.#options;
    const random = new Random(this.#options.seed, index + 1);
    return new SimAgent(
      {
        index,
        region: configuration.priorities[index]!,
        partitionSet: name,
        configuration,
        policy,
        hints,
        acceptors: topology.acceptors.length,
        drift: random.between(-MAX_DRIFT, MAX_DRIFT),
        random,
        replication: this.#replication,
        driverMs: DRIVER_MS,
      },
      {
        now: () => this.#queue.now,
        toAcceptors: (message, life) => this.#toAcceptors(index, message, life),
        toPeers: (hint) => {
          if (!hints) return;
          for (let to = 0; to < topology.regions.length; to += 1) {
            if (to === index || !this.#isLinked(`r${index}`, `r${to}`)) continue;
            const ms = this.#delay(topology.regions[index]!, topology.regions[to]!);
            this.#after(ms, () => this.#agents[to]!.onHint(hint), to);
          }
        },
        wakeAt: (time) => this.#wakeAt(index, time),
        // At once is at once: its process is in the middle of it.
        after: (ms, run) => this.#after(ms, run, ms === 0 ? NOBODY : index),
        onEvent: (event) => {
          if (event.event === 'state') this.#monitor.phase(event.state, this.#queue.now);
        },
        onLease: (until) => this.#monitor.lease(index, this.#queue.now, until),
        onFenced: () => this.#monitor.did(index, 'fence', this.#queue.now),
        onAccepted: () => {
          this.#monitor.did(index, 'update', this.#queue.now);
          if (this.#heardLife[index] === this.#agents[index]!.life) return;
          this.#heardLife[index] = this.#agents[index]!.life;
          this.#monitor.returned(index, this.#queue.now);
        },
      },
    );
  }

  #wakeAt(index: number, time: number): void {
    const at = Math.max(time, this.#queue.now);
    if (at === Infinity || this.#wakes[index] === at) return;
    // A timer that was due already, and that its busy process has not come to, keeps its place.
    if (at === this.#queue.now && this.#wakes[index]! < at) return;
    this.#wakes[index] = at;
    this.#queue.push(at, WAKE, index, 0);
  }

  /** `region` is the one whose process it is for. */
  #after(ms: number, run: () => void, region: number = NOBODY): void {
    this.#queue.push(this.#queue.now + ms, RUN, region, 0, run);
  }

  #toAcceptors(agent: number, message: Message, life: number): void {
    const { topology, crowd } = this.#options;
    noteWork(crowd, agent, this.#queue.now, topology.acceptors.length / 2);
    this.#countRequests(topology.acceptors.length);
    for (let acceptor = 0; acceptor < topology.acceptors.length; acceptor += 1) {
      if (this.#isAcceptorUp[acceptor] && this.#isLinked(`r${agent}`, `a${acceptor}`)) {
        const ms = this.#delay(topology.regions[agent]!, topology.acceptors[acceptor]!);
        this.#queue.push(this.#queue.now + ms, AT_ACCEPTOR, agent, acceptor, message, life);
      } else {
        this.#noAnswer(agent, acceptor, message, life);
      }
    }
  }

  #countRequests(count: number): void {
    this.#requests += count;
    const interval = Math.floor(this.#queue.now / this.#options.configuration.timings.intervalMs);
    while (this.#requestsBy.length <= interval) this.#requestsBy.push(0);
    this.#requestsBy[interval]! += count;
  }

  #atAcceptor(agent: number, acceptor: number, message: Message, life: number): void {
    if (!this.#isAcceptorUp[acceptor]) return this.#noAnswer(agent, acceptor, message, life);
    const reply = answerOf(this.#acceptors[acceptor]!, message, acceptor);
    if (!this.#isLinked(`a${acceptor}`, `r${agent}`)) return this.#noAnswer(agent, acceptor, message, life);
    const { topology } = this.#options;
    const ms = this.#delay(topology.acceptors[acceptor]!, topology.regions[agent]!);
    this.#deliver(agent, acceptor, message, reply, life, ms);
  }

  #noAnswer(agent: number, acceptor: number, message: Message, life: number): void {
    this.#deliver(agent, acceptor, message, { type: 'failed' }, life, REQUEST_TIMEOUT_MS);
  }

  #deliver(agent: number, acceptor: number, message: Message, reply: Reply, life: number, ms: number): void {
    const answer: Answer = [message, reply];
    this.#queue.push(this.#queue.now + ms, AT_AGENT, agent, acceptor, answer, life);
  }

  #atAgent(agent: number, acceptor: number, [message, reply]: Answer, life: number): void {
    if (this.#agents[agent]!.life === life) this.#agents[agent]!.onReply(acceptor, message, reply);
  }

  /** `from` and `to` are places; a slow region slows what begins or ends there. */
  #delay(from: number, to: number): number {
    const ms = this.#options.topology.messageMs(from, to, this.#random);
    return this.#slow.size === 0 ? ms : ms * (this.#slow.get(from) ?? 1) * (this.#slow.get(to) ?? 1);
  }

  #isLinked(from: string, to: string): boolean {
    return this.#cuts.size === 0 || !this.#cuts.has(`${from}>${to}`);
  }

  /**
   * As a driver would: tells the agents how replication goes while somebody waits for it, or when a peer falls silent. Nobody
   * waits for a region that is down and out of the lease set: an outage of hours would be nothing but such looks.
   */
  #look(): void {
    const now = this.#queue.now;
    const waits = this.#agents.some(({ core, isUp }) => {
      const { state } = core;
      if (!isUp || state === undefined) return false;
      return state.phase !== 'Steady' || this.#isAnyoneOutside(state);
    });
    if (waits || this.#replication.hasSilentMember(now, LOOK_MS)) {
      for (let region = 0; region < this.#agents.length; region += 1) this.#tellStatus(region);
    }
    this.#after(LOOK_MS, () => this.#look());
  }

  #tellStatus(region: number): void {
    const waitMs = waitAt(this.#options.crowd, region, this.#queue.now);
    if (waitMs === 0) this.#agents[region]!.onStatus();
    else this.#after(waitMs, () => this.#agents[region]!.onStatus());
  }

  #isAnyoneOutside({ leaseSet }: FailoverState): boolean {
    const { priorities } = this.#options.configuration;
    return (
      leaseSet.length < priorities.length &&
      this.#agents.some(({ isUp }, index) => isUp && !leaseSet.includes(priorities[index]!))
    );
  }

  #happen(event: OutageEvent): void {
    this.#replication.advance(this.#queue.now);
    switch (event.what) {
      case 'region down':
        this.#agents[event.region]!.crash();
        break;
      case 'region up':
        if (!this.#agents[event.region]!.isUp)
          this.#agents[event.region]!.start(this.#random.between(0, event.withinMs));
        break;
      case 'acceptor down':
        this.#isAcceptorUp[event.acceptor] = false;
        break;
      case 'acceptor up':
        this.#isAcceptorUp[event.acceptor] = true;
        break;
      case 'cut':
        this.#cuts.add(`${event.from}>${event.to}`);
        break;
      case 'heal':
        this.#cuts.delete(`${event.from}>${event.to}`);
        break;
      case 'slow':
        this.#slow.set(this.#options.topology.regions[event.region]!, event.factor);
        break;
      default:
        event satisfies never;
    }
  }
}

function answerOf(role: AcceptorStateMachine<FailoverState>, message: Message, acceptor: number): Reply {
  if (message.type === '1a') return role.onPhase1a(message);
  if (message.type === '2a') return role.onPhase2a(message);
  const { accepted, value } = role.state;
  return { type: 'state', acceptor, accepted, value };
}
