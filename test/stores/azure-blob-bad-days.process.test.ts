/** Azure Blob Storage, killed, stopped and put back: its emulator takes seconds to start each time. */
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { findProgram, needProgram } from '../support/programs.ts';
import { badDays } from './bad-days.ts';
import { restarts } from './restarts.ts';
import { startAzurite } from './servers/azurite.ts';
import type { StoreServer } from './servers/server.ts';

let server: StoreServer;

beforeAll(async () => {
  if (findProgram('azurite').path === undefined) return;
  server = await startAzurite();
});
afterAll(() => server?.close());
beforeEach((context) => void needProgram(context, 'azurite'));

badDays('azure-blob', () => server, { kills: 2 });
restarts('azure-blob', () => server);
