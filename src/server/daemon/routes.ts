/** What a node answers to operators over HTTP. Everything it needs of the node is in `NodeFacade`; the forms are in docs/http.md. */
import type { Registry } from 'prom-client';
import type { ClusterMap } from '../../client/index.ts';
import type { EnginePartition } from '../../engine/index.ts';
import { type FailoverState, sentenceOf } from '../../failover/index.ts';
import type { PartitionSetPlace } from '../config/index.ts';
import {
  type Health,
  type HttpAnswer,
  HttpError,
  type HttpRequest,
  type Route,
  statusRoutes,
} from '../http/index.ts';
import type { RegionNode } from '../node/region-node.ts';
import type { HistoryKeeper } from './history.ts';
import { intentIn, tryIntent } from './intents.ts';
import { dismiss, listLostWrites, lostWriteIn, reapply } from './lost-writes.ts';
import { translated } from './translate.ts';
import { type LocalView, localOf, type PartitionSetView, viewOf } from './views.ts';

export interface NodeFacade {
  readonly region: string;
  readonly places: readonly PartitionSetPlace[];
  readonly history: HistoryKeeper;
  readonly metrics: Registry;
  readonly map: () => ClusterMap;
  readonly about: () => Promise<object>;
  readonly health: () => Health;
  readonly readiness: () => Health;
  /** Undefined while it waits for its acceptors. */
  readonly node: () => RegionNode | undefined;
  readonly now: () => Date;
}

const READ_MS = 3000;
const WRITE_MS = 5000;
const AT_ONCE = 64;

export function nodeRoutes(facade: NodeFacade): readonly Route[] {
  const api = new NodeApi(facade);
  const get = (path: string, handle: Route['handle'], isOpen = false): Route => ({
    method: 'GET',
    path,
    handle: (request) => translated(() => handle(request)),
    isOpen,
  });
  const post = (path: string, handle: Route['handle']): Route => ({
    method: 'POST',
    path,
    handle: (request) => translated(() => handle(request)),
  });
  return [
    ...statusRoutes({ health: facade.health, readiness: facade.readiness, metrics: facade.metrics }),
    get('/primary', (request) => api.primary(request), true),
    get('/replica', (request) => api.replica(request), true),
    get('/v1/node', async () => ({ json: await facade.about() })),
    get('/v1/map', () => ({ json: facade.map() })),
    get('/v1/partition-sets', (request) => api.partitionSets(request)),
    get('/v1/partition-sets/:name/history', (request) => api.history(request)),
    post('/v1/partition-sets/:name/intents', (request) => api.intent(request)),
    get('/v1/lost-writes', (request) => api.lostWrites(request)),
    post('/v1/lost-writes/reapply', (request) => api.reapply(request)),
    post('/v1/lost-writes/dismiss', (request) => api.dismiss(request)),
  ];
}

class NodeApi {
  readonly #facade: NodeFacade;

  constructor(facade: NodeFacade) {
    this.#facade = facade;
  }

  /** 200 if this node takes the writes of all its partition-sets, or of the one that is asked for. */
  primary({ query }: HttpRequest): HttpAnswer {
    return this.#every(query, (local) => local?.canWrite === true, 'does not take writes here');
  }

  replica({ query }: HttpRequest): HttpAnswer {
    return this.#every(query, (local) => local?.canRead === true, 'cannot be read here');
  }

  #every(query: URLSearchParams, is: (local: LocalView | undefined) => boolean, what: string): HttpAnswer {
    const not = this.#asked(query).filter(({ name }) => !is(this.#local(name)));
    const reasons = not.map(({ name }) => `${name} ${what}.`);
    return {
      status: not.length === 0 ? 200 : 503,
      json: { status: not.length === 0 ? 'ok' : 'no', reasons },
    };
  }

  /** Those whose state is known; asked for one alone, or freshly, it says why not. */
  async partitionSets({ query }: HttpRequest): Promise<HttpAnswer> {
    const places = this.#asked(query);
    const states = isTrue(query.get('fresh'))
      ? await this.#allFresh(places)
      : places.map(({ name }) => this.#state(name));
    const partitionSets = places.flatMap((place, at) => {
      const state = states[at];
      return state === undefined ? [] : [this.#view(place, state)];
    });
    if (query.has('partitionSet') && partitionSets.length === 0) throw unseen(places[0]!.name);
    return { json: { partitionSets } };
  }

  async history({ params, query }: HttpRequest): Promise<HttpAnswer> {
    const { name } = this.#place(params['name']!);
    const state = isTrue(query.get('fresh')) ? await this.#fresh(name) : this.#state(name);
    const entries = this.#facade.history.of(name, state);
    return { json: { history: entries.map((entry) => ({ ...entry, sentence: sentenceOf(entry) })) } };
  }

  async intent({ params, body }: HttpRequest): Promise<HttpAnswer> {
    const place = this.#place(params['name']!);
    const at = this.#facade.now().toISOString();
    const posted = intentIn(body, at);
    if (posted.dryRun) {
      const found = await this.#fresh(place.name);
      if (found === undefined) throw unseen(place.name);
      const { state, changes } = tryIntent(found, posted, at);
      return { json: { dryRun: true, changes, state: this.#view(place, state) } };
    }
    const agent = this.#node.agents.agentOf(place.name);
    if (agent === undefined) throw new HttpError(503, 'NOT_READY', `${place.name} is not running here now.`);
    return { json: { state: this.#view(place, await agent.post(posted.intent, posted.by)) } };
  }

  lostWrites({ query }: HttpRequest): HttpAnswer {
    const partitions = this.#asked(query).map(({ name }) => this.#partition(name));
    return { json: listLostWrites(partitions) };
  }

  async reapply({ body }: HttpRequest): Promise<HttpAnswer> {
    const name = lostWriteIn(body);
    const { partitionSet } = name;
    const node = this.#node;
    await reapply(this.#partition(partitionSet), name, (request) =>
      node.writeAnywhere(partitionSet, request, WRITE_MS),
    );
    return { json: { closed: 'reapplied' } };
  }

  async dismiss({ body }: HttpRequest): Promise<HttpAnswer> {
    const name = lostWriteIn(body);
    await dismiss(this.#partition(name.partitionSet), name);
    return { json: { closed: 'dismissed' } };
  }

  get #node(): RegionNode {
    const node = this.#facade.node();
    if (node !== undefined) return node;
    throw new HttpError(503, 'NOT_READY', 'The node waits for its acceptors.');
  }

  #asked(query: URLSearchParams): readonly PartitionSetPlace[] {
    const name = query.get('partitionSet');
    return name === null ? this.#facade.places : [this.#place(name)];
  }

  #place(name: string): PartitionSetPlace {
    const place = this.#facade.places.find((one) => one.name === name);
    if (place !== undefined) return place;
    throw new HttpError(404, 'UNKNOWN_PARTITION_SET', `This node has no copy of partition-set ${name}.`);
  }

  #partition(name: string): EnginePartition {
    return this.#node.engine.partition(this.#place(name).name);
  }

  #state(name: string): FailoverState | undefined {
    return this.#facade.node()?.agents.agentOf(name)?.state;
  }

  #fresh(name: string): Promise<FailoverState | undefined> {
    return this.#node.readState(name, READ_MS);
  }

  /** A few at a time: there may be thousands. */
  async #allFresh(places: readonly PartitionSetPlace[]): Promise<readonly (FailoverState | undefined)[]> {
    const states: (FailoverState | undefined)[] = [];
    for (let at = 0; at < places.length; at += AT_ONCE) {
      const some = places.slice(at, at + AT_ONCE);
      states.push(...(await Promise.all(some.map(({ name }) => this.#fresh(name)))));
    }
    return states;
  }

  #local(name: string): LocalView | undefined {
    const node = this.#facade.node();
    const partition = node?.partition(name);
    return partition && localOf(this.#facade.region, partition, node?.agents.agentOf(name));
  }

  #view(place: PartitionSetPlace, state: FailoverState): PartitionSetView {
    return viewOf(place, state, this.#local(place.name));
  }
}

function isTrue(value: string | null): boolean {
  return value === '1' || value === 'true';
}

function unseen(name: string): HttpError {
  return new HttpError(503, 'NOT_READY', `Nothing is known of ${name} here yet.`);
}
