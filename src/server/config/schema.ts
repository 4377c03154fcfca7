/**
 * The form of a cluster file, field by field, with what each field means, what holds without it, and how a change of it
 * comes into force. The documentation, the comments of written files, the suggestions for a mistyped field and the reload on
 * SIGHUP all read this one table.
 */
import * as z from 'zod/mini';
import { CONSISTENCY_LEVELS } from '../../failover/core/index.ts';
import {
  address,
  type Field,
  fieldsBelow,
  filePath,
  list,
  name,
  note,
  text,
  whole,
  wholeSeconds,
  YEAR_MS,
} from './fields.ts';
import {
  wrongKey,
  wrongKeyPath,
  wrongPassword,
  wrongToken,
  wrongUrl,
  wrongVariable,
  wrongZone,
} from './values.ts';

export type { Field, FieldNote, Reload } from './fields.ts';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export const TOKEN_NAMES = ['node', 'client', 'operator', 'viewer', 'acceptor'] as const;
export type TokenName = (typeof TOKEN_NAMES)[number];
export const KEY_NAMES = ['primary', 'secondary', 'primaryReadOnly', 'secondaryReadOnly'] as const;
export type KeyName = (typeof KEY_NAMES)[number];

export const DEFAULT_ZONE = 'baton.local';
export const DEFAULT_PARTITION_SETS = 16;
export const MAX_REGIONS = 64;
export const MAX_NODES = 256;
export const MAX_ACCEPTORS = 30;
export const MAX_GATEWAYS = 256;
export const MAX_PARTITION_SETS = 10_000;
const TEBIBYTE = 2 ** 40;

const account = z.strictObject({
  name: note(z.optional(name()), {
    type: 'name',
    without: 'the name of the cluster',
    meaning: 'The database account. Clients find it in DNS under this name, below the zone.',
    reload: 'restart',
  }),
  consistency: note(z.optional(z.enum(CONSISTENCY_LEVELS)), {
    type: CONSISTENCY_LEVELS.join(', '),
    without: 'Strong',
    meaning: 'What reads promise, and what a failover may lose.',
    reload: 'command',
  }),
  staleness: note(
    z.optional(
      z.strictObject({
        versions: note(whole(1, 1e12), {
          type: 'whole number',
          meaning: 'How many writes a region in the lease set may lag behind.',
          reload: 'command',
        }),
        ms: note(wholeSeconds(), {
          type: 'milliseconds, whole seconds',
          meaning: 'For how long it may lag behind.',
          reload: 'command',
        }),
      }),
    ),
    {
      type: 'mapping',
      without: 'none',
      meaning: 'The bound of BoundedStaleness; it must be there at that level, and at no other.',
      reload: 'command',
    },
  ),
  minimumDurability: note(z.optional(whole(1, MAX_REGIONS)), {
    type: 'whole number',
    without: '2, or 1 if there are one or two regions',
    meaning:
      'At Strong: in how many regions a write must be before it is acknowledged, at the least. With 1 and two regions either may be lost; what is written while one is away is in the other alone.',
    reload: 'command',
  }),
});

const profile = z.union([
  z.enum(['fast', 'paper']),
  z.strictObject({
    intervalMs: note(whole(10, YEAR_MS), {
      type: 'milliseconds',
      meaning: 'How often a region reports to the acceptors.',
      reload: 'command',
    }),
    leaseMs: note(whole(10, YEAR_MS), {
      type: 'milliseconds',
      meaning: 'After what silence of the write region another is elected. Longer than the interval.',
      reload: 'command',
    }),
    settleMs: note(whole(0, YEAR_MS), {
      type: 'milliseconds',
      meaning: 'How long an election waits for regions that have not reported yet. Shorter than the lease.',
      reload: 'command',
    }),
  }),
]);

const node = z.strictObject({
  name: note(name(), {
    type: 'name',
    meaning:
      'The node, as `baton node --name` starts it. Node i of each region holds the same partition-sets.',
    reload: 'restart',
  }),
  listen: note(address(), {
    type: 'host:port',
    meaning: 'Where it listens for other nodes and for clients.',
    reload: 'restart',
  }),
  address: note(z.optional(address()), {
    type: 'host:port',
    without: 'what `listen` says',
    meaning: 'Where others reach it, when that is another address. Needed when it listens on all addresses.',
    reload: 'restart',
  }),
  http: note(z.optional(address()), {
    type: 'host:port',
    without: 'none: no HTTP',
    meaning: 'Where it answers over HTTP: health, metrics, what operators ask.',
    reload: 'restart',
  }),
  data: note(z.optional(filePath()), {
    type: 'path',
    without: './ and its name',
    meaning: 'The directory with its data.',
    reload: 'restart',
  }),
});

const region = z.strictObject({
  name: note(name(), { type: 'name', meaning: 'The region.', reload: 'never' }),
  nodes: note(list(node, MAX_NODES), {
    type: `list of 1 to ${MAX_NODES}`,
    meaning: 'Its nodes: as many as in every other region.',
    reload: 'never',
  }),
});

const secretOf = (wrong: (value: string) => string | undefined) =>
  z.union([
    text(wrong),
    z.strictObject({ file: z.optional(filePath()), env: z.optional(text(wrongVariable)) }),
  ]);
const SECRET = 'text, {file: PATH} or {env: NAME}';

const acceptor = z.strictObject({
  name: note(name(), {
    type: 'name',
    meaning: 'The acceptor, as `baton acceptor --name` starts it.',
    reload: 'restart',
  }),
  url: note(text(wrongUrl), {
    type: 'URL',
    meaning:
      'Where it is: http://HOST:PORT or https://HOST:PORT of `baton acceptor`, lmdb:PATH, or a store that you run already (docs/acceptors.md has the form of each): a URL with postgres, redis, etcd, azure-blob, dynamodb or cosmos. It may name a user, never a password.',
    reload: 'restart',
  }),
  password: note(z.optional(secretOf(wrongPassword)), {
    type: SECRET,
    without: 'none: what the client of the store finds by itself',
    meaning:
      'What the user of a store shows: its password, key or secret. Better in a file or a variable than here.',
    reload: 'restart',
  }),
  data: note(z.optional(filePath()), {
    type: 'path',
    without: 'none: `baton acceptor` does not start it',
    meaning: 'The directory with its data, for one that `baton acceptor` starts.',
    reload: 'restart',
  }),
  listen: note(z.optional(address()), {
    type: 'host:port',
    without: 'what `url` says',
    meaning: 'Where it listens, when that is another address. Only together with `data`.',
    reload: 'restart',
  }),
});

const container = z.strictObject({
  name: note(name(), {
    type: 'name',
    meaning: 'The container. Its partition-sets are called NAME-00, NAME-01 and so on.',
    reload: 'never',
  }),
  partitionKey: note(z.optional(z.union([text(wrongKeyPath), list(text(wrongKeyPath), 3)])), {
    type: 'path of a property, or a list of up to 3',
    without: '/id',
    meaning: 'The property that decides where a document lies; several make a hierarchical key.',
    reload: 'never',
  }),
  partitionSets: note(z.optional(whole(1, MAX_PARTITION_SETS)), {
    type: 'whole number',
    without: String(DEFAULT_PARTITION_SETS),
    meaning: 'Into how many partition-sets its documents are split. Each fails over on its own.',
    reload: 'never',
  }),
});

const gateway = z.strictObject({
  name: note(name(), {
    type: 'name',
    meaning: 'The gateway, as `baton gateway --name` starts it.',
    reload: 'restart',
  }),
  region: note(z.optional(name()), {
    type: 'name of a region',
    without: 'none: the global endpoint, which finds the write region by itself',
    meaning: 'The region whose door it is. A region may have several.',
    reload: 'restart',
  }),
  listen: note(address(), {
    type: 'host:port',
    meaning: 'Where it listens for HTTP clients; https with `tls`, which is needed beyond loopback.',
    reload: 'restart',
  }),
  address: note(z.optional(address()), {
    type: 'host:port',
    without: 'what `listen` says',
    meaning:
      'Where clients reach it, when that is another address; doors of one region may share it. Needed when it listens on all addresses.',
    reload: 'restart',
  }),
  http: note(z.optional(address()), {
    type: 'host:port',
    without: 'none: no health, no metrics',
    meaning: 'Where it answers health and metrics.',
    reload: 'restart',
  }),
});

const dns = z.strictObject({
  listen: note(address(), {
    type: 'host:port',
    meaning: 'Where `baton dns` answers, over UDP and TCP.',
    reload: 'restart',
  }),
  zone: note(z.optional(text(wrongZone)), {
    type: 'DNS name',
    without: DEFAULT_ZONE,
    meaning: 'The zone below which accounts have their record.',
    reload: 'restart',
  }),
});

const FILE = 'path; `{name}` in it stands for the name of the node, acceptor or gateway';
const tls = z.strictObject({
  ca: note(filePath(), {
    type: FILE,
    meaning: 'The authority that both sides of a connection must come from, PEM.',
    reload: 'restart',
  }),
  cert: note(filePath(), { type: FILE, meaning: 'The own certificate, PEM.', reload: 'restart' }),
  key: note(filePath(), { type: FILE, meaning: 'Its private key, PEM.', reload: 'restart' }),
});

const secret = secretOf(wrongToken);

const tokens = z.strictObject({
  node: note(z.optional(secret), {
    type: SECRET,
    without: 'none',
    meaning: 'What nodes show each other.',
    reload: 'live',
  }),
  client: note(z.optional(secret), {
    type: SECRET,
    without: 'none',
    meaning: 'What clients show to nodes.',
    reload: 'live',
  }),
  operator: note(z.optional(secret), {
    type: SECRET,
    without: 'none',
    meaning: 'What operators show: their commands, and the page when it may act.',
    reload: 'live',
  }),
  viewer: note(z.optional(secret), {
    type: SECRET,
    without: 'none',
    meaning: 'What those show who may only look: the page, dashboards. Goes with `operator`.',
    reload: 'live',
  }),
  acceptor: note(z.optional(secret), {
    type: SECRET,
    without: 'none',
    meaning: 'What nodes show to acceptors. Needed for an acceptor beyond loopback.',
    reload: 'restart',
  }),
});

const key = secretOf(wrongKey);
const keyNote = (meaning: string) =>
  ({ type: `base64, as ${SECRET}`, without: 'none', meaning, reload: 'live' }) as const;

const keys = z.strictObject({
  primary: note(z.optional(key), keyNote('The key with which clients sign; it reads and writes.')),
  secondary: note(z.optional(key), keyNote('A second one, so that the first can be replaced.')),
  primaryReadOnly: note(z.optional(key), keyNote('A key that only reads.')),
  secondaryReadOnly: note(z.optional(key), keyNote('A second one of that kind.')),
});

const bytes = (least: number) => z.optional(whole(least, TEBIBYTE));
const limits = z.strictObject({
  logMs: note(z.optional(whole(0, YEAR_MS)), {
    type: 'milliseconds',
    without: '86400000 (a day)',
    meaning: 'How long the log of a partition is kept for regions that are away.',
    reload: 'live',
  }),
  logBytes: note(bytes(1024 * 1024), {
    type: 'bytes',
    without: '268435456 (256 MiB)',
    meaning: 'Beyond this size the log is cut even when it is younger.',
    reload: 'live',
  }),
  logHardBytes: note(bytes(1024 * 1024), {
    type: 'bytes',
    without: 'none',
    meaning: 'Beyond this size nobody is waited for: a region that is away copies everything later.',
    reload: 'live',
  }),
  inFlight: note(z.optional(whole(1, 1_000_000)), {
    type: 'whole number',
    without: '2048',
    meaning: 'Requests of one connection that are under way at once; one more is told to come back.',
    reload: 'restart',
  }),
  inFlightBytes: note(bytes(4 * 1024 * 1024), {
    type: 'bytes',
    without: '67108864 (64 MiB)',
    meaning: 'The memory that the requests of one connection may take together.',
    reload: 'restart',
  }),
});

const log = z.strictObject({
  level: note(z.optional(z.enum(LOG_LEVELS)), {
    type: LOG_LEVELS.join(', '),
    without: 'info',
    meaning: 'From which level on lines are written.',
    reload: 'live',
  }),
});

export const CLUSTER_FILE = z.strictObject({
  cluster: note(name(), {
    type: 'name',
    meaning: 'The cluster. Nodes of another one are refused.',
    reload: 'never',
  }),
  account: note(z.optional(account), {
    type: 'mapping',
    without: 'its defaults',
    meaning: 'The database account.',
    reload: 'command',
  }),
  profile: note(z.optional(profile), {
    type: 'fast, paper or a mapping',
    without: 'fast',
    meaning:
      'How fast failures are noticed: `fast` is an interval of 1 s and a lease of 3 s, `paper` 30 s and 45 s.',
    reload: 'command',
  }),
  regions: note(list(region, MAX_REGIONS), {
    type: `list of 1 to ${MAX_REGIONS}`,
    meaning: 'The regions in order of priority: the first is the preferred write region.',
    reload: 'never',
  }),
  acceptors: note(list(acceptor, MAX_ACCEPTORS), {
    type: `list of 1 to ${MAX_ACCEPTORS}`,
    meaning: 'Who keeps the failover state. An odd number, best in more places than there are regions.',
    reload: 'restart',
  }),
  containers: note(z.optional(list(container, 100)), {
    type: 'list of 1 to 100',
    without: 'one, `items`',
    meaning: 'The containers of the account.',
    reload: 'never',
  }),
  gateways: note(z.optional(list(gateway, MAX_GATEWAYS)), {
    type: `list of 1 to ${MAX_GATEWAYS}`,
    without: 'none',
    meaning: 'Where HTTP clients come in: a door or more for each region, and global ones.',
    reload: 'restart',
  }),
  dns: note(z.optional(dns), {
    type: 'mapping',
    without: 'none',
    meaning: 'The DNS server, if there is one.',
    reload: 'restart',
  }),
  tls: note(z.optional(tls), {
    type: 'mapping',
    without: 'none: loopback only',
    meaning: 'Certificates for mutual TLS. The contents of the files are read again on SIGHUP.',
    reload: 'restart',
  }),
  tokens: note(z.optional(tokens), {
    type: 'mapping',
    without: 'none',
    meaning: 'What callers must show. Better in a file or a variable than here.',
    reload: 'live',
  }),
  keys: note(z.optional(keys), {
    type: 'mapping',
    without: 'none: no gateway starts',
    meaning: 'What HTTP clients sign with: 32 bytes or more each. Better in a file or a variable than here.',
    reload: 'live',
  }),
  limits: note(z.optional(limits), {
    type: 'mapping',
    without: 'its defaults',
    meaning: 'How much a node keeps and takes.',
    reload: 'live',
  }),
  log: note(z.optional(log), {
    type: 'mapping',
    without: 'its defaults',
    meaning: 'What a process writes about itself.',
    reload: 'live',
  }),
});

export type ClusterFile = z.infer<typeof CLUSTER_FILE>;

export const FIELDS: readonly Field[] = fieldsBelow(CLUSTER_FILE, '');
const BY_PATH = new Map(FIELDS.map((field) => [field.path, field]));

export function fieldAt(path: string): Field | undefined {
  return BY_PATH.get(path);
}

/** The names that may stand in the mapping at this path. */
export function namesBelow(path: string): string[] {
  const prefix = path === '' ? '' : `${path}.`;
  return FIELDS.filter((field) => field.path.startsWith(prefix))
    .map((field) => field.path.slice(prefix.length))
    .filter((rest) => !/[.[]/.test(rest));
}
