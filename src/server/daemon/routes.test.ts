/** docs/http.md has every route and every code. */
import { readFileSync } from 'node:fs';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { HTTP_ERRORS } from '../http/index.ts';
import { DAEMON_ERRORS } from './errors.ts';
import { AuditTrail } from './audit.ts';
import { HistoryKeeper } from './history.ts';
import { nodeRoutes } from './routes.ts';

const TEXT = readFileSync(new URL('../../../docs/http.md', import.meta.url), 'utf8');

test('every route is documented, and no other', () => {
  const no = (): never => {
    throw new Error('not asked');
  };
  const routes = nodeRoutes({
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
  });
  const documented = [...TEXT.matchAll(/^\| `((?:GET|POST) [^`]+)` \|/gm)].map(([, route]) => route!);
  expect(documented.toSorted()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).toSorted());
});

test('every code is documented', () => {
  const missing = [...Object.keys(HTTP_ERRORS), ...Object.keys(DAEMON_ERRORS)].filter(
    (code) => !TEXT.includes(`\`${code}\``),
  );
  expect(missing).toEqual([]);
});
