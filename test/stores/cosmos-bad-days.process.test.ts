/** Cosmos DB, killed, stopped and put back: its server is a whole cluster, which takes seconds to start each time. */
import { afterAll, beforeAll } from 'vitest';
import { badDays } from './bad-days.ts';
import { restarts } from './restarts.ts';
import { type GatewayServer, startGateway } from './servers/gateway.ts';

let server: GatewayServer;

beforeAll(async () => {
  server = await startGateway();
});
afterAll(() => server?.close());

badDays('cosmos', () => server, { kills: 2 });
restarts('cosmos', () => server);
