/** One message of every type that nodes send each other about a partition, with all that it may hold. */
import type { PartitionMessage } from 'baton/engine';

export const entry = {
  epoch: 1,
  lsn: 2,
  at: 3,
  operation: 'o',
  statuses: [201],
  changes: [
    {
      epk: '0'.repeat(32),
      id: 'a',
      partitionKey: '["k"]',
      body: Buffer.from('{}'),
      createdLsn: 0,
      previous: 0,
    },
  ],
};
export const position = { epoch: 1, lsn: 2 };

const said = { gcn: 1, session: 2 };
const table = [{ epoch: 1, lsn: 1 }];
const marks = { gclsn: 1, safe: 1, everywhere: 1 };
const entries = [entry];

/** All that nodes say about a partition: the compiler demands every type. */
export const PARTITION_MESSAGES: {
  readonly [Type in PartitionMessage['type']]: Extract<PartitionMessage, { readonly type: Type }>;
} = {
  invite: { type: 'invite', gcn: 1 },
  follow: { type: 'follow', ...said, copies: true },
  welcome: { type: 'welcome', ...said, epoch: 1, table, tail: position, base: 1, whole: false },
  ready: { type: 'ready', ...said, epoch: 1, base: 1, lsn: 2 },
  entries: { type: 'entries', ...said, after: 3, entries, marks },
  ack: { type: 'ack', ...said, durable: 1, received: 2, gclsn: 1, safe: 1, gap: true },
  ask: { type: 'ask', ...said, number: 1, incarnation: 2 },
  grant: { type: 'grant', ...said, number: 1, ms: 1000, level: 'BoundedStaleness' },
  refuse: { type: 'refuse', ...said },
  damaged: { type: 'damaged', epoch: 1, lsn: 2, rest: true },
  repair: { type: 'repair', entry, upTo: position },
  survey: { type: 'survey', ...said },
  standing: { type: 'standing', ...said, table, tail: position, base: 1, gclsn: 1, building: true },
  fetch: { type: 'fetch', ...said, after: 1, maxBytes: 1 },
  fetched: { type: 'fetched', ...said, after: 1, entries },
  short: { type: 'short', ...said, epoch: 1, lsn: 2 },
};
