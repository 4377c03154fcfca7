/** Databases: create, read, list, delete. A database is a name for containers; deleting it deletes them. */
import { addDatabase, dropDatabase, findDatabase } from '../catalog/index.ts';
import { accepted, idIn, objectIn } from './bodies.ts';
import type { GatewayAnswer, GatewayContext, GatewayRequest, Handler } from './context.ts';
import { methodNotAllowed, notSupported } from './errors.ts';
import { pageOf } from './feeds.ts';
import { headerOf, isQuery } from './headers.ts';
import { databaseIn } from './lookup.ts';
import { databaseView, etagOf, versionIn } from './views.ts';

export const handleDatabases: Handler = (request, context) => {
  const { method, resource, headers } = request;
  if (resource.isFeed) {
    if (method === 'GET') return list(request, context);
    if (method === 'POST' && isQuery(headers)) throw notSupported('Queries of databases are');
    if (method === 'POST') return create(request, context);
  } else {
    if (method === 'GET') return read(request, context);
    if (method === 'DELETE') return drop(request, context);
  }
  throw methodNotAllowed('A database can be created, read and deleted, and nothing else.');
};

async function list({ headers }: GatewayRequest, { catalog }: GatewayContext): Promise<GatewayAnswer> {
  const { databases } = await catalog.read();
  return pageOf(headers, { name: 'Databases', rid: '', entries: databases, view: databaseView });
}

async function create({ body }: GatewayRequest, context: GatewayContext): Promise<GatewayAnswer> {
  const id = idIn(objectIn(body));
  const at = context.host.wallClock();
  const changed = accepted(await context.catalog.change((catalog) => addDatabase(catalog, { id, at })));
  const made = findDatabase(changed, id)!;
  return { status: 201, headers: { etag: etagOf(made) }, body: databaseView(made), charge: 5 };
}

async function read({ resource }: GatewayRequest, { catalog }: GatewayContext): Promise<GatewayAnswer> {
  const found = databaseIn(await catalog.read(), resource);
  return { status: 200, headers: { etag: etagOf(found) }, body: databaseView(found) };
}

async function drop({ resource, headers }: GatewayRequest, context: GatewayContext): Promise<GatewayAnswer> {
  const { id } = databaseIn(await context.catalog.read(), resource);
  const ifMatch = versionIn(headerOf(headers, 'if-match'));
  const changed = accepted(await context.catalog.change((catalog) => dropDatabase(catalog, id, ifMatch)));
  void context.partitions
    .look({ version: changed.version, partitionSets: [], timeoutMs: 1000 })
    .catch(() => {});
  return { status: 204, charge: 5 };
}
