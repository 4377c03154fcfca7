/**
 * Containers: create, read, list, replace, delete. A new container is in the catalogue first; then its partition-sets come into
 * being at the nodes and find their writers, and only then is its creator told, so that its first write need not wait.
 */
import {
  addContainer,
  type Catalog,
  type ContainerEntry,
  containersOf,
  dropContainer,
  findContainer,
  findDatabase,
  partitionSetName,
  replaceContainer,
  ridOf,
} from '../catalog/index.ts';
import { accepted, idIn, objectIn } from './bodies.ts';
import { definitionIn, partitionSetsFor, throughputIn } from './container-bodies.ts';
import type { GatewayAnswer, GatewayContext, GatewayRequest, Handler } from './context.ts';
import { badRequest, methodNotAllowed, notSupported } from './errors.ts';
import { pageOf } from './feeds.ts';
import { headerOf, isQuery } from './headers.ts';
import { containerIn, databaseIn } from './lookup.ts';
import { containerView, etagOf, versionIn } from './views.ts';

/** Its creator waits no longer than this for writers. */
const WRITABLE_WITHIN_MS = 10_000;
const ASK_MS = 2000;
const PAUSE_MS = 100;

export const handleContainers: Handler = (request, context) => {
  const { method, resource, headers } = request;
  if (resource.isFeed) {
    if (method === 'GET') return list(request, context);
    if (method === 'POST' && isQuery(headers)) throw notSupported('Queries of containers are');
    if (method === 'POST') return create(request, context);
  } else {
    if (method === 'GET') return read(request, context);
    if (method === 'PUT') return replace(request, context);
    if (method === 'DELETE') return drop(request, context);
  }
  throw methodNotAllowed('A container can be created, read, replaced and deleted, and nothing else.');
};

async function list({ resource, headers }: GatewayRequest, context: GatewayContext): Promise<GatewayAnswer> {
  const catalog = await context.catalog.read();
  const database = databaseIn(catalog, resource);
  return pageOf(headers, {
    name: 'DocumentCollections',
    rid: ridOf(database),
    entries: containersOf(catalog, database),
    view: (container) => containerView(database, container),
  });
}

async function create(request: GatewayRequest, context: GatewayContext): Promise<GatewayAnswer> {
  const { headers, resource } = request;
  const body = objectIn(request.body);
  const id = idIn(body);
  const { partitionKey, defaultTtl, extra } = definitionIn(body);
  if (partitionKey === undefined) throw badRequest('A container needs a partition key: {"paths": ["/..."]}.');
  const throughput = throughputIn(headers);
  const container = {
    id,
    partitionKey,
    partitionSets: partitionSetsFor(headers, throughput),
    defaultTtl,
    throughput,
    extra,
    at: context.host.wallClock(),
  };
  const database = databaseIn(await context.catalog.read(), resource).id;
  const changed = accepted(
    await context.catalog.change((catalog) => addContainer(catalog, database, container)),
  );
  const made = findContainer(changed, database, id)!;
  await untilWritable(request, context, changed, made);
  return answerWith(201, changed, database, made, 5);
}

async function read({ resource }: GatewayRequest, { catalog }: GatewayContext): Promise<GatewayAnswer> {
  const found = containerIn(await catalog.read(), resource);
  return answerWith(200, found.catalog, found.database.id, found.container, 1);
}

async function replace(request: GatewayRequest, context: GatewayContext): Promise<GatewayAnswer> {
  const found = containerIn(await context.catalog.read(), request.resource);
  const [database, id] = [found.database.id, found.container.id];
  const body = objectIn(request.body);
  if (idIn(body) !== id) throw badRequest('The id of a container cannot change.');
  const ifMatch = versionIn(headerOf(request.headers, 'if-match'));
  const replacement = { ...definitionIn(body), ifMatch };
  const changed = accepted(
    await context.catalog.change((catalog) => replaceContainer(catalog, database, id, replacement)),
  );
  tellNodes(context, changed);
  return answerWith(200, changed, database, findContainer(changed, database, id)!, 5);
}

async function drop({ resource, headers }: GatewayRequest, context: GatewayContext): Promise<GatewayAnswer> {
  const { database, container } = containerIn(await context.catalog.read(), resource);
  const ifMatch = versionIn(headerOf(headers, 'if-match'));
  const changed = accepted(
    await context.catalog.change((catalog) => dropContainer(catalog, database.id, container.id, ifMatch)),
  );
  tellNodes(context, changed);
  return { status: 204, charge: 5 };
}

function answerWith(
  status: number,
  catalog: Catalog,
  database: string,
  container: ContainerEntry,
  charge: number,
): GatewayAnswer {
  const body = containerView(findDatabase(catalog, database)!, container);
  return { status, headers: { etag: etagOf(container) }, body, charge };
}

/** They would see it soon anyway. */
export function tellNodes({ partitions }: GatewayContext, { version }: Catalog): void {
  void partitions.look({ version, partitionSets: [], timeoutMs: ASK_MS }).catch(() => {});
}

/** Until every partition-set has a region that takes its writes, or it takes too long: the first writes wait then. */
async function untilWritable(
  { signal, timeoutMs }: GatewayRequest,
  { partitions, host }: GatewayContext,
  { version }: Catalog,
  container: ContainerEntry,
): Promise<void> {
  const missing = new Set(
    Array.from({ length: container.partitionSets }, (_, index) => partitionSetName(container, index)),
  );
  const until = host.now() + Math.min(WRITABLE_WITHIN_MS, timeoutMs);
  for (;;) {
    const left = until - host.now();
    if (missing.size === 0 || left <= 0 || signal.aborted) return;
    const asked = { version, partitionSets: [...missing], timeoutMs: Math.min(ASK_MS, left) };
    for (const { canWrite } of await partitions.look(asked).catch(() => []))
      for (const { partitionSet } of canWrite) missing.delete(partitionSet);
    if (missing.size > 0) await new Promise<void>((resolve) => host.after(PAUSE_MS, resolve));
  }
}
