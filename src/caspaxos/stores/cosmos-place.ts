/**
 * The account and the container, looked at before they are used. Reads have to see every write that was answered before, so
 * the account has to be at Strong; and what expires by itself is no memory.
 */
import type { Container, ContainerDefinition, CosmosClient } from '@azure/cosmos';
import { CasPaxosError } from '../errors.ts';
import { cosmosFailure, type CosmosPlace, missingPlace, STATUS, statusOf } from './cosmos-errors.ts';

export async function demandAccount(
  client: CosmosClient,
  { url }: CosmosPlace,
  abortSignal: AbortSignal,
): Promise<void> {
  const { resource } = await client.getDatabaseAccount({ abortSignal });
  const level: string | undefined = resource?.consistencyPolicy;
  if (level !== 'Strong') {
    const message = `Acceptor ${url} needs an account whose default consistency is Strong; this one has ${level ?? 'none'}: change it, or use another account.`;
    throw new CasPaxosError('STORE_FAILED', message);
  }
  if (resource?.enableMultipleWritableLocations === true) {
    const message = `Acceptor ${url} needs an account that is written in one region; this one is written in several.`;
    throw new CasPaxosError('STORE_FAILED', message);
  }
}

export async function demandContainer(
  container: Container,
  place: CosmosPlace,
  abortSignal: AbortSignal,
): Promise<void> {
  const found = await lookAt(() => container.read({ abortSignal }), place);
  if (found?.resource === undefined) throw missingPlace(place);
  demandUsable(found.resource, place);
}

/** Makes the database and the container if they are not there. */
export async function makeContainer(
  client: CosmosClient,
  place: CosmosPlace,
  abortSignal: AbortSignal,
): Promise<void> {
  const database = client.database(place.database);
  const container = database.container(place.container);
  let found = await lookAt(() => container.read({ abortSignal }), place);
  if (found?.resource === undefined) {
    const options = { abortSignal };
    if ((await lookAt(() => database.read(options), place)) === undefined)
      await make(() => client.databases.create({ id: place.database }, options), place);
    await make(() => database.containers.create(definition(place.container), options), place);
    found = await container.read({ abortSignal });
  }
  demandUsable(found.resource!, place);
}

/** Nothing of it is ever searched: an index would only cost. */
function definition(id: string): ContainerDefinition {
  return {
    id,
    partitionKey: { paths: ['/shard'], version: 2 },
    indexingPolicy: {
      indexingMode: 'consistent',
      automatic: true,
      includedPaths: [],
      excludedPaths: [{ path: '/*' }],
    },
  };
}

function demandUsable(found: ContainerDefinition, { url, container }: CosmosPlace): void {
  if (found.partitionKey?.paths.join() !== '/shard') {
    const message = `Acceptor ${url} needs a container whose partition key is /shard; ${container} is another: name one that is not there yet, and it is made.`;
    throw new CasPaxosError('STORE_FAILED', message);
  }
  if ((found.defaultTtl ?? -1) > 0) {
    const message = `Acceptor ${url} would forget: the items of the container ${container} expire; switch its time to live off.`;
    throw new CasPaxosError('STORE_FAILED', message);
  }
}

async function lookAt<T>(look: () => Promise<T>, place: CosmosPlace): Promise<T | undefined> {
  try {
    return await look();
  } catch (error) {
    if (statusOf(error) === STATUS.notFound) return undefined;
    throw cosmosFailure(place, error);
  }
}

async function make(create: () => Promise<unknown>, place: CosmosPlace): Promise<void> {
  try {
    await create();
  } catch (error) {
    // Somebody else was faster.
    if (statusOf(error) !== STATUS.conflict) throw cosmosFailure(place, error);
  }
}
