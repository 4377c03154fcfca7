/**
 * A cooperative fleet: the regions of one partition-set around one register, on a virtual clock. Each does what an agent
 * is to do: fence, then report; beat once an interval; poll outside `Steady`; compute a report anew when it was stale;
 * measure its waits itself. Time, death and cut lines come from the test. Updates are instant and never conflict: who
 * loses a race is the simulator's matter; what the machine makes of the reports is what is looked at here.
 */
import {
  actionsFor,
  certainlyOver,
  type Configuration,
  type FailoverState,
  type IntentBody,
  type IntentReport,
  machineOf,
  MACHINE_VERSION,
  needsLeaseSet,
  newState,
  sameProgress,
  statusOf,
} from 'baton/failover';
import { FleetNode, type Surroundings } from './fleet-node.ts';
import { changesOf } from './print.ts';

/** Copying all data to a new region takes so long here. */
const BUILD_MS = 20_000;

export class Fleet {
  now = 0;
  state: FailoverState;
  /** New writes on each tick in which writes are accepted. */
  writes = 1;
  readonly nodes = new Map<string, FleetNode>();
  readonly #start: number;
  readonly #tickMs: number;
  #events: string[] = [];
  #writing: string | undefined;
  #intents = 0;

  constructor(state: FailoverState, start = '2026-03-01T00:00:00.000Z') {
    this.state = state;
    this.#start = Date.parse(start);
    const { intervalMs } = state.configuration.timings;
    this.#tickMs = Math.max(50, Math.floor(intervalMs / 60));
    for (const name of Object.keys(state.regions)) this.#join(name);
  }

  static of(configuration: Configuration, start?: string): Fleet {
    return new Fleet(newState('orders-7', configuration), start);
  }

  /**
   * Nodes for a state that was reached without a fleet: new processes, with the logs that they last told of. Enough of
   * them have kept their data: those of the lease set.
   */
  static around(state: FailoverState): Fleet {
    const fleet = new Fleet(state);
    for (const [name, region] of Object.entries(state.regions)) {
      const node = fleet.node(name);
      node.incarnation = region.incarnation + 1;
      node.progress = region.report?.progress ??
        state.final ?? { epoch: state.raise.gcn, lsn: state.raise.lsn };
      node.buildMs = region.building === true && !state.leaseSet.includes(name) ? BUILD_MS : 0;
    }
    return fleet;
  }

  node(name: string): FleetNode {
    const node = this.nodes.get(name);
    if (node === undefined) throw new Error(`there is no region ${name}`);
    return node;
  }

  /** Where writes are accepted and can commit now. */
  get writing(): string | undefined {
    const node = this.#accepting();
    return node === undefined || !this.#canCommit(node) ? undefined : node.name;
  }

  /** The region that holds a writer lease and has nothing to wait for; at Strong, its writes may still wait for others. */
  #accepting(): FleetNode | undefined {
    const { writer, gcn } = this.state;
    const node = writer === null ? undefined : this.nodes.get(writer);
    if (node === undefined || !node.alive || node.known?.gcn !== gcn) return undefined;
    const [action] = actionsFor(node.known, node.name);
    if (action?.do !== 'accept writes' || !node.canCommit) return undefined;
    if (this.now >= node.leaseFrom + this.state.leaseMs) return undefined;
    const { waitFor } = action;
    const mustWait =
      waitFor !== undefined &&
      node.knownFor(this.now, waitFor.gcn, waitFor.writer, waitFor.beat) < certainlyOver(this.state.leaseMs);
    return mustWait ? undefined : node;
  }

  /** Time passes. */
  run(ms: number): void {
    const end = this.now + ms;
    while (this.now < end) {
      this.now = Math.min(end, this.now + this.#tickMs);
      this.#replicate();
      for (const node of this.nodes.values()) if (this.#isDue(node)) this.#update(node);
      this.#noteWriting();
    }
  }

  kill(name: string): void {
    this.node(name).alive = false;
    this.#noteWriting();
  }

  start(name: string): void {
    this.node(name).start(this.now);
  }

  /** Rule 22: the mark; and once more under the new GCN, so that nobody need wait for this process. */
  stop(name: string): void {
    const node = this.node(name);
    const { gcn } = this.state;
    this.#update(node, true);
    if (this.state.gcn !== gcn) this.#update(node, true);
    this.kill(name);
  }

  post(body: IntentBody, changes: Partial<IntentReport> = {}): void {
    this.#intents += 1;
    const at = this.#at();
    const report: IntentReport = {
      type: 'intent',
      id: `i${this.#intents}`,
      who: 'ops',
      at,
      intent: body,
      ...changes,
    };
    const verdict = machineOf(MACHINE_VERSION)(this.state, report);
    if (verdict.verdict === 'refused') {
      const { code, field, message } = verdict.refusal;
      this.#note('ops', `refused (${code}, ${field}): ${message}`);
    } else {
      this.#accept('ops', verdict.state);
    }
  }

  /** What happened since the last time that somebody asked. */
  events(): readonly string[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  #join(name: string): void {
    const { intervalMs } = this.state.configuration.timings;
    const isNew = this.state.regions[name]?.building === true;
    const dueAt = this.now + (this.nodes.size * intervalMs) / 4;
    this.nodes.set(name, new FleetNode(name, dueAt, isNew ? BUILD_MS : 0));
  }

  #around(node: FleetNode): Surroundings {
    const linked = [...this.nodes.values()].filter((other) => this.#areLinked(node, other));
    return {
      now: this.now,
      at: this.#at(),
      state: node.known ?? this.state,
      linked: linked.map(({ name }) => name),
    };
  }

  #areLinked(a: FleetNode, b: FleetNode): boolean {
    return a !== b && a.alive && b.alive && !a.cuts.has(b.name) && !b.cuts.has(a.name);
  }

  #replicate(): void {
    const { writer } = this.state;
    const from = writer === null ? undefined : this.nodes.get(writer);
    if (from === undefined || !from.alive || from.known?.gcn !== this.state.gcn) return;
    if (this.#accepting() !== undefined && this.writes > 0) {
      from.progress = { epoch: this.state.gcn, lsn: from.progress.lsn + this.writes };
    }
    for (const node of this.nodes.values()) {
      const isFollowing = statusOf(this.state, node.name) === 'ReadOnlyReplicationAllowed';
      if (!this.#areLinked(from, node) || !isFollowing) continue;
      if (node.buildMs > 0) node.buildMs -= this.#tickMs;
      if (node.buildMs > 0) continue;
      node.progress = from.progress;
      from.acknowledgedBy(node.name, this.now);
    }
  }

  #isDue(node: FleetNode): boolean {
    if (!node.alive || node.isCutOff || this.state.regions[node.name] === undefined) return false;
    if (this.now >= node.dueAt) return true;
    const { phase, writer, regions, configuration } = this.state;
    const around = { ...this.#around(node), state: this.state };
    // A hint: the GCN was raised, or it was made the write region, or it is to quiesce.
    if (regions[node.name]!.report === undefined) return true;
    if (node.name === writer && node.known?.step !== this.state.step) return true;
    if (this.#isAwaited(node)) return true;
    if (phase !== 'Steady' && this.now - node.lastUpdate >= Math.min(1000, configuration.timings.settleMs))
      return true;
    if (this.state.paused !== true && node.isSilenceOver(around)) return true;
    return node.name === writer && node.known?.gcn === this.state.gcn && node.hasNews(around);
  }

  /** The target of a graceful failover has something to say: that it listens, and then that it has the whole log. */
  #isAwaited({ name, progress }: FleetNode): boolean {
    const { target, quiesce, final, regions } = this.state;
    if (target !== name) return false;
    const said = regions[name]!.report!.progress;
    return (
      quiesce !== true || (final !== undefined && sameProgress(progress, final) && !sameProgress(said, final))
    );
  }

  #update(node: FleetNode, isStopping = false): void {
    const scheduled = this.now >= node.dueAt;
    if (scheduled) node.dueAt = this.now + this.state.configuration.timings.intervalMs;
    node.lastUpdate = this.now;
    const machine = machineOf(node.version);
    // A report made under what the region last knew; if that is over, it fences itself and makes another (rules 2 and 7).
    const first = machine(this.state, node.reportOf(this.#around(node), scheduled, isStopping));
    node.known = this.state;
    node.learn(this.state, this.now);
    const verdict =
      first.verdict === 'stale'
        ? machine(this.state, node.reportOf(this.#around(node), scheduled, isStopping))
        : first;
    if (verdict.verdict !== 'accepted') throw new Error(`${node.name}: ${JSON.stringify(verdict)}`);
    const beat = this.state.regions[node.name]!.beat;
    this.#accept(node.name, verdict.state);
    node.known = verdict.state;
    const isRenewed =
      verdict.state.writer === node.name && (verdict.state.regions[node.name]?.beat ?? 0) > beat;
    if (isRenewed) node.leaseFrom = this.now;
  }

  #accept(who: string, next: FailoverState): void {
    const before = this.state;
    this.state = next;
    for (const change of changesOf(before, next)) this.#note(who, change);
    for (const name of Object.keys(next.regions)) if (!this.nodes.has(name)) this.#join(name);
    for (const [name, node] of this.nodes) {
      if (next.regions[name] === undefined) this.nodes.delete(name);
      else if (node.alive && !node.isCutOff) node.learn(next, this.now);
    }
  }

  #canCommit(writer: FleetNode): boolean {
    const { consistency } = this.state.configuration;
    if (!needsLeaseSet(consistency)) return true;
    return this.state.leaseSet.every(
      (name) =>
        name === writer.name ||
        (this.#areLinked(writer, this.node(name)) &&
          statusOf(this.state, name) === 'ReadOnlyReplicationAllowed' &&
          this.node(name).buildMs <= 0),
    );
  }

  #noteWriting(): void {
    const { writing } = this;
    if (writing === this.#writing) return;
    this.#writing = writing;
    this.#note('', writing === undefined ? 'Nobody accepts writes.' : `${writing} accepts writes.`);
  }

  #at(): string {
    return new Date(this.#start + this.now).toISOString();
  }

  #note(who: string, what: string): void {
    this.#events.push(`${this.#at().slice(11, 21)} ${who === '' ? '' : `[${who}] `}${what}`);
  }
}
