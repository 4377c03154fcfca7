/** How a local cluster comes to its configuration: the one that its directory holds, or a new one, at the addresses of this run. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ClusterConfig } from '../config/cluster-config.ts';
import { readClusterFile } from '../config/read.ts';
import { makeCertificates } from './certificates.ts';
import { readState } from './directory.ts';
import { LocalClusterError } from './errors.ts';
import { DEFAULT_PORT_BASE, freeGround, type Ground, groundFrom, layOut } from './ground.ts';
import type { Guard } from './guarded.ts';
import { Namespaces } from './namespaces.ts';
import type { LocalClusterOptions } from './options.ts';
import { CLUSTER_FILE_NAME, planCluster, settle, withDoors } from './plan.ts';
import { demandSameShape, type Shape, shapeFor, shapeOf } from './shape.ts';
import { type GivenStore, readStores, withStores } from './stores.ts';
import { withTokens } from './tokens.ts';

export interface Settled {
  readonly config: ClusterConfig;
  readonly portBase: number | null;
  readonly namespaces: Namespaces | undefined;
  /** As this run was told of them. */
  readonly stores: readonly GivenStore[];
}

export async function settleDown(options: LocalClusterOptions, guard: Guard): Promise<Settled> {
  const { directory, portBase: asked, namespaces: secure = false } = options;
  const path = join(directory, CLUSTER_FILE_NAME);
  const kept = existsSync(path) ? await readClusterFile(path) : undefined;
  const before = kept && (await readState(directory));
  if (kept) demandSameShape(shapeOf(kept), options, directory);
  const shape = kept ? shapeOf(kept) : shapeFor(options);
  if (secure) demandNoStores(shape);
  const stores = readStores(options.stores ?? []);
  const last = before === undefined ? DEFAULT_PORT_BASE : before.portBase;
  const portBase = asked === 'free' ? null : (asked ?? last);
  const isSettled = asked === undefined && !secure && before?.namespaces !== true;
  const hadGateways = (kept?.gateways.length ?? 0) > 0;
  const gateways = options.gateways ?? hadGateways;
  const finish = (config: ClusterConfig, namespaces?: Namespaces): Settled => ({
    config: furnish(config, options, stores),
    portBase,
    namespaces,
    stores,
  });

  if (kept && isSettled && gateways === hadGateways) return finish(kept);
  const outside =
    portBase === null ? await freeGround(shape, { gateways }) : groundFrom(portBase, shape, { gateways });
  if (kept && isSettled) return finish(withDoors(kept, directory, outside));
  const namespaces = secure ? await makeNamespaces(shape, guard) : undefined;
  const ground = namespaces ? spread(shape, namespaces, outside, portBase ?? DEFAULT_PORT_BASE) : outside;
  const plan = { directory, shape, ground, secure };
  const config = kept ? settle(kept, plan) : planCluster(plan);
  try {
    if (secure) await makeCertificates(directory, config);
  } catch (error) {
    namespaces?.close();
    throw error;
  }
  return finish(config, namespaces);
}

function furnish(
  config: ClusterConfig,
  { directory }: LocalClusterOptions,
  stores: readonly GivenStore[],
): ClusterConfig {
  const housed = stores.length > 0 ? withStores(config, stores, directory) : config;
  return withTokens(housed, directory);
}

function demandNoStores({ stores }: Shape): void {
  if (stores.length === 0) return;
  throw new LocalClusterError(
    'OPTIONS_INVALID',
    `A cluster in network namespaces cannot have stores, because it reaches no other server: ${stores.join(', ')}.`,
  );
}

function acceptorNames(shape: Shape): readonly string[] {
  return Array.from({ length: shape.acceptors }, (_, at) => `a${at + 1}`);
}

function makeNamespaces(shape: Shape, guard: Guard): Promise<Namespaces> {
  return Namespaces.make([...shape.regions, ...acceptorNames(shape)], guard);
}

/** Regions and acceptors in their networks; what belongs to none of them outside. */
function spread(shape: Shape, namespaces: Namespaces, outside: Ground, base: number): Ground {
  const addresses = (names: readonly string[]): string[] => names.map((name) => namespaces.addressOf(name));
  const hosts = { regions: addresses(shape.regions), acceptors: addresses(acceptorNames(shape)) };
  const gateways = outside.gateways.length > 0;
  const inside = layOut(shape, (offset) => base + offset, { gateways, hosts });
  return {
    ...inside,
    gateways: [...outside.gateways.slice(0, 1), ...inside.gateways.slice(1)],
    dns: outside.dns,
  };
}
