/**
 * Copies of one partition-set under the test's hand: pure state machines on memory stores, in time that passes when the
 * test says so. What they send lies in `wire`, in the order in which it was sent, until the test delivers, drops or doubles
 * it. The test also plays the agents: it gives the roles, says who may write, and gives the grants.
 *
 *   const scene = new PartitionScene();      a, b and c
 *   scene.reign('a', 1);                     a writes in GCN 1, the others follow, everything is delivered
 *   const write = scene.put('a', 'x', 1);    asked; `write.answer` is there when it has been answered
 *   scene.settle();                          disks and messages until nothing moves
 */
import {
  type Consistency,
  type DiskImage,
  type DocumentKey,
  type Entry,
  epkOf,
  feed,
  type FeedAnswer,
  gcnOf,
  keyText,
  LIMITS,
  nodeJson,
  type Operation,
  type PartitionMessage,
  type PartitionOptions,
  type PartitionRole,
  PartitionStateMachine,
  type PartitionStore,
  type Position,
  primaryOf,
  type ReadAnswer,
  type ReadLevel,
  type RegionName,
  type ScanAnswer,
  type ScanOptions,
  type Version,
  type WriteAnswer,
} from 'baton/engine';
import { SimHost } from '../failover/sim-host.ts';
import { Copy } from './partition-copy.ts';

export const PARTITION_KEY = ['k'];
const EPK = epkOf(PARTITION_KEY);

export interface OnTheWay {
  readonly from: RegionName;
  readonly to: RegionName;
  readonly message: PartitionMessage;
}

/** A request and, when it has been given, its answer. */
export interface Asked<A> {
  answer: A | undefined;
}

export interface PartitionSceneOptions extends Partial<
  Omit<PartitionOptions, 'region' | 'regions' | 'consistency'>
> {
  readonly regions?: readonly RegionName[];
  readonly consistency?: Consistency;
}

export class PartitionScene {
  readonly host = new SimHost();
  readonly regions: readonly RegionName[];
  readonly wire: OnTheWay[] = [];
  readonly #options: PartitionSceneOptions;
  readonly #copies = new Map<RegionName, Copy>();
  readonly #cut = new Set<string>();

  constructor(options: PartitionSceneOptions = {}) {
    this.#options = options;
    this.regions = options.regions ?? ['a', 'b', 'c'];
    for (const region of this.regions) {
      this.#copies.set(region, new Copy(region, this.host));
      this.start(region);
    }
  }

  copy(region: RegionName): Copy {
    return this.#copies.get(region)!;
  }

  machine(region: RegionName): PartitionStateMachine {
    return this.copy(region).machine;
  }

  store(region: RegionName): PartitionStore {
    return this.copy(region).store;
  }

  // ---- processes and links

  /** A process on the disk as the last one left it. `isNoticed`: the others are told that the link is there. */
  start(region: RegionName, { isNoticed = true } = {}): void {
    const copy = this.copy(region);
    const { store } = copy;
    store.note({ incarnation: store.notes.incarnation + 1 });
    store.sync(() => {});
    this.turn();
    const { regions: _, consistency, ...options } = this.#options;
    const machine = new PartitionStateMachine(
      {
        region,
        regions: this.regions,
        consistency: consistency ?? { level: 'Strong' },
        settings: { partitionKeyPaths: ['/key'], defaultTtl: -1 },
        limits: LIMITS,
        json: nodeJson,
        maxWaiting: 1000,
        ...options,
      },
      store,
      {
        now: () => this.host.now(),
        wallClock: () => this.host.wallClock(),
        send: (to, message) => this.#send(region, to, message),
        canSend: (to) => this.isLinked(region, to) && !copy.full.has(to),
        heardMsAgo: () => copy.heardMsAgo,
        mayWrite: () => copy.mayWrite,
        isStopping: () => copy.isStopping,
        grant: (asker) => (copy.grantees?.includes(asker.region) === false ? 0 : copy.grantMs),
        changed: (how) => copy.changes.push(how),
        look: () => {},
        flushSoon: () => this.host.soon(() => copy.isUp && copy.machine === machine && machine.flush()),
        event: (event) => copy.events.push(event),
      },
    );
    copy.run(machine);
    if (isNoticed) this.#linked(region);
  }

  /**
   * The process ends; its disk keeps so many of the writes that were not synced. `isNoticed`: the links go with it; otherwise
   * what is on the way may still arrive, at its successor too.
   */
  crash(region: RegionName, { keeps = 0, isNoticed = true } = {}): void {
    const copy = this.copy(region);
    copy.isUp = false;
    copy.crashKeeps = keeps;
    copy.disk.crash();
    copy.forgetHeld();
    if (!isNoticed) return;
    this.drop(({ from, to }) => from === region || to === region);
    for (const other of this.regions) if (this.copy(other).isUp) this.machine(other).linkLost(region);
  }

  /** What is on its disk now: `rollBack` brings that back. */
  image(region: RegionName): DiskImage {
    return this.copy(region).disk.image();
  }

  /** The process ends, and its disk comes back as it was then; without an image it comes back empty. */
  rollBack(region: RegionName, image?: DiskImage, isNoticed = true): void {
    this.crash(region, { isNoticed });
    this.copy(region).disk.replaceDisk(image);
  }

  /** Everything that was not synced is on disk, and then the power goes. */
  restart(region: RegionName): void {
    this.crash(region, { keeps: Infinity });
    this.start(region);
  }

  cut(a: RegionName, b: RegionName): void {
    this.#cut.add(`${a}${b}`).add(`${b}${a}`);
    this.drop(({ from, to }) => (from === a && to === b) || (from === b && to === a));
    if (this.copy(a).isUp) this.machine(a).linkLost(b);
    if (this.copy(b).isUp) this.machine(b).linkLost(a);
  }

  mend(a: RegionName, b: RegionName): void {
    this.#cut.delete(`${a}${b}`);
    this.#cut.delete(`${b}${a}`);
    if (!this.isLinked(a, b)) return;
    this.machine(a).linkReady(b);
    this.machine(b).linkReady(a);
  }

  isLinked(a: RegionName, b: RegionName): boolean {
    return this.copy(a).isUp && this.copy(b).isUp && !this.#cut.has(`${a}${b}`);
  }

  #linked(region: RegionName): void {
    for (const other of this.regions) {
      if (other === region || this.#copies.get(other)?.isUp !== true || !this.isLinked(region, other))
        continue;
      this.machine(other).linkReady(region);
      this.machine(region).linkReady(other);
    }
  }

  #send(from: RegionName, to: RegionName, message: PartitionMessage): void {
    if (this.#copies.get(to)?.isUp === true && this.isLinked(from, to)) this.wire.push({ from, to, message });
  }

  // ---- messages

  /** Those of a kind that are on the way. */
  sent<T extends PartitionMessage['type']>(
    type: T,
    to?: RegionName,
  ): readonly Extract<PartitionMessage, { type: T }>[] {
    return this.wire
      .filter((each) => each.message.type === type && (to === undefined || each.to === to))
      .map(({ message }) => message as Extract<PartitionMessage, { type: T }>);
  }

  /** Takes the first of these out of the wire, or all. */
  take(which: (each: OnTheWay) => boolean): OnTheWay {
    const at = this.wire.findIndex(which);
    if (at < 0) throw new Error('There is no such message on the way.');
    return this.wire.splice(at, 1)[0]!;
  }

  /** How many were lost. */
  drop(which: (each: OnTheWay) => boolean = () => true): number {
    const kept = this.wire.filter((each) => !which(each));
    const lost = this.wire.length - kept.length;
    this.wire.splice(0, this.wire.length, ...kept);
    return lost;
  }

  give({ from, to, message }: OnTheWay): void {
    if (this.copy(to).isUp) this.machine(to).onMessage(from, message);
  }

  /** Delivers the first message of that kind to that region, and what the disks do at this moment. */
  deliver(type: PartitionMessage['type'], to?: RegionName): void {
    this.give(this.take((each) => each.message.type === type && (to === undefined || each.to === to)));
    this.turn();
  }

  // ---- time

  /** The work of this moment: flushes, and syncs of disks that are not held. No message is delivered. */
  turn(): void {
    this.host.run(this.host.now());
  }

  /** Disks and messages until nothing moves; no time passes. */
  settle(): void {
    this.turn();
    for (let count = 0; this.wire.length > 0; count += 1) {
      if (count > 10_000) throw new Error('The messages never end.');
      this.give(this.wire.shift()!);
      this.turn();
    }
  }

  /** Time passes; whoever wants to be woken is. Messages lie where they are unless `delivering`. */
  pass(ms: number, { delivering = true } = {}): void {
    const until = this.host.now() + ms;
    for (;;) {
      if (delivering) this.settle();
      const next = Math.min(until, ...this.#awake().map((machine) => machine.nextAt));
      this.host.run(Math.min(until, Math.max(next, this.host.now())));
      const due = this.#awake().filter((machine) => machine.nextAt <= this.host.now());
      for (const machine of due) machine.wake();
      this.turn();
      if (due.some((machine) => machine.nextAt <= this.host.now())) throw new Error('It is never content.');
      if (this.host.now() >= until) break;
    }
    if (delivering) this.settle();
  }

  #awake(): readonly PartitionStateMachine[] {
    return [...this.#copies.values()].filter(({ isUp }) => isUp).map(({ machine }) => machine);
  }

  // ---- roles

  assume(region: RegionName, role: PartitionRole): Asked<Error | 'done'> {
    const asked: Asked<Error | 'done'> = { answer: undefined };
    this.machine(region).assume(role, (error) => (asked.answer = error ?? 'done'));
    return asked;
  }

  lead(
    region: RegionName,
    gcn: number,
    {
      commitSet = this.regions,
      accepts = true,
      leaseSet,
    }: {
      commitSet?: readonly RegionName[];
      accepts?: boolean;
      leaseSet?: readonly RegionName[];
    } = {},
  ): Asked<Error | 'done'> {
    const role = { role: 'writer', epoch: gcn, accepts, commitSet } as const;
    return this.assume(region, leaseSet === undefined ? role : { ...role, leaseSet });
  }

  /** `sureFrom`: what was committed before that GCN may be undone at Strong too. */
  follow(
    region: RegionName,
    gcn: number,
    writer: RegionName,
    { sureFrom }: { sureFrom?: number } = {},
  ): Asked<Error | 'done'> {
    const role = { role: 'reader', epoch: gcn, writer } as const;
    return this.assume(region, sureFrom === undefined ? role : { ...role, sureFrom });
  }

  fence(region: RegionName, gcn: number): Asked<Error | 'done'> {
    return this.assume(region, { role: 'fenced', epoch: gcn });
  }

  /** All that are up agree, and have nothing more to say to each other. */
  reign(writer: RegionName, gcn: number, commitSet?: readonly RegionName[]): void {
    this.lead(writer, gcn, commitSet && { commitSet });
    for (const region of this.regions)
      if (region !== writer && this.copy(region).isUp) this.follow(region, gcn, writer);
    this.settle();
  }

  // ---- clients

  write(
    region: RegionName,
    operations: readonly Operation[],
    { operation, ms = 5000 }: { operation?: string; ms?: number } = {},
  ): Asked<WriteAnswer> {
    return this.#asked((done) =>
      this.copy(region).requests.write(
        { partitionKey: PARTITION_KEY, operations, ...(operation !== undefined && { operation }) },
        this.host.now() + ms,
        done,
      ),
    );
  }

  put(
    region: RegionName,
    id: string,
    value: unknown,
    options: { operation?: string; ms?: number; ttl?: number } = {},
  ): Asked<WriteAnswer> {
    return this.write(region, [upsert(id, value, options.ttl)], options);
  }

  remove(
    region: RegionName,
    id: string,
    options: { operation?: string; ms?: number } = {},
  ): Asked<WriteAnswer> {
    return this.write(region, [{ op: 'delete', id }], options);
  }

  read(
    region: RegionName,
    id: string,
    level: ReadLevel = 'Strong',
    { session, ms = 5000 }: { session?: Position; ms?: number } = {},
  ): Asked<ReadAnswer> {
    const request = { key: keyOf(id), level, ...(session && { session }) };
    return this.#asked((done) => this.copy(region).requests.read(request, this.host.now() + ms, done));
  }

  scan(
    region: RegionName,
    level: ReadLevel = 'Eventual',
    options: Partial<ScanOptions> = {},
    ms = 5000,
  ): Asked<ScanAnswer> {
    const request = {
      options: { from: '', to: 'G', limit: 100, ...options },
      level,
      compare: (a: DocumentKey, b: DocumentKey) =>
        keyText(a) < keyText(b) ? -1 : Number(keyText(a) > keyText(b)),
    };
    return this.#asked((done) => this.copy(region).requests.scan(request, this.host.now() + ms, done));
  }

  feed(region: RegionName, after: Position = { epoch: 0, lsn: 0 }, maxBytes = 1_000_000): FeedAnswer {
    return feed(this.machine(region), { after, maxBytes });
  }

  #asked<A>(ask: (done: (answer: A) => void) => void): Asked<A> {
    const asked: Asked<A> = { answer: undefined };
    ask((answer) => {
      if (asked.answer !== undefined) throw new Error('The request was answered twice.');
      asked.answer = answer;
    });
    return asked;
  }

  // ---- what one looks at

  /** The log of a copy, an entry as `GCN.primary/LSN`. */
  log(region: RegionName): readonly string[] {
    return this.store(region).entriesAfter(0, Infinity).map(nameOf);
  }

  /** What a copy would show of every document up to the end of its log. */
  documents(region: RegionName): Readonly<Record<string, unknown>> {
    const versions = this.store(region).scan({ from: '', to: 'G', limit: 10_000 });
    return Object.fromEntries(versions.map((version) => [version.id, valueOf(version)]));
  }
}

export function keyOf(id: string): DocumentKey {
  return { epk: EPK, id };
}

export function upsert(id: string, value: unknown, ttl?: number): Operation {
  return { op: 'upsert', body: bodyOf(id, value, ttl) };
}

export function create(id: string, value: unknown): Operation {
  return { op: 'create', body: bodyOf(id, value) };
}

function bodyOf(id: string, value: unknown, ttl?: number): Uint8Array {
  return nodeJson.format({ id, key: 'k', value, ...(ttl !== undefined && { ttl }) });
}

export function valueOf(version: Pick<Version, 'body'> | undefined): unknown {
  return version?.body && (nodeJson.parse(version.body) as { value: unknown }).value;
}

/** An entry as `GCN.primary/LSN`. */
export function nameOf({ epoch, lsn }: Position | Entry): string {
  return `${gcnOf(epoch)}.${primaryOf(epoch)}/${lsn}`;
}

/** What a read showed: the value, `undefined` for no document, or why there is none. */
export function shown({ answer }: Asked<ReadAnswer>): unknown {
  if (answer === undefined) return 'waits';
  return answer.outcome === 'done' ? valueOf(answer.version) : answer.code;
}

/** What became of a write: its statuses, or why there are none. */
export function outcome({ answer }: Asked<WriteAnswer>): string {
  if (answer === undefined) return 'waits';
  if (answer.outcome === 'done') return answer.results.map(({ status }) => status).join(' ');
  return answer.outcome === 'refused' ? answer.code : 'unknown';
}
