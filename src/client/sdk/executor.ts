/**
 * What all operations of a client share: connections, the map of the account, what was learnt about regions, and a bound on how much
 * is under way. An operation that meets nodes which do not know its partition-set gets a newer map and is routed anew, in the
 * time that is left; nothing was carried out then.
 */
import { setMaxListeners } from 'node:events';
import type { ReadLevel } from '../../engine/index.ts';
import type { Host } from '../../protocol/index.ts';
import { type Payload, RpcError } from '../../transport/index.ts';
import {
  type AttemptDiagnostics,
  type DoneAnswer,
  type Door,
  HedgeBudget,
  type NodeAnswer,
  type OperationKind,
  type OperationOptions,
  PLAN_SETTINGS,
  type PlanResult,
  type PlanSettings,
  type Rejected,
  RegionCache,
  type Repeatable,
} from '../core/index.ts';
import type { NodeLook } from '../wire/look-wire.ts';
import type { Diagnostics } from './diagnostics.ts';
import { BatonError, batonError, outcomeOf } from './errors.ts';
import type { Links } from './links.ts';
import { type Looked, lookEverywhere, type LookingOptions } from './looking.ts';
import type { MapSource } from './map-source.ts';
import { type HedgeOptions, isPositive } from './options.ts';
import type { PlanRan } from './plan-run.ts';
import { type AttemptCall, decoded, runPlan } from './running.ts';
import type { Session } from './session.ts';
import type { ContainerPlace, PlacedRange, Topology } from './topology.ts';
import { WriterFinder } from './writer-finder.ts';

export interface Request<A extends NodeAnswer> {
  /** For diagnostics. */
  readonly name: string;
  readonly kind: OperationKind;
  readonly container: string;
  /** Throws BAD_REQUEST. */
  readonly route: (container: ContainerPlace) => PlacedRange;
  readonly method: number;
  readonly encode: (partitionSet: string, timeoutMs: number) => Payload;
  readonly decode: (payload: Buffer) => A;
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly repeatable?: Repeatable;
  readonly operationId?: string;
  readonly level?: ReadLevel;
  readonly hedge?: HedgeOptions | undefined;
  /** Told how far the answer got. */
  readonly session?: Session | undefined;
  /** A node may hold it for this long before it answers. */
  readonly heldMs?: number | undefined;
  /** Of a write: where it is asked for, and nowhere else while its outcome is certain. */
  readonly door?: Door | undefined;
  /** Of a read: asked first, however near the others are. */
  readonly preferred?: string | undefined;
  /** That the writer judged the write and did nothing is an answer, if nothing is in doubt beside it. */
  readonly takesRejection?: boolean | undefined;
}

export interface Executed<A> {
  readonly answer: DoneAnswer<A>;
  readonly partitionSet: string;
  readonly container: ContainerPlace;
  /** That answered. */
  readonly region: string;
  readonly diagnostics: Diagnostics;
}

export interface ExecutorOptions {
  readonly host: Host;
  readonly links: Links;
  readonly maps: MapSource;
  readonly timeoutMs: number;
  readonly maxInFlight: number;
  readonly preferredRegion: string | undefined;
  readonly pacing: Partial<PlanSettings> | undefined;
}

export class Executor {
  readonly host: Host;
  readonly #options: ExecutorOptions;
  readonly #cache: RegionCache;
  /** Of requests that nodes hold: how long they take says nothing about how far away a region is. */
  readonly #heldCache: RegionCache;
  readonly #finder: WriterFinder;
  readonly #budget = new HedgeBudget();
  readonly #closing = new AbortController();
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(options: ExecutorOptions) {
    this.#options = options;
    this.host = options.host;
    this.#cache = new RegionCache(this.#ordered(options.maps.topology));
    this.#heldCache = new RegionCache(this.#ordered(options.maps.topology));
    setMaxListeners(0, this.#closing.signal);
    this.#finder = new WriterFinder({
      host: options.host,
      cache: this.#cache,
      looking: () => this.#looking,
    });
    options.maps.onChange = (now, before) => this.#moved(now, before);
  }

  get topology(): Topology {
    return this.#options.maps.topology;
  }

  get inFlight(): number {
    return this.#underWay.size;
  }

  get isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Ends what waits without asking a node, too. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Rejects with a BatonError. */
  execute<A extends NodeAnswer>(request: Request<A>): Promise<Executed<A>> {
    const refusal = this.#refusal(request);
    if (refusal !== undefined) return Promise.reject(refusal);
    this.#options.maps.tend();
    const running = this.#execute(request).finally(() => this.#underWay.delete(running));
    this.#underWay.add(running);
    return running;
  }

  /** Has every node look at the catalogue. */
  look(call: NodeLook): Promise<readonly Looked[]> {
    if (this.isClosed) return Promise.reject(new BatonError('CLIENT_CLOSED'));
    return lookEverywhere(call, this.#looking);
  }

  get #looking(): LookingOptions {
    return { links: this.#options.links, topology: this.topology, signal: this.closing };
  }

  /** What is under way is given up. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#finder.close();
    await Promise.allSettled(this.#underWay);
  }

  /** The container, after another look at the map if it is not in this one. */
  async container(name: string, deadlineAt: number): Promise<ContainerPlace> {
    const known = this.topology.container(name);
    if (known !== undefined) return known;
    await this.#options.maps.refresh(this.host.now(), deadlineAt);
    const found = this.topology.container(name);
    if (found !== undefined) return found;
    throw new BatonError('CONTAINER_UNKNOWN', { message: `The account has no container "${name}".` });
  }

  deadlineOf(timeoutMs: number | undefined): number {
    return this.host.now() + (timeoutMs ?? this.#options.timeoutMs);
  }

  #refusal<A extends NodeAnswer>({ name, container, timeoutMs }: Request<A>): BatonError | undefined {
    if (this.isClosed) return new BatonError('CLIENT_CLOSED');
    if (!isPositive(timeoutMs))
      return new BatonError('BAD_REQUEST', { message: 'timeoutMs must be a positive number.' });
    const { maxInFlight } = this.#options;
    if (this.inFlight < maxInFlight) return undefined;
    const message = `This client has ${maxInFlight} operations under way, and may not have more.`;
    const diagnostics = { operation: name, container, durationMs: 0, attempts: [] };
    return new BatonError('THROTTLED', { message, diagnostics });
  }

  async #execute<A extends NodeAnswer>(request: Request<A>): Promise<Executed<A>> {
    const begunAt = this.host.now();
    const deadlineAt = this.deadlineOf(request.timeoutMs);
    const earlier: AttemptDiagnostics[] = [];
    for (;;) {
      const { container, range } = await this.#routed(request, begunAt, deadlineAt);
      const startedAt = this.host.now() - begunAt;
      const { result, attempts } = await this.#run(request, range, deadlineAt);
      for (const attempt of attempts) {
        const number = earlier.length + 1;
        earlier.push({ ...attempt, attempt: number, startedAtMs: startedAt + attempt.startedAtMs });
      }
      const diagnostics: Diagnostics = {
        operation: request.name,
        container: request.container,
        partitionSet: range.partitionSet,
        ...(request.operationId !== undefined && { operationId: request.operationId }),
        ...(result.region !== undefined && { region: result.region }),
        durationMs: this.host.now() - begunAt,
        attempts: earlier,
      };
      const { partitionSet } = range;
      if (result.answer !== undefined) request.session?.tracker.saw(partitionSet, result.answer.position);
      if (result.ok || isAnswer(request, result))
        return { answer: result.answer, partitionSet, container, region: result.region, diagnostics };
      const isMoved = result.error.code === 'PARTITION_SET_UNKNOWN' && result.error.outcome === 'notApplied';
      if (isMoved && (await this.#isRoutedAnew(request, range, begunAt, deadlineAt))) continue;
      throw this.#errorOf(request, result, diagnostics);
    }
  }

  /** After another look at the map if the container has no such partition-set in this one: it may have been made anew. */
  async #routed<A extends NodeAnswer>(
    request: Request<A>,
    begunAt: number,
    deadlineAt: number,
  ): Promise<{ readonly container: ContainerPlace; readonly range: PlacedRange }> {
    const known = await this.container(request.container, deadlineAt);
    try {
      return { container: known, range: request.route(known) };
    } catch (error) {
      if (!(error instanceof BatonError) || error.code !== 'PARTITION_SET_UNKNOWN') throw error;
    }
    await this.#options.maps.refresh(begunAt, deadlineAt);
    const container = await this.container(request.container, deadlineAt);
    return { container, range: request.route(container) };
  }

  #run<A extends NodeAnswer>(
    request: Request<A>,
    { partitionSet, column }: PlacedRange,
    deadlineAtMs: number,
  ): Promise<PlanRan<A>> {
    const { links, maps } = this.#options;
    const { kind, repeatable, level, hedge, signal, heldMs, door, preferred } = request;
    const options: OperationOptions = {
      partitionSet,
      kind,
      deadlineAtMs,
      ...(repeatable !== undefined && { repeatable }),
      ...(door !== undefined && { door }),
      ...(preferred !== undefined && { preferred }),
      ...(level !== undefined && { level, accountLevel: this.topology.map.account.consistency }),
      ...(hedge !== undefined && { hedge: { afterMs: hedge.afterMs, budget: this.#budget } }),
      settings: { ...this.#options.pacing, ...(heldMs !== undefined && patienceWith(heldMs)) },
    };
    const send = async (call: AttemptCall): Promise<A> => {
      const node = this.topology.node(call.region, column);
      if (node === undefined) throw new RpcError('UNREACHABLE', `There is no region ${call.region}.`);
      const payload = request.encode(partitionSet, kind === 'read' ? call.timeoutMs * TOLD : call.timeoutMs);
      const { leftMs: timeoutMs, signal: cancel, onSending } = call;
      const answer = await links
        .to(node.address)
        .call(request.method, payload, { timeoutMs, signal: cancel, onSending });
      return decoded(request.decode, answer);
    };
    return runPlan({
      host: this.host,
      cache: heldMs === undefined ? this.#cache : this.#heldCache,
      options,
      send,
      nodeIn: (region) => this.topology.node(region, column)?.name,
      signals: signal === undefined ? [this.closing] : [this.closing, signal],
      onWriterWanted: (withinMs) => this.#finder.want(partitionSet, column, withinMs),
      onMapOutdated: () => void maps.refresh(this.host.now(), deadlineAtMs).catch(() => {}),
    });
  }

  async #isRoutedAnew<A extends NodeAnswer>(
    request: Request<A>,
    before: PlacedRange,
    begunAt: number,
    deadlineAt: number,
  ): Promise<boolean> {
    await this.#options.maps.refresh(begunAt, deadlineAt).catch(() => {});
    if (this.isClosed || this.host.now() >= deadlineAt) return false;
    const container = this.topology.container(request.container);
    return container !== undefined && request.route(container).partitionSet !== before.partitionSet;
  }

  #errorOf<A extends NodeAnswer>(
    request: Request<A>,
    { error, answer }: Exclude<PlanResult<A>, { readonly ok: true }>,
    diagnostics: Diagnostics,
  ): BatonError {
    if (error.code === 'UNREACHABLE' || error.code === 'DEADLINE') this.#options.maps.lookAgain();
    if (error.code === 'ABORTED' && this.isClosed)
      return new BatonError('CLIENT_CLOSED', { outcome: outcomeOf(error.outcome), diagnostics });
    const isBatch = (answer?.results?.length ?? 0) > 1;
    return batonError(error, {
      diagnostics,
      ...(isBatch && { results: answer!.results }),
      ...(error.code === 'ABORTED' && { cause: request.signal?.reason as unknown }),
    });
  }

  #ordered({ regions }: Topology): readonly string[] {
    const { preferredRegion } = this.#options;
    return [...regions].sort((a, b) => Number(b === preferredRegion) - Number(a === preferredRegion));
  }

  #moved(now: Topology, before: Topology): void {
    const { partitionSets } = now;
    for (const cache of [this.#cache, this.#heldCache]) {
      cache.setRegions(this.#ordered(now));
      for (const name of before.partitionSets) if (!partitionSets.has(name)) cache.forget(name);
    }
  }
}

/** A rejection is the whole truth only if no other attempt may yet be carried out. */
function isAnswer<A extends NodeAnswer>(
  { takesRejection = false }: Request<A>,
  result: Exclude<PlanResult<A>, { readonly ok: true }>,
): result is Rejected<A> {
  return takesRejection && result.answer !== undefined && result.error.outcome === 'notApplied';
}

/** A node that cannot answer a read in time says so, if it is told a little less than what it has. */
const TOLD = 0.8;

/** A region that holds a request is not silent. */
function patienceWith(heldMs: number): Partial<PlanSettings> {
  const { firstPatienceMs, mostPatienceMs } = PLAN_SETTINGS;
  const least = heldMs + firstPatienceMs;
  return { leastPatienceMs: least, firstPatienceMs: least, mostPatienceMs: heldMs + mostPatienceMs };
}
