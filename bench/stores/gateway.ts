/** Cosmos DB, as Baton's own gateway does it. A file of its own: what it imports is needed for nothing else here. */
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LocalCluster } from 'baton/server';
import { GatewayServer } from '../../test/stores/servers/gateway.ts';
import type { Place } from './servers.ts';

/** An account of one region at Strong. */
export async function startGateway(): Promise<Place> {
  const directory = mkdtempSync(join(tmpdir(), 'baton-bench-cosmos-'));
  try {
    const cluster = await LocalCluster.start({
      directory,
      isTemporary: true,
      portBase: 'free',
      profile: 'fast',
      gateways: true,
      regions: ['west'],
      acceptors: 1,
      partitionSets: 1,
      consistency: 'Strong',
    });
    const server = new GatewayServer(cluster);
    await server.settle().catch(async (error: unknown) => {
      await server.close();
      throw error;
    });
    return { url: server.urlOf('bench'), stop: () => server.close() };
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
}
