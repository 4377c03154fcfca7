/**
 * Offers: the throughput of containers. Only a container that was given one has an offer; the others may use what there is.
 * Clients find the offer of a container with a query, of which the one condition that they use is understood.
 */
import { type Catalog, type ContainerEntry, databaseOf, setThroughput } from '../catalog/index.ts';
import { accepted, type Fields, isObject, objectIn } from './bodies.ts';
import { tellNodes } from './containers.ts';
import type { GatewayAnswer, GatewayContext, GatewayRequest, Handler } from './context.ts';
import { badRequest, methodNotAllowed, notFound, notSupported } from './errors.ts';
import { pageOf } from './feeds.ts';
import { headerOf, isQuery } from './headers.ts';
import { etagOf, offerIdOf, offerView, versionIn } from './views.ts';

export const handleOffers: Handler = async (request, context) => {
  const { method, resource, headers } = request;
  const catalog = await context.catalog.read();
  if (resource.isFeed && method === 'GET') return list(request, catalog, () => true);
  if (resource.isFeed && method === 'POST' && isQuery(headers))
    return list(request, catalog, conditionIn(objectIn(request.body)));
  if (!resource.isFeed && method === 'GET') return answerWith(catalog, offered(catalog, resource.item));
  if (!resource.isFeed && method === 'PUT') return replace(request, context, catalog);
  throw methodNotAllowed('An offer can be read and replaced, and nothing else.');
};

function list(
  { headers }: GatewayRequest,
  catalog: Catalog,
  isAsked: (offer: Fields) => boolean,
): GatewayAnswer {
  const view = (container: ContainerEntry): object => offerView(catalog, container);
  const entries = catalog.containers.filter(
    (container) => container.throughput !== undefined && isAsked(view(container) as Fields),
  );
  return pageOf(headers, { name: 'Offers', rid: '', entries, view });
}

function offered(catalog: Catalog, id = ''): ContainerEntry {
  const found = catalog.containers.find(
    (container) => container.throughput !== undefined && offerIdOf(container) === id,
  );
  if (found === undefined) throw notFound(`There is no offer ${id}.`);
  return found;
}

async function replace(
  { resource, headers, body }: GatewayRequest,
  context: GatewayContext,
  catalog: Catalog,
): Promise<GatewayAnswer> {
  const container = offered(catalog, resource.item);
  const database = databaseOf(catalog, container);
  const throughput = throughputOf(objectIn(body));
  const ifMatch = versionIn(headerOf(headers, 'if-match'));
  const changed = accepted(
    await context.catalog.change((now) =>
      setThroughput(now, database.id, container.id, { throughput, ifMatch }),
    ),
  );
  tellNodes(context, changed);
  return answerWith(changed, offered(changed, resource.item));
}

function answerWith(catalog: Catalog, container: ContainerEntry): GatewayAnswer {
  return { status: 200, headers: { etag: etagOf(container) }, body: offerView(catalog, container) };
}

/** Of an offer that scales by itself, the most. */
function throughputOf({ content }: Fields): number {
  const { offerThroughput, offerAutopilotSettings } = isObject(content) ? content : {};
  const most = isObject(offerAutopilotSettings) ? offerAutopilotSettings['maxThroughput'] : undefined;
  const units = most ?? offerThroughput;
  if (typeof units !== 'number') throw badRequest('An offer must have content.offerThroughput, a number.');
  return units;
}

const CONDITION =
  /^\s*select\s+\*\s+from\s+(\w+)(?:\s+(?:as\s+)?(?!where\b)(\w+))?\s+where\s+(\w+)\.(resource|offerResourceId|id|_self)\s*=\s*("[^"]*"|'[^']*'|@\w+)\s*$/i;

/** `SELECT * FROM root WHERE root.resource = "dbs/.../"`, or a parameter in its place. */
function conditionIn({ query, parameters }: Fields): (offer: Fields) => boolean {
  if (typeof query === 'string' && /^\s*select\s+\*\s+from\s+\w+(?:\s+\w+)?\s*$/i.test(query))
    return () => true;
  const [, root, alias, of, property = '', given = ''] =
    CONDITION.exec(typeof query === 'string' ? query : '') ?? [];
  if (of === undefined || of !== (alias ?? root))
    throw notSupported('Queries of offers other than by their resource are');
  const name = PROPERTIES.find((one) => one.toLowerCase() === property.toLowerCase())!;
  const value = given.startsWith('@') ? parameterIn(parameters, given) : given.slice(1, -1);
  return (offer) => offer[name] === value;
}

const PROPERTIES = ['resource', 'offerResourceId', 'id', '_self'] as const;

function parameterIn(parameters: unknown, name: string): unknown {
  const all: readonly unknown[] = Array.isArray(parameters) ? parameters : [];
  const found = all.find((one) => isObject(one) && one['name'] === name);
  if (!isObject(found)) throw badRequest(`The query has no value for ${name}.`);
  return found['value'];
}
