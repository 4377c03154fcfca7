/**
 * The table: partition key `shard`, sort key `key`, both strings; each item has a `version` and a `text` beside them. It is
 * looked at before it is used, because a table with other keys would fail later and less clearly, and because the copies of
 * a global table overwrite each other: two acceptors in them would be one, and not even that.
 */
import type { DynamoDB, TableDescription } from '@aws-sdk/client-dynamodb';
import { setTimeout as sleep } from 'node:timers/promises';
import { CasPaxosError } from '../errors.ts';
import {
  dynamoDbFailure,
  type DynamoDbPlace,
  isMissingTable,
  missingTable,
  nameOfError,
} from './dynamodb-errors.ts';

const LOOK_AGAIN_MS = 100;

/** Throws on a table that is not there or cannot be used. */
export async function demandTable(db: DynamoDB, place: DynamoDbPlace, signal: AbortSignal): Promise<void> {
  const found = await describeTable(db, place, signal);
  if (found === undefined) throw missingTable(place);
  demandUsable(place, found);
  if (!isReady(found)) throw notReady(place, found);
}

/** Makes the table if it is not there, and waits until it can be used. */
export async function makeTable(db: DynamoDB, place: DynamoDbPlace, signal: AbortSignal): Promise<void> {
  const isLate = AbortSignal.timeout(place.timeoutMs * 0.8);
  let found = await describeTable(db, place, signal);
  if (found === undefined) await createTable(db, place, signal);
  for (;;) {
    if (found !== undefined) demandUsable(place, found);
    if (found !== undefined && isReady(found)) return;
    if (isLate.aborted) throw notReady(place, found);
    found = await describeTable(db, place, signal);
    if (found === undefined || !isReady(found)) await sleep(LOOK_AGAIN_MS, undefined, { signal });
  }
}

async function describeTable(
  db: DynamoDB,
  place: DynamoDbPlace,
  signal: AbortSignal,
): Promise<TableDescription | undefined> {
  try {
    const { Table } = await db.describeTable({ TableName: place.table }, { abortSignal: signal });
    return Table;
  } catch (error) {
    if (isMissingTable(error)) return undefined;
    throw dynamoDbFailure(place, 'DescribeTable', error);
  }
}

async function createTable(db: DynamoDB, place: DynamoDbPlace, signal: AbortSignal): Promise<void> {
  try {
    await db.createTable(
      {
        TableName: place.table,
        BillingMode: 'PAY_PER_REQUEST',
        KeySchema: [
          { AttributeName: 'shard', KeyType: 'HASH' },
          { AttributeName: 'key', KeyType: 'RANGE' },
        ],
        AttributeDefinitions: [
          { AttributeName: 'shard', AttributeType: 'S' },
          { AttributeName: 'key', AttributeType: 'S' },
        ],
      },
      { abortSignal: signal },
    );
  } catch (error) {
    // Somebody else was faster.
    if (nameOfError(error) === 'ResourceInUseException') return;
    throw dynamoDbFailure(place, 'CreateTable', error);
  }
}

function demandUsable({ url, table }: DynamoDbPlace, found: TableDescription): void {
  const keys = (found.KeySchema ?? []).map(({ AttributeName, KeyType }) => `${KeyType} ${AttributeName}`);
  const types = (found.AttributeDefinitions ?? [])
    .filter(({ AttributeName }) => AttributeName === 'shard' || AttributeName === 'key')
    .map(({ AttributeType }) => AttributeType);
  if (keys.join() !== 'HASH shard,RANGE key' || types.join() !== 'S,S') {
    const message = `Acceptor ${url} needs a table whose partition key is the string "shard" and whose sort key is the string "key"; ${table} is another: name one that is not there yet, and it is made.`;
    throw new CasPaxosError('STORE_FAILED', message);
  }
  if ((found.Replicas ?? []).length > 0) {
    const message = `Acceptor ${url} needs a table of one region, but ${table} is a global table, whose copies overwrite each other: name another.`;
    throw new CasPaxosError('STORE_FAILED', message);
  }
}

function isReady({ TableStatus }: TableDescription): boolean {
  return TableStatus === 'ACTIVE' || TableStatus === 'UPDATING';
}

function notReady({ url, table }: DynamoDbPlace, found: TableDescription | undefined): CasPaxosError {
  const status = found?.TableStatus ?? 'CREATING';
  const message = `Acceptor ${url} has its table ${table} not ready yet (${status}): try again in half a minute.`;
  return new CasPaxosError('TIMED_OUT', message);
}
