/** What a node answers to operators over HTTP. Everything it needs of the node is in `NodeFacade`; the forms are in docs/http.md. */
import type { Registry } from 'prom-client';
import type { ClusterMap } from '../../client/index.ts';
import type { EnginePartition } from '../../engine/index.ts';
import { type FailoverState, sentenceOf } from '../../failover/index.ts';
import type { PartitionSetPlace } from '../config/index.ts';
import {
  badRequest,
  type Health,
  type HttpAnswer,
  HttpError,
  type HttpRequest,
  type Route,
  type RouteForms,
  statusRoutes,
} from '../http/index.ts';
import type { RegionNode } from '../node/region-node.ts';
import type { AuditEntry, AuditTrail } from './audit.ts';
import { audited } from './audited.ts';
import type { EventHub } from './events/index.ts';
import { FORMS } from './forms.ts';
import type { HistoryKeeper } from './history.ts';
import { intentIn, tryIntent } from './intents.ts';
import { dismiss, limitIn, listLostWrites, lostWriteIn, lostWriteQueryIn, reapply } from './lost-writes.ts';
import { type ControlClient, LOCAL_ORDER } from './local-control.ts';
import { pageRoutes } from './page.ts';
import { translated } from './translate.ts';
import { type LocalView, localOf, type PartitionSetView, viewOf } from './views.ts';

export interface NodeFacade {
  readonly region: string;
  readonly places: readonly PartitionSetPlace[];
  readonly history: HistoryKeeper;
  readonly audit: AuditTrail;
  readonly events: Pick<EventHub, 'demandRoom' | 'add'>;
  /** Of a local cluster: whoever runs it. */
  readonly control: ControlClient | undefined;
  /** Of the cluster's nodes: where the page may ask. */
  readonly origins: ReadonlySet<string>;
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
/** Changes in one answer: at most, and when nothing is said. */
const MOST_HISTORY = 1000;
const USUAL_HISTORY = 50;

export function nodeRoutes(facade: NodeFacade): readonly Route[] {
  const { audit, now } = facade;
  const api = new NodeApi(facade);
  const get = (path: string, forms: RouteForms, handle: Route['handle'], isOpen = false): Route => ({
    method: 'GET',
    path,
    forms,
    handle: (request) => translated(() => handle(request)),
    isOpen,
  });
  const act = (
    path: string,
    forms: RouteForms,
    action: AuditEntry['action'],
    handle: Route['handle'],
  ): Route => ({
    method: 'POST',
    path,
    forms,
    handle: audited((request) => translated(() => handle(request)), { audit, now, action }),
  });
  return [
    ...statusRoutes({ health: facade.health, readiness: facade.readiness, metrics: facade.metrics }),
    ...pageRoutes({ origins: facade.origins }),
    get('/primary', FORMS.standing, (request) => api.primary(request), true),
    get('/replica', FORMS.standing, (request) => api.replica(request), true),
    get('/v1/node', FORMS.about, async () => ({ json: await facade.about() })),
    get('/v1/map', FORMS.map, () => ({ json: facade.map() })),
    get('/v1/events', FORMS.events, (request) => api.events(request)),
    get('/v1/partition-sets', FORMS.partitionSets, (request) => api.partitionSets(request)),
    get('/v1/partition-sets/:name/history', FORMS.historyOf, (request) => api.historyOf(request)),
    get('/v1/history', FORMS.history, (request) => api.history(request)),
    get('/v1/audit', FORMS.audit, (request) => api.audit(request)),
    get('/v1/lost-writes', FORMS.lostWrites, (request) => api.lostWrites(request)),
    get('/v1/local', FORMS.local, async () => ({ json: await api.control.look() })),
    act('/v1/partition-sets/:name/intents', FORMS.intent, 'intent', (request) => api.intent(request)),
    act('/v1/lost-writes/reapply', FORMS.settled, 'reapply', (request) => api.reapply(request)),
    act('/v1/lost-writes/dismiss', FORMS.settled, 'dismiss', (request) => api.dismiss(request)),
    act('/v1/local/orders', FORMS.orders, 'local', (request) => api.order(request)),
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

  /** The newest page, or the one `before` a number. */
  history({ query }: HttpRequest): HttpAnswer {
    const names = new Set(this.#asked(query).map(({ name }) => name));
    const limit = limitIn(query, MOST_HISTORY, USUAL_HISTORY);
    const { entries, next } = this.#facade.history.page(names, { before: beforeIn(query), limit });
    const history = entries.map((entry) => ({ ...entry, sentence: sentenceOf(entry) }));
    return { json: { history, ...(next !== undefined && { next }) } };
  }

  async historyOf({ params, query }: HttpRequest): Promise<HttpAnswer> {
    const { name } = this.#place(params['name']!);
    const state = isTrue(query.get('fresh')) ? await this.#fresh(name) : this.#state(name);
    const entries = this.#facade.history.of(name, state);
    return { json: { history: entries.map((entry) => ({ ...entry, sentence: sentenceOf(entry) })) } };
  }

  audit({ query }: HttpRequest): HttpAnswer {
    const limit = limitIn(query, MOST_HISTORY, USUAL_HISTORY);
    const { entries, next } = this.#facade.audit.page({ before: beforeIn(query), limit });
    return { json: { audit: entries, ...(next !== undefined && { next }) } };
  }

  events({ role = 'viewer' }: HttpRequest): HttpAnswer {
    const { events } = this.#facade;
    events.demandRoom();
    return { type: 'text/event-stream', stream: (sink) => events.add(sink, role) };
  }

  get control(): ControlClient {
    const { control } = this.#facade;
    if (control !== undefined) return control;
    throw new HttpError(
      404,
      'NOT_LOCAL',
      'Orders are available only in a local cluster that `baton up` started.',
    );
  }

  async order({ body }: HttpRequest): Promise<HttpAnswer> {
    const { control } = this;
    const order = LOCAL_ORDER.safeParse(body);
    if (!order.success)
      throw badRequest('The order is not valid: it needs an action and targets, as in `baton chaos`.');
    return { json: await control.order(order.data) };
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
    if (agent === undefined)
      throw new HttpError(
        503,
        'NOT_READY',
        `Partition-set ${place.name} is not running on this node at the moment.`,
      );
    return { json: { state: this.#view(place, await agent.post(posted.intent, posted.by)) } };
  }

  lostWrites({ query }: HttpRequest): HttpAnswer {
    const partitions = this.#asked(query).map(({ name }) => this.#partition(name));
    return { json: listLostWrites(partitions, lostWriteQueryIn(query)) };
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
    const names = new Set(query.getAll('partitionSet'));
    return names.size === 0 ? this.#facade.places : [...names].map((name) => this.#place(name));
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

function beforeIn(query: URLSearchParams): number | undefined {
  const text = query.get('before');
  if (text === null) return undefined;
  if (!/^\d{1,16}$/.test(text)) throw badRequest('The field before is wrong: it is the number of a change.');
  return Number(text);
}

function isTrue(value: string | null): boolean {
  return value === '1' || value === 'true';
}

function unseen(name: string): HttpError {
  return new HttpError(503, 'NOT_READY', `This node has not read the state of partition-set ${name} yet.`);
}
