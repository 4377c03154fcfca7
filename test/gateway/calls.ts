/** Small words for tests that talk to a door with the public client. */
import type { Container, Database, ErrorResponse } from '@azure/cosmos';

export interface Failure {
  readonly code: number | string | undefined;
  readonly substatus: number | undefined;
  readonly message: string;
  readonly retryAfterInMs: number | undefined;
}

/** How a call failed; it must. Batches wrap what the door said. */
export async function failureOf(call: Promise<unknown>): Promise<Failure> {
  try {
    await call;
  } catch (error) {
    const { code, substatus, message, retryAfterInMs } = ((error as Error).cause ?? error) as ErrorResponse;
    return { code, substatus, message, retryAfterInMs };
  }
  throw new Error('the call succeeded');
}

export async function codeOf(call: Promise<unknown>): Promise<number | string | undefined> {
  return (await failureOf(call)).code;
}

export async function collect<T>(pages: AsyncIterable<{ readonly resources: readonly T[] }>): Promise<T[]> {
  const all: T[] = [];
  for await (const { resources } of pages) all.push(...resources);
  return all;
}

export interface Item {
  readonly id: string;
  readonly pk?: string | number | boolean | null;
  readonly [name: string]: unknown;
}

let made = 0;

/** A new container with the partition key `/pk`. */
export async function newContainer(database: Database, more: object = {}): Promise<Container> {
  made += 1;
  const { container } = await database.containers.create({
    id: `c${made}`,
    partitionKey: { paths: ['/pk'] },
    ...more,
  });
  return container;
}
