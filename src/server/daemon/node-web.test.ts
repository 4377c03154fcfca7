/** What the page needs of real nodes: events, roles, other nodes' pages, orders to a local cluster, and the audit trail. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { fromJSONSchema } from 'zod';
import { Daemons, type Region, START_MS } from '../../../test/server/daemons.ts';
import { EventReader } from '../../../test/server/event-reader.ts';
import { until } from '../../../test/support/until.ts';
import { HttpError } from '../http/index.ts';
import type { AuditEntry } from './audit.ts';
import { EVENTS, type EventName, type LocalState, type SetRow } from './events/index.ts';
import { FORMS } from './forms.ts';
import type { ControlClient, LocalOrder } from './local-control.ts';

const OPERATOR = 'operator-token-0123456789';
const VIEWER = 'viewer-token-0123456789';
const TOKENS = `tokens: { operator: ${OPERATOR}, viewer: ${VIEWER} }`;
const bearer = (token: string): { authorization: string } => ({ authorization: `Bearer ${token}` });

const LOCAL: LocalState = {
  processes: [
    { name: 'west-1', role: 'node', region: 'west', state: 'running' },
    { name: 'a1', role: 'acceptor', state: 'paused' },
  ],
  load: { on: true, perSecond: 50, acknowledged: 7, failed: 0, worstGapMs: 12 },
  canCut: false,
};

class FakeControl implements ControlClient {
  readonly orders: LocalOrder[] = [];
  isAway = false;

  readonly look = async (): Promise<LocalState> => {
    if (this.isAway) throw new HttpError(503, 'LOCAL_AWAY', 'Nobody is there.');
    return LOCAL;
  };

  readonly order = async (order: LocalOrder): Promise<{ processes: string[] }> => {
    this.orders.push(order);
    if (order.action === 'cut') throw new HttpError(409, 'CUT_UNAVAILABLE', 'Nothing can be cut here.');
    return { processes: ['west-1'] };
  };
}

let there: Daemons;
const control = new FakeControl();
const readers: EventReader[] = [];

beforeAll(async () => {
  there = await Daemons.of({ more: TOKENS });
  for (const region of ['west', 'east', 'north'] as const) await there.start(region, { control });
  await until('the west writes', async () => (await there.get('west', '/primary')).status === 200);
}, START_MS);
afterAll(() => there.end());
afterEach(() => {
  control.isAway = false;
  for (const reader of readers.splice(0)) reader.close();
});

async function listen(region: Region, token?: string): Promise<EventReader> {
  const reader = await EventReader.open(`http://127.0.0.1:${there.ports.http[region]}/v1/events`, token);
  readers.push(reader);
  return reader;
}

const get = (region: Region, path: string, token = VIEWER) => there.get(region, path, bearer(token));
const post = (region: Region, path: string, body: object, token = OPERATOR) =>
  there.post(region, path, body, bearer(token));
let wishes = 0;
function wish(region: Region, set: string, more: object, token = OPERATOR) {
  wishes += 1;
  const body = { id: `wish-${process.pid}-${wishes}`, who: 'tester', ...more };
  return post(region, `/v1/partition-sets/${set}/intents`, body, token);
}
async function auditOf(region: Region): Promise<AuditEntry[]> {
  return ((await get(region, '/v1/audit?limit=1000')).json as { audit: AuditEntry[] }).audit;
}

describe('events', () => {
  test('the whole first, for viewers and operators, each in the form of its schema', async () => {
    for (const [token, role] of [
      [VIEWER, 'viewer'],
      [OPERATOR, 'operator'],
    ] as const) {
      const reader = await listen('west', token);
      const hello = await reader.named('hello');
      expect(hello.data).toMatchObject({
        node: 'west-1',
        region: 'west',
        cluster: 'demo',
        role,
        isLocal: true,
        regions: ['west', 'east', 'north'],
        timings: { intervalMs: 250, leaseMs: 3000, settleMs: 300 },
      });
      const { sets } = (await reader.named('sets')).data as { sets: SetRow[] };
      expect(sets.map((row) => [row[0], row[3], row[4], row[5], row[6]])).toEqual([
        ['items-00', 'Steady', 'west', 1, 1],
        ['items-01', 'Steady', 'west', 1, 1],
      ]);
      expect((await reader.named('local')).data).toMatchObject(LOCAL);
      const node = await reader.named('node');
      expect(node.data).toMatchObject({ acceptors: [{ name: 'a1', state: 'up', rttMs: null }, {}, {}] });
      expect(reader.events[0]).toBe(hello);
      for (const { name, data } of reader.events) expect(EVENTS[name as EventName].parse(data)).toEqual(data);
    }
  });

  test('a switchover is seen where the writes come from and where they go', async () => {
    const [west, east] = [await listen('west', VIEWER), await listen('east', VIEWER)];
    expect(await wish('north', 'items-01', { intent: { kind: 'switchover', target: 'east' } })).toMatchObject(
      {
        status: 200,
      },
    );
    const isAt = (event: { name: string; data: object }, canWrite: 0 | 1): boolean =>
      event.name === 'sets' &&
      (event.data as { sets: SetRow[] }).sets.some(
        (row) => row[0] === 'items-01' && row[4] === 'east' && row[5] === canWrite,
      );
    await west.find((event) => isAt(event, 0));
    await east.find((event) => isAt(event, 1));
    const isSwitch = (event: { name: string; data: object }): boolean =>
      event.name === 'history' &&
      (event.data as { entries: { what: string }[] }).entries.some(({ what }) => what === 'switched');
    const { entries } = (await east.find(isSwitch)).data as { entries: { what: string }[] };
    expect(entries.find(({ what }) => what === 'switched')).toMatchObject({
      partitionSet: 'items-01',
      cause: 'operator',
      from: null,
      to: 'east',
      sentence: expect.stringMatching(/^The writes moved to east without loss/) as string,
    });
    for (const { name, data } of [...west.events, ...east.events])
      expect(EVENTS[name as EventName].parse(data)).toEqual(data);
  });

  test('nothing without a token, or with a wrong one', async () => {
    expect((await listen('west')).status).toBe(401);
    expect((await listen('west', 'another-token-0123456789')).status).toBe(401);
  });

  test('to sixty-four, and to one more when one of them has gone', async () => {
    const all = await Promise.all(Array.from({ length: 64 }, () => listen('north', VIEWER)));
    await Promise.all(all.map((reader) => reader.named('sets')));
    expect((await listen('north', VIEWER)).status).toBe(503);
    expect((await get('north', '/v1/events')).json).toMatchObject({ error: { code: 'TOO_MANY_STREAMS' } });
    all[0]!.close();
    await until('there is room for one more', async () => {
      const reader = await listen('north', VIEWER);
      return reader.status === 200;
    });
  });

  test('end when the node reads its tokens again', async () => {
    const reader = await listen('north', VIEWER);
    await reader.named('hello');
    there.daemon('north').reload(there.config());
    await reader.ended();
  });
});

describe('roles', () => {
  test('viewers look at everything and change nothing', async () => {
    for (const path of ['/v1/node', '/v1/map', '/v1/partition-sets', '/v1/audit', '/v1/local'])
      expect((await get('west', path)).status, path).toBe(200);
    const pause = { intent: { kind: 'pause' } };
    for (const answer of [
      await wish('west', 'items-00', pause, VIEWER),
      await wish('west', 'items-00', { ...pause, dryRun: true }, VIEWER),
      await post('west', '/v1/local/orders', { action: 'kill', targets: ['west'] }, VIEWER),
    ])
      expect(answer).toMatchObject({ status: 403, json: { error: { code: 'ROLE_TOO_WEAK' } } });
    expect(control.orders).toEqual([]);
  });

  test("pages of the cluster's nodes may ask, and no others", async () => {
    const url = `http://127.0.0.1:${there.ports.http['west']}/v1/node`;
    const allowed = async (origin: string): Promise<string | null> => {
      const answer = await fetch(url, { headers: { origin, ...bearer(VIEWER) } });
      await answer.text();
      return answer.headers.get('access-control-allow-origin');
    };
    const east = `http://127.0.0.1:${there.ports.http['east']}`;
    expect(await allowed(east)).toBe(east);
    expect(await allowed(`http://127.0.0.1:${there.ports.rpc['east']}`)).toBeNull();
  });
});

describe('the audit trail', () => {
  test('has who asked what and how it ended, and not what was only tried', async () => {
    const before = (await auditOf('east')).length;
    const pause = { intent: { kind: 'pause' } };
    expect((await wish('east', 'items-00', { ...pause, dryRun: true })).status).toBe(200);
    expect((await wish('east', 'items-00', pause)).status).toBe(200);
    expect((await wish('east', 'items-00', { intent: { kind: 'switchover', target: 'mars' } })).status).toBe(
      409,
    );
    const lost = { partitionSet: 'items-00', epoch: 1, lsn: 1, who: 'settler' };
    expect((await post('east', '/v1/lost-writes/dismiss', lost)).status).toBe(404);
    expect((await wish('east', 'items-00', { intent: { kind: 'resume' } })).status).toBe(200);
    const made = (await auditOf('east')).slice(before);
    const by = { role: 'operator', who: 'tester', from: '127.0.0.1', target: 'items-00' };
    expect(made).toMatchObject([
      { ...by, action: 'intent', detail: pause, outcome: 'done', code: null },
      { ...by, action: 'intent', outcome: 'refused', code: 'INTENT_REFUSED' },
      { ...by, who: 'settler', action: 'dismiss', outcome: 'refused', code: 'LOST_WRITE_UNKNOWN' },
      { ...by, detail: { intent: { kind: 'resume' } }, outcome: 'done' },
    ]);
    expect(made[0]!.detail).not.toHaveProperty('who');
    const lines = readFileSync(join(there.directory, 'east-1', 'audit.jsonl'), 'utf8');
    expect(lines).toContain('"settler"');
    expect(lines).not.toContain(OPERATOR);
  });

  test('is read page by page', async () => {
    const all = await auditOf('east');
    const last = (await get('east', '/v1/audit?limit=2')).json as { audit: AuditEntry[]; next: number };
    expect(last.audit).toEqual(all.slice(-2));
    const earlier = (await get('east', `/v1/audit?limit=1&before=${last.next}`)).json;
    expect(earlier).toMatchObject({ audit: all.slice(-3, -2) });
    expect((await get('east', '/v1/audit?before=x')).status).toBe(400);
  });
});

describe('orders to a local cluster', () => {
  test('reach whoever runs it, with his refusals, and are written down', async () => {
    expect((await get('west', '/v1/local')).json).toEqual(LOCAL);
    control.orders.length = 0;
    const kill = { action: 'kill', targets: ['west', 'a1'], who: 'me' };
    expect(await post('east', '/v1/local/orders', kill)).toEqual({
      status: 200,
      json: { processes: ['west-1'] },
    });
    expect(
      (await post('east', '/v1/local/orders', { action: 'load', on: true, perSecond: 100 })).status,
    ).toBe(200);
    expect(await post('east', '/v1/local/orders', { action: 'cut', targets: ['west'] })).toMatchObject({
      status: 409,
      json: { error: { code: 'CUT_UNAVAILABLE', message: 'Nothing can be cut here.' } },
    });
    expect(await post('east', '/v1/local/orders', { action: 'dance' })).toMatchObject({ status: 400 });
    expect(control.orders.map(({ action }) => action)).toEqual(['kill', 'load', 'cut']);
    expect((await auditOf('east')).slice(-4)).toMatchObject([
      { action: 'local', who: 'me', target: 'west, a1', detail: { action: 'kill' }, outcome: 'done' },
      { action: 'local', who: null, target: null, detail: { action: 'load', on: true }, outcome: 'done' },
      { action: 'local', outcome: 'refused', code: 'CUT_UNAVAILABLE' },
      { action: 'local', outcome: 'refused', code: 'BAD_REQUEST' },
    ]);
  });

  test('when he is away the rest goes on', async () => {
    control.isAway = true;
    expect(await get('west', '/v1/local')).toMatchObject({ status: 503 });
    const reader = await listen('west', VIEWER);
    await reader.named('node');
    control.isAway = false;
    await reader.named('local');
  });
});

describe('the description', () => {
  interface Described {
    readonly paths: Record<string, Record<string, Operation>>;
  }
  interface Operation {
    readonly responses: Record<string, { content: Record<string, { schema: object }> }>;
    readonly requestBody?: { content: Record<string, { schema: object }> };
  }

  const pause = { intent: { kind: 'pause' }, id: 'described', who: 'tester' };
  const ASKED: readonly (readonly [route: string, path: string, body?: object])[] = [
    ['GET /health', '/health'],
    ['GET /liveness', '/liveness'],
    ['GET /readiness', '/readiness'],
    ['GET /openapi.json', '/openapi.json'],
    ['GET /primary', '/primary?partitionSet=items-00'],
    ['GET /primary', '/primary?partitionSet=items-01'],
    ['GET /replica', '/replica'],
    ['GET /v1/node', '/v1/node'],
    ['GET /v1/map', '/v1/map'],
    ['GET /v1/partition-sets', '/v1/partition-sets'],
    ['GET /v1/partition-sets', '/v1/partition-sets?fresh=1'],
    ['GET /v1/partition-sets/{name}/history', '/v1/partition-sets/items-01/history'],
    ['GET /v1/history', '/v1/history?limit=1'],
    ['GET /v1/audit', '/v1/audit'],
    ['GET /v1/local', '/v1/local'],
    ['GET /v1/lost-writes', '/v1/lost-writes'],
    [
      'POST /v1/partition-sets/{name}/intents',
      '/v1/partition-sets/items-00/intents',
      { ...pause, dryRun: true },
    ],
    ['POST /v1/partition-sets/{name}/intents', '/v1/partition-sets/items-00/intents', pause],
    [
      'POST /v1/lost-writes/reapply',
      '/v1/lost-writes/reapply',
      { partitionSet: 'items-00', epoch: 1, lsn: 1 },
    ],
    [
      'POST /v1/lost-writes/dismiss',
      '/v1/lost-writes/dismiss',
      { partitionSet: 'items-00', epoch: 1, lsn: 1 },
    ],
    ['POST /v1/local/orders', '/v1/local/orders', { action: 'heal' }],
  ];

  test('fits what a real node takes and answers, route by route', async () => {
    const { paths } = (await get('west', '/openapi.json')).json as Described;
    const left = new Set(
      Object.entries(paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
      ),
    );
    for (const other of ['GET /', 'GET /assets/{file}', 'GET /metrics', 'GET /v1/events']) left.delete(other);
    for (const [route, path, body] of ASKED) {
      left.delete(route);
      const [method, name] = route.split(' ') as ['GET' | 'POST', string];
      const operation = paths[name]![method.toLowerCase()]!;
      const { status, json } =
        body === undefined ? await get('west', path, OPERATOR) : await post('west', path, body);
      const { content } = operation.responses[String(status)] ?? operation.responses['default']!;
      if (body !== undefined)
        expect(valid(operation.requestBody!.content['application/json']!.schema, body), path).toBe('ok');
      expect(valid(content['application/json']!.schema, json), `${path} ${status}`).toBe('ok');
    }
    expect([...left]).toEqual([]);
  });

  test('names every field that is answered', async () => {
    const answers = {
      about: '/v1/node',
      map: '/v1/map',
      partitionSets: '/v1/partition-sets',
      historyOf: '/v1/partition-sets/items-01/history',
      history: '/v1/history',
      audit: '/v1/audit',
      local: '/v1/local',
      lostWrites: '/v1/lost-writes',
    } as const;
    for (const [form, path] of Object.entries(answers)) {
      const { json } = await get('west', path);
      expect(FORMS[form as keyof typeof answers].answer.parse(json), path).toEqual(json);
    }
  });

  /** The schema as it was sent, with what it refers to. */
  function valid(schema: object, value: unknown): string {
    const isError = '$ref' in schema;
    if (isError)
      return typeof (value as { error: { code: string } }).error.code === 'string' ? 'ok' : 'no error';
    const read = fromJSONSchema(schema as Parameters<typeof fromJSONSchema>[0]).safeParse(value);
    return read.success ? 'ok' : JSON.stringify(read.error.issues);
  }
});
