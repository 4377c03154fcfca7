/** What the routes of all processes mean, for `openapi.ts`. A test holds this against the routes that exist. */

export interface RouteWords {
  readonly summary: string;
  /** What may stand in the query. */
  readonly query?: Readonly<Record<string, string>>;
  /** What the body is. */
  readonly body?: string;
  /** Statuses other than 200 that say something of their own; with the same answer as 200, or with an error. */
  readonly statuses?: Readonly<Record<number, { readonly text: string; readonly isAnswer?: boolean }>>;
  /** Of the answer, when it is not JSON. */
  readonly type?: string;
}

const ONE_SET = { partitionSet: 'The name of one partition-set; all of this node otherwise.' };
const PAGE = {
  before: 'The number that the last page ended with.',
  limit: 'How many in one answer.',
};
const FRESH = { fresh: '1: read from the registers instead of what the agents saw last.' };
const LOST_WRITE = 'The name of a lost write.';

export const ROUTE_WORDS: Readonly<Record<string, RouteWords>> = {
  'GET /health': {
    summary: 'Whether something is wrong with this process or its machine.',
    statuses: { 503: { text: 'Something is wrong.', isAnswer: true } },
  },
  'GET /liveness': {
    summary: 'Whether it is alive at all.',
    statuses: { 503: { text: 'A restart would help.', isAnswer: true } },
  },
  'GET /readiness': {
    summary: 'Whether it can be sent work.',
    statuses: { 503: { text: 'Not yet, or not any more.', isAnswer: true } },
  },
  'GET /metrics': {
    summary: 'Metrics, in the text format of Prometheus.',
    type: 'text/plain',
  },
  'GET /openapi.json': { summary: 'This description.' },
  'GET /primary': {
    summary: 'Whether this node takes the writes of its partition-sets, or of one.',
    query: ONE_SET,
    statuses: { 503: { text: 'It does not.', isAnswer: true } },
  },
  'GET /replica': {
    summary: 'Whether this node can be read, for its partition-sets or for one.',
    query: ONE_SET,
    statuses: { 503: { text: 'It cannot.', isAnswer: true } },
  },
  'GET /v1/node': { summary: 'Who this node is, its disk, its acceptors and its peers as it sees them.' },
  'GET /v1/map': {
    summary: 'The map of the cluster: regions with their nodes, containers with their partition-sets.',
  },
  'GET /v1/partition-sets': {
    summary:
      'The partition-sets of this node: their state, what each region reported, what is measured here.',
    query: { ...ONE_SET, ...FRESH },
  },
  'GET /v1/partition-sets/:name/history': {
    summary: 'What happened to a partition-set, by whose update and why.',
    query: FRESH,
  },
  'GET /v1/history': {
    summary: 'What happened to the partition-sets of this node, the newest first, page by page.',
    query: {
      ...ONE_SET,
      ...PAGE,
    },
  },
  'POST /v1/partition-sets/:name/intents': {
    summary: 'A wish of a person: a switchover, a pause, other priorities.',
    body: 'The wish. With dryRun nothing is written: the answer says what would change.',
    statuses: { 409: { text: 'The failover machine refuses it.' } },
  },
  'GET /v1/events': {
    summary:
      'What happens here, as it happens: server-sent events, the whole at first and then what changed.',
    type: 'text/event-stream',
    statuses: { 503: { text: 'As many as can already listen.' } },
  },
  'GET /v1/audit': {
    summary: 'What was asked of this node that changes something: who, when, from where, and how it ended.',
    query: PAGE,
  },
  'GET /v1/local': {
    summary: 'The processes and the load of a cluster on one machine, which `baton up` runs.',
    statuses: {
      404: { text: 'This is no such cluster.' },
      503: { text: 'Whoever runs it does not answer.' },
    },
  },
  'POST /v1/local/orders': {
    summary: 'An order to whoever runs a cluster on one machine: kill, pause, cut off, heal, write.',
    body: 'The order, in the words of `baton chaos`.',
    statuses: {
      404: { text: 'This is no such cluster.' },
      409: { text: 'It cannot be carried out.' },
      503: { text: 'Whoever runs it does not answer.' },
    },
  },
  'GET /': { summary: 'The page.', type: 'text/html' },
  'GET /assets/:file': { summary: 'Scripts and styles of the page.', type: '*/*' },
  'GET /v1/lost-writes': {
    summary: 'Writes that failovers undid in the copies of this node.',
    query: {
      ...ONE_SET,
      after: 'PARTITION-SET/EPOCH/LSN of the last one of the page before.',
      limit: 'Writes in one answer.',
      open: '1: only those that nobody has seen to.',
    },
  },
  'POST /v1/lost-writes/reapply': {
    summary: 'Writes one of them once more, in the write region, and closes it here.',
    body: `${LOST_WRITE} With force, also over a newer version.`,
    statuses: { 409: { text: 'It was closed before, or could not be written.' } },
  },
  'POST /v1/lost-writes/dismiss': {
    summary: 'Closes one of them.',
    body: LOST_WRITE,
    statuses: { 409: { text: 'It was closed before.' } },
  },
};
