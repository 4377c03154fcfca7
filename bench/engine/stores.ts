/** The clients by the name of their system: the client process's half of the table in `systems.ts`. */
import { openBaton } from './baton-client.ts';
import { openEtcd } from './etcd-client.ts';
import { openMemory } from './memory.ts';
import { openPostgres } from './postgres-client.ts';
import type { OpenStore, Store, Use } from './system.ts';

const STORES: Readonly<Record<string, OpenStore>> = {
  baton: openBaton,
  etcd: openEtcd,
  postgres: openPostgres,
  memory: openMemory,
};

export async function openStore(system: string, clientArgs: readonly string[], use: Use): Promise<Store> {
  const open = STORES[system];
  if (open === undefined)
    throw new Error(`there is no client for it; known: ${Object.keys(STORES).join(', ')}.`);
  return open(clientArgs, use);
}
