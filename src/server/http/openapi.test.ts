import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { AuditTrail } from '../daemon/audit.ts';
import { HistoryKeeper } from '../daemon/history.ts';
import { nodeRoutes } from '../daemon/routes.ts';
import { HttpServer } from './http-server.ts';
import { describeRoutes, withDescription, wordsOf } from './openapi.ts';
import { ROUTE_WORDS } from './openapi-words.ts';
import { statusRoutes, WELL } from './status-routes.ts';

interface Description {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly security: readonly object[];
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
}

const no = (): never => {
  throw new Error('not asked');
};

const NODE = withDescription(
  'Baton',
  nodeRoutes({
    region: 'west',
    places: [],
    history: new HistoryKeeper(),
    audit: new AuditTrail(),
    events: { demandRoom: no, add: no },
    control: undefined,
    origins: new Set(),
    metrics: new Registry(),
    map: no,
    about: no,
    health: no,
    readiness: no,
    node: no,
    now: no,
  }),
);
const GATEWAY = withDescription(
  'Baton gateway',
  statusRoutes({ health: () => WELL, readiness: () => WELL, metrics: new Registry() }),
);

function routesIn({ paths }: Description): string[] {
  return Object.entries(paths)
    .flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`))
    .toSorted();
}

describe.each([
  ['node', NODE],
  ['gateway', GATEWAY],
])('the description of a %s', (_, routes) => {
  const description = describeRoutes(routes, { title: 'Baton' }) as Description;
  const operations = Object.values(description.paths).flatMap((methods) => Object.values(methods));

  test('names exactly the routes that exist', () => {
    const expected = routes.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
    expect(routesIn(description)).toEqual(expected.toSorted());
    expect(description.openapi).toBe('3.1.0');
  });

  test('has words for each, an id of its own, and says which need a token', () => {
    for (const route of routes) expect(wordsOf(route)?.summary, route.path).toMatch(/\.$/);
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
    for (const route of routes) {
      const operation =
        description.paths[route.path.replaceAll(/:(\w+)/g, '{$1}')]![route.method.toLowerCase()]!;
      expect(operation.security.flatMap((one) => Object.keys(one))).toEqual(
        route.isOpen === true ? [] : route.method === 'GET' ? ['viewer', 'operator'] : ['operator'],
      );
      const inPath = (operation.parameters ?? [])
        .filter((one) => one.in === 'path')
        .map(({ name }) => `:${name}`);
      expect(inPath).toEqual(route.path.match(/:\w+/g) ?? []);
    }
  });
});

test('every route of a node says what it answers, and those that are posted what they take', () => {
  const text = new Set(['GET /metrics', 'GET /', 'GET /assets/:file']);
  for (const { method, path, forms } of NODE) {
    expect(forms?.answer !== undefined, path).toBe(!text.has(`${method} ${path}`));
    expect(forms?.body !== undefined, path).toBe(method === 'POST');
  }
  const { paths } = describeRoutes(NODE, { title: 'Baton' }) as Description;
  expect(paths['/v1/partition-sets/{name}/intents']!['post']).toMatchObject({
    requestBody: { content: { 'application/json': { schema: { required: ['intent', 'id', 'who'] } } } },
    responses: { 200: { content: { 'application/json': { schema: { required: ['state'] } } } } },
  });
  expect(paths['/readiness']!['get']).toMatchObject({
    responses: { 503: { content: { 'application/json': { schema: { required: ['status', 'reasons'] } } } } },
  });
});

test('there are no words for routes that do not exist', () => {
  const existing = new Set([...NODE, ...GATEWAY].map(({ method, path }) => `${method} ${path}`));
  expect(Object.keys(ROUTE_WORDS).filter((name) => !existing.has(name))).toEqual([]);
});

test('every server of a process serves it, to everybody', async () => {
  const server = await HttpServer.listen({
    address: { host: '127.0.0.1', port: 0 },
    title: 'Baton test',
    token: () => 'secret',
    routes: statusRoutes({ health: () => WELL, readiness: () => WELL, metrics: new Registry() }),
  });
  const answer = await fetch(`http://127.0.0.1:${server.address.port}/openapi.json`);
  const description = (await answer.json()) as Description;
  await server.close();
  expect(description).toMatchObject({ info: { title: 'Baton test' } });
  expect(routesIn(description)).toEqual([
    'GET /health',
    'GET /liveness',
    'GET /metrics',
    'GET /openapi.json',
    'GET /readiness',
  ]);
});
