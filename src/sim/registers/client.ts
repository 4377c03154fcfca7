/**
 * A client process: it opens the real library when it starts, and again after every crash, and keeps several lanes of
 * operations going on the registers. A register's value is the list of the operations that made it:
 *
 *   append  adds the operation's own name, whatever is there
 *   when    adds it only if the list has an odd length
 *   swap    adds it only if the value still is what this client saw last
 *   touch   returns what it was given: it changes nothing, and may need only one phase
 *   read
 *
 * One register is kept for what leaves no list behind, and is checked less closely for it:
 *
 *   put     replaces whatever is there by a list of the operation's own name
 *   delete  leaves a tombstone
 *
 * An operation whose outcome is unknown goes to the board that all clients share, as if its token had been written down,
 * and any of them may continue it. None of the editors looks for its own name: that nothing is applied twice is the
 * library's promise.
 */
import {
  type CasPaxosError,
  type ChangeOptions,
  type Cluster,
  type Configuration,
  openCluster,
} from '../../caspaxos/index.ts';
import type { Random } from '../core/index.ts';
import type { SimProcess } from '../process.ts';
import { apply } from './apply.ts';
import type { Board } from './board.ts';
import {
  ERASABLE_KEY,
  type History,
  type OperationKind,
  type RecordedCall,
  type RecordedOperation,
  type Value,
} from './history.ts';

type ClusterOptions = Parameters<typeof openCluster>[0];

/** What the clients of a run have in common. */
export interface ClientScene {
  readonly history: History;
  /** Of a cluster: what is begun in one is continued there. */
  boardOf(cluster: string): Board;
  readonly keys: readonly string[];
  readonly lanes: number;
  readonly thinkMs: number;
  readonly idleShare: number;
  readonly timeoutMs: number;
  /** How often a client closes the library and opens it anew, for each operation of its lanes. */
  readonly reopenShare: number;
  /** Whether faults are over: then each client shows that it can do its work again, and stops. */
  isHealed(): boolean;
  /** A register that was first heard of lately, if at all. */
  freshKey(): string;
  options(process: SimProcess): ClusterOptions;
  /** A client works with this set of acceptors from now on. */
  onSet(configuration: Configuration, process: SimProcess): void;
  count(what: string, times?: number): void;
  onAlarm(message: string): void;
  /** Told of everything that a client learns, for the trace. */
  note(what: string, process: SimProcess): void;
}

const OPEN_AGAIN_AFTER_MS = 100;

export class RegisterClient {
  readonly #scene: ClientScene;
  readonly #random: Random;
  readonly #lastSeen = new Map<string, Value>();
  readonly #recovered = new Set<string>();
  readonly #underWay = new Set<RecordedCall>();
  readonly #letter: string;
  #operations = 0;
  #isDone = false;
  #cluster: Promise<Cluster> | undefined;

  constructor(scene: ClientScene, letter: string, random: Random) {
    this.#scene = scene;
    this.#letter = letter;
    this.#random = random;
  }

  /** Whether it has done all that it had to. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /** Registers that it has changed since healing. */
  get recovered(): ReadonlySet<string> {
    return this.#recovered;
  }

  /** A life begins. */
  readonly main = (process: SimProcess): void => {
    this.#lastSeen.clear();
    this.#underWay.clear();
    void this.#live(process);
  };

  async #live(process: SimProcess): Promise<void> {
    this.#cluster = this.#open(process);
    await Promise.all(Array.from({ length: this.#scene.lanes }, () => this.#work(process)));
    const cluster = await this.#cluster;
    for (const open of this.#scene.boardOf(nameOf(cluster)).all) {
      await this.#change(process, cluster, open, { retryOf: open.token });
    }
    for (const key of this.#scene.keys) {
      while (!this.#recovered.has(key)) await this.#recover(process, cluster, key);
      await this.#read(process, cluster, key, {});
    }
    this.#countUp(cluster);
    this.#isDone = true;
  }

  /** Replaces the set of acceptors while everything else goes on; tries again, as an operator would, until faults end. */
  async changeSet(process: SimProcess, urls: readonly string[]): Promise<void> {
    for (let end = ''; end !== 'done' && end !== 'ACCEPTOR_IN_USE' && !this.#scene.isHealed();) {
      const cluster = await this.#cluster!;
      end = await cluster.changeAcceptors(urls).then(
        () => 'done',
        (error: CasPaxosError) => error.code,
      );
      this.#scene.count(`set change: ${end}`);
      this.#scene.note(`set change: ${end}`, process);
      await sleep(process, this.#random.between(0, this.#scene.timeoutMs));
    }
  }

  /** Ends the library's life but not the process': what is under way is told how it stands. */
  async #reopen(process: SimProcess): Promise<Cluster> {
    const cluster = await this.#cluster!;
    for (const call of this.#underWay) call.dueBy = Infinity;
    await cluster.close();
    this.#countUp(cluster);
    this.#scene.count('reopened');
    return this.#open(process);
  }

  async #open(process: SimProcess): Promise<Cluster> {
    for (;;) {
      try {
        const cluster = await openCluster(this.#scene.options(process));
        cluster.on('alarm', (error) => this.#scene.onAlarm(error.message));
        cluster.on('warning', (error) => this.#scene.count(`warning ${error.code}`));
        this.#scene.onSet(cluster.configuration, process);
        cluster.on('configuration', (configuration) => this.#scene.onSet(configuration, process));
        cluster.on('acceptor', ({ state, error }) => {
          if (state === 'down') this.#scene.count(`acceptor down ${error!.code}`);
        });
        return cluster;
      } catch (error) {
        this.#scene.count(`open failed: ${(error as CasPaxosError).code}`);
        this.#scene.note(`open failed: ${(error as Error).message}`, process);
        await sleep(process, OPEN_AGAIN_AFTER_MS);
      }
    }
  }

  async #work(process: SimProcess): Promise<void> {
    const { thinkMs, keys, lanes, reopenShare } = this.#scene;
    for (;;) {
      await sleep(process, this.#random.between(0, 2 * thinkMs));
      if (this.#scene.isHealed()) return;
      // It ends what the other lanes have under way, so the more of them there are, the less often each does it.
      if (this.#random.uniform() < reopenShare / lanes) this.#cluster = this.#reopen(process);
      const cluster = await this.#cluster!;
      const options = this.#options(process);
      const board = this.#scene.boardOf(nameOf(cluster));
      const open = this.#random.uniform() < 0.3 ? board.look(this.#random) : undefined;
      if (open !== undefined) {
        await this.#change(process, cluster, open, { ...options, retryOf: open.token });
        continue;
      }
      const key =
        this.#random.uniform() < 0.05 ? this.#scene.freshKey() : keys[this.#random.integer(keys.length)]!;
      const kind = this.#drawKind(key);
      if (kind === 'read') await this.#read(process, cluster, key, options);
      else await this.#begin(process, cluster, kind, key, options);
    }
  }

  #drawKind(key: string): OperationKind {
    if (this.#random.uniform() < this.#scene.idleShare)
      return this.#random.uniform() < 0.6 ? 'read' : 'touch';
    const choice = this.#random.uniform();
    if (key === ERASABLE_KEY) return choice < 0.35 ? 'delete' : 'put';
    if (choice < 0.15) return 'when';
    return choice < 0.4 && this.#lastSeen.has(key) ? 'swap' : 'append';
  }

  /** Mostly patient; sometimes in a hurry, and sometimes a caller who loses interest. */
  #options(process: SimProcess): ChangeOptions {
    const choice = this.#random.uniform();
    const patience = this.#scene.timeoutMs * this.#random.uniform() ** 3;
    if (choice < 0.2) return { timeoutMs: patience };
    if (choice > 0.3) return {};
    const controller = new AbortController();
    process.after(patience, () => controller.abort());
    return { signal: controller.signal };
  }

  #begin(
    process: SimProcess,
    cluster: Cluster,
    kind: OperationKind,
    key: string,
    options: ChangeOptions,
  ): Promise<boolean> {
    const operation = this.#scene.history.begin({
      name: this.#nextName(),
      kind,
      key,
      client: process.name,
      cluster: nameOf(cluster),
      expected: kind === 'swap' ? this.#lastSeen.get(key) : undefined,
    });
    return this.#change(process, cluster, operation, options);
  }

  /** Whether it was committed. */
  async #change(
    process: SimProcess,
    cluster: Cluster,
    operation: RecordedOperation,
    options: ChangeOptions,
  ): Promise<boolean> {
    const { history } = this.#scene;
    const board = this.#scene.boardOf(operation.cluster);
    const call = this.#call(process, operation, options);
    const outcome = await apply(cluster, operation, options);
    this.#underWay.delete(call);
    history.changed(operation, call, outcome);
    this.#learned(process, operation, call, options.retryOf === undefined ? 'change' : 'continued');
    const isForgotten = outcome.outcome === 'unknown' && outcome.error.code === 'OPERATION_FORGOTTEN';
    if (isForgotten) this.#scene.count('forgotten');
    if (outcome.outcome !== 'unknown' || isForgotten || operation.kind === 'touch') {
      board.remove(operation);
      return outcome.outcome === 'committed';
    }
    const isAside = this.#random.uniform() < 0.4;
    // What one who continues it is told, "rejected", another may find changed: `when` is continued by one at a time.
    if (operation.kind !== 'when') board.put(operation, isAside);
    if (isAside || this.#random.uniform() < 0.5) return false;
    return this.#change(process, cluster, operation, { retryOf: outcome.operation });
  }

  async #read(process: SimProcess, cluster: Cluster, key: string, options: ChangeOptions): Promise<void> {
    const { history } = this.#scene;
    const operation = history.begin({
      name: this.#nextName(),
      kind: 'read',
      key,
      client: process.name,
      cluster: nameOf(cluster),
    });
    const call = this.#call(process, operation, options);
    const found = await cluster.read<Value>(key, options).catch(() => undefined);
    this.#underWay.delete(call);
    history.read(call, found);
    this.#learned(process, operation, call, 'read');
    // What was read once must be there at once again: a second look follows some reads.
    if (this.#random.uniform() < 0.3) await this.#read(process, cluster, key, options);
  }

  #call(
    { name }: SimProcess,
    operation: RecordedOperation,
    { timeoutMs, signal }: ChangeOptions,
  ): RecordedCall {
    const isPatient = timeoutMs === undefined && signal === undefined;
    const call = this.#scene.history.call(operation, name, isPatient ? this.#scene.timeoutMs : Infinity);
    this.#underWay.add(call);
    return call;
  }

  async #recover(process: SimProcess, cluster: Cluster, key: string): Promise<void> {
    const kind = key === ERASABLE_KEY ? 'put' : 'append';
    if (await this.#begin(process, cluster, kind, key, {})) this.#recovered.add(key);
    else await sleep(process, this.#random.between(0, this.#scene.timeoutMs / 4));
  }

  #learned(process: SimProcess, { name, key }: RecordedOperation, call: RecordedCall, what: string): void {
    const { outcome, version, value } = call;
    if (value !== undefined) this.#lastSeen.set(key, value);
    this.#scene.count(`${what}: ${outcome}`);
    this.#scene.note(`${name} ${outcome} ${version} ${value?.length}`, process);
  }

  #countUp({ counters }: Cluster): void {
    const { oneRoundTrip, slowReads, conflicts, unavailable } = counters;
    const counts = {
      'one round trip': oneRoundTrip,
      'slow read': slowReads,
      conflict: conflicts,
      unavailable,
    };
    for (const [what, times] of Object.entries(counts)) this.#scene.count(what, times);
  }

  #nextName(): string {
    this.#operations += 1;
    return `${this.#letter}${this.#operations}`;
  }
}

function nameOf({ configuration }: Cluster): string {
  return configuration.cluster;
}

function sleep(process: SimProcess, ms: number): Promise<void> {
  return new Promise((resolve) => {
    process.after(ms, resolve);
  });
}
