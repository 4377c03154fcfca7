/**
 * What changed between two readings of the file, and how each change comes into force. A running process applies some on
 * SIGHUP; some need a restart; some the file cannot bring about, because the registers hold them or the data lies by them.
 */
import type { ClusterConfig } from './cluster-config.ts';
import { fieldAt, KEY_NAMES, type Reload, TOKEN_NAMES } from './schema.ts';
import type { TokenSource } from './secrets.ts';
import { formatAddress } from './values.ts';

export interface Change {
  /** By names, not by numbers: `regions.west.nodes.west-1.listen`. */
  readonly field: string;
  readonly sentence: string;
}

export interface ReloadDiff {
  /** A process applies these at once. */
  readonly live: readonly Change[];
  readonly restart: readonly Change[];
  /** A file does not bring these about. */
  readonly refused: readonly Change[];
}

/** Files of tokens, keys and certificates may have new contents under the same names: a reload reads those again in any case. */
export function diffForReload(before: ClusterConfig, after: ClusterConfig): ReloadDiff {
  const diff = { live: [] as Change[], restart: [] as Change[], refused: [] as Change[] };
  const [old, now] = [valuesOf(before), valuesOf(after)];
  for (const field of new Set([...old.keys(), ...now.keys()])) {
    const [from, to] = [old.get(field), now.get(field)];
    if (from?.text === to?.text) continue;
    const { reload } = (to ?? from)!;
    const change = { field, sentence: `${words(field, from, to)}${HOW[reload](field)}` };
    diff[LISTS[reload]].push(change);
  }
  const compare = (field: string, from: TokenSource | undefined, to: TokenSource | undefined): void => {
    if (!sameSource(from, to)) diff.live.push({ field, sentence: `${field} changes; it holds at once.` });
  };
  for (const name of TOKEN_NAMES) compare(`tokens.${name}`, before.tokens[name], after.tokens[name]);
  for (const name of KEY_NAMES) compare(`keys.${name}`, before.keys[name], after.keys[name]);
  for (const { name, store } of after.acceptors) {
    const known = before.acceptors.find((acceptor) => acceptor.name === name);
    const field = `acceptors.${name}.password`;
    if (known !== undefined && !sameSource(known.store?.password, store?.password))
      diff.restart.push({ field, sentence: `${field} changes; it needs a restart.` });
  }
  return diff;
}

/** For a process that reads some of the fields which a file may change at once only when it starts. */
export function startingAgainFor(
  fields: ReadonlySet<string>,
  { live, restart, refused }: ReloadDiff,
  who: string,
): ReloadDiff {
  const later = live
    .filter(({ field }) => fields.has(field))
    .map(({ field }) => ({ field, sentence: `${field} changes; this ${who} needs a restart for it.` }));
  return {
    live: live.filter(({ field }) => !fields.has(field)),
    restart: [...restart, ...later],
    refused,
  };
}

const LISTS: Readonly<Record<Reload, keyof ReloadDiff>> = {
  live: 'live',
  restart: 'restart',
  command: 'refused',
  never: 'refused',
};

const HOW: Readonly<Record<Reload, (field: string) => string>> = {
  live: () => '; it holds at once.',
  restart: () => '; it needs a restart.',
  command: (field) =>
    `; the registers hold it since the first start: use \`baton ${field === 'regions' ? 'priority' : 'config'}\`.`,
  never: () => '; the data of this cluster lies by it, so it cannot change.',
};

interface Value {
  readonly text: string;
  readonly reload: Reload;
}

function words(field: string, from: Value | undefined, to: Value | undefined): string {
  if (from === undefined) return `${field} is new: ${to!.text}`;
  if (to === undefined) return `${field} is gone: it was ${from.text}`;
  return `${field} changes from ${from.text} to ${to.text}`;
}

/** Everything but tokens, keys and passwords, each with the path that people know it by. */
function valuesOf(config: ClusterConfig): Map<string, Value> {
  const values = new Map<string, Value>();
  const put = (field: string, pattern: string, value: unknown): void => {
    if (value === undefined) return;
    values.set(field, { text: shown(value), reload: fieldAt(pattern)?.reload ?? 'restart' });
  };
  const putAll = (prefix: string, pattern: string, fields: object): void => {
    for (const [key, value] of Object.entries(fields)) put(`${prefix}.${key}`, `${pattern}.${key}`, value);
  };
  put('cluster', 'cluster', config.cluster);
  putAll('account', 'account', config.account);
  put('profile', 'profile', config.profile);
  const names = config.regions.map(({ name }) => name);
  put('the set of regions', 'regions[].name', names.toSorted().join(', '));
  values.set('regions', { text: names.join(', '), reload: 'command' });
  for (const { name: region, nodes } of config.regions) {
    put(`the number of nodes of ${region}`, 'regions[].nodes', nodes.length);
    for (const [column, { name, ...fields }] of nodes.entries())
      putAll(`regions.${region}.nodes.${name}`, 'regions[].nodes[]', { column, ...fields });
  }
  for (const { name, url, serve, store } of config.acceptors) {
    put(`acceptors.${name}.url`, 'acceptors[].url', store?.url ?? url);
    if (serve) putAll(`acceptors.${name}`, 'acceptors[]', { listen: serve.listen, data: serve.data });
  }
  for (const { name, ...fields } of config.gateways) putAll(`gateways.${name}`, 'gateways[]', fields);
  for (const { name, ...fields } of config.containers) putAll(`containers.${name}`, 'containers[]', fields);
  for (const part of ['dns', 'tls', 'limits', 'log'] as const) putAll(part, part, config[part] ?? {});
  return values;
}

function shown(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'object' && value !== null && 'host' in value && 'port' in value)
    return formatAddress(value as { host: string; port: number });
  return JSON.stringify(value);
}

function sameSource(a: TokenSource | undefined, b: TokenSource | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (a.kind === 'text') return b.kind === 'text' && a.secret.equals(b.secret);
  return a.kind === 'file' ? b.kind === 'file' && a.file === b.file : b.kind === 'env' && a.env === b.env;
}
