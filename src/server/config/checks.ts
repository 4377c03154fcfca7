/** What must fit together in a cluster file, beyond the form of each field. */
import { CONSISTENCY_LEVELS } from '../../failover/core/index.ts';
import type { Address } from '../../transport/index.ts';
import { type Draft, Once, type Steps } from './draft.ts';
import { DEFAULT_PARTITION_SETS, KEY_NAMES, TOKEN_NAMES } from './schema.ts';
import { quoted } from './problems.ts';
import { checkStore, type StorePart, warnOfSharedFate } from './store-checks.ts';
import {
  type AcceptorUrl,
  formatAddress,
  isLoopback,
  isWildcard,
  LONGEST_NAME,
  readAcceptorUrl,
} from './values.ts';

export function checkDraft(draft: Draft): void {
  checkNames(draft);
  checkColumns(draft);
  checkNodes(draft);
  checkAcceptors(draft);
  checkGateways(draft);
  checkListeners(draft);
  checkAccount(draft);
  checkProfile(draft);
  checkContainers(draft);
  for (const name of TOKEN_NAMES) checkSecret(draft, ['tokens', name], 'token');
  for (const name of KEY_NAMES) checkSecret(draft, ['keys', name], 'key');
  for (const acceptor of draft.items('acceptors')) checkSecret(draft, [...acceptor, 'password'], 'password');
  if (draft.has('tokens', 'viewer') && !draft.has('tokens', 'operator') && !draft.has('tls'))
    draft.warn(
      ['tokens', 'viewer'],
      'Without a token for operators this cluster can be looked at, and nobody can act.',
    );
}

function checkNames(draft: Draft): void {
  const processes = new Once(draft, 'name');
  const places = new Once(draft, 'name');
  const containers = new Once(draft, 'name');
  const see = (once: Once, steps: Steps): void => once.see(draft.text(...steps, 'name'), [...steps, 'name']);
  for (const region of draft.items('regions')) {
    see(places, region);
    for (const node of draft.items(...region, 'nodes')) see(processes, node);
  }
  for (const acceptor of draft.items('acceptors')) {
    see(processes, acceptor);
    see(places, acceptor);
  }
  for (const gateway of draft.items('gateways')) {
    see(processes, gateway);
    see(places, gateway);
  }
  for (const container of draft.items('containers')) see(containers, container);
}

function checkColumns(draft: Draft): void {
  const [first, ...others] = draft.items('regions');
  if (first === undefined || !draft.has(...first, 'nodes')) return;
  const expected = draft.items(...first, 'nodes').length;
  for (const region of others) {
    const { length } = draft.items(...region, 'nodes');
    if (length === 0 || length === expected) continue;
    draft.complain(
      [...region, 'nodes'],
      `This region has ${count(length, 'node')} and the first has ${expected}; every region needs as many.`,
    );
  }
}

function checkNodes(draft: Draft): void {
  for (const region of draft.items('regions'))
    for (const node of draft.items(...region, 'nodes')) checkDialled(draft, node, 'node');
}

function checkDialled(draft: Draft, steps: Steps, what: string): void {
  const listen = draft.address(...steps, 'listen');
  const address = draft.address(...steps, 'address');
  if (address !== undefined && isWildcard(address.host))
    draft.complain([...steps, 'address'], 'Nobody can dial an address that means all addresses.');
  if (listen !== undefined && isWildcard(listen.host) && !draft.has(...steps, 'address'))
    draft.complain(
      [...steps, 'listen'],
      `A ${what} that listens on all addresses needs \`address\`: where others reach it.`,
    );
}

function checkGateways(draft: Draft): void {
  const regions = draft.items('regions').map((region) => draft.text(...region, 'name'));
  for (const gateway of draft.items('gateways')) {
    checkDialled(draft, gateway, 'gateway');
    const region = draft.text(...gateway, 'region');
    if (region === undefined || regions.includes(region)) continue;
    draft.complain(
      [...gateway, 'region'],
      `There is no region ${quoted(region)} in this file; it has ${regions.join(', ')}.`,
    );
  }
}

function checkAcceptors(draft: Draft): void {
  const acceptors = draft.items('acceptors');
  const urls = new Once(draft, 'URL');
  const stores: StorePart[] = [];
  for (const acceptor of acceptors) {
    const text = draft.text(...acceptor, 'url');
    const read = text === undefined ? undefined : readAcceptorUrl(text);
    const served = draft.has(...acceptor, 'data');
    if (draft.has(...acceptor, 'listen') && !served)
      draft.complain(
        [...acceptor, 'listen'],
        '`listen` goes with `data`: without it `baton acceptor` does not start this one.',
      );
    if (read === undefined || 'wrong' in read) continue;
    const url = [...acceptor, 'url'];
    urls.see(markOf(read.value), url);
    if (read.value.kind === 'service') {
      checkService(draft, acceptor, read.value);
    } else if (served) {
      const sentence = 'Only an acceptor with an http or https URL is a process with data.';
      draft.complain([...acceptor, 'data'], sentence);
    }
    if (read.value.kind === 'memory')
      draft.warn(url, 'Only one process sees this acceptor, and it forgets everything with it.');
    if (read.value.kind === 'store') {
      checkStore(draft, acceptor, read.value);
      stores.push(read.value);
    } else if (draft.has(...acceptor, 'password')) {
      const way = read.value.kind === 'service' ? '; the token of acceptors is `tokens.acceptor`' : '';
      draft.complain([...acceptor, 'password'], `Only a store has a password${way}.`);
    }
  }
  warnOfSharedFate(draft, stores, acceptors.length);
  const { length } = acceptors;
  if (length > 0 && length % 2 === 0)
    draft.warn(
      ['acceptors'],
      `${length} acceptors survive the loss of no more than ${length - 1} do; use an odd number.`,
    );
  if (length === 1)
    draft.warn(['acceptors'], 'With one acceptor there is no failover while it is away; use three or five.');
}

function markOf(url: AcceptorUrl): string {
  if (url.kind === 'store') return url.store.place;
  return url.kind === 'service' ? placeOf(url.address) : `${url.kind}:${url.rest}`;
}

function checkService(
  draft: Draft,
  acceptor: Steps,
  { secure, address }: AcceptorUrl & { readonly kind: 'service' },
): void {
  const url = [...acceptor, 'url'];
  const served = draft.has(...acceptor, 'data');
  if (isWildcard(address.host)) draft.complain(url, 'Nobody can dial an address that means all addresses.');
  if (served && secure && !draft.has('tls'))
    draft.complain(url, 'An acceptor with an https URL needs `tls`.');
  if (!served && !secure && !isLoopback(address.host))
    draft.warn(url, 'What goes to this acceptor, the token too, can be read on the way; use https.');
}

interface ListenerPart {
  readonly steps: Steps;
  readonly listen: Address;
  /** The machine, as far as the file says. */
  readonly host: string;
  readonly data?: string | undefined;
}

function checkListeners(draft: Draft): void {
  const addresses = new Once(draft, 'address');
  const directories = new Once(draft, 'directory');
  for (const { steps, listen, host, data } of listenersOf(draft)) {
    addresses.see(placeOf({ host: isWildcard(listen.host) ? host : listen.host, port: listen.port }), steps);
    if (data !== undefined)
      directories.see(`${isLoopback(host) ? '' : host} ${data}`, [...steps.slice(0, -1), 'data']);
    if (!isLoopback(listen.host) && !draft.has('tls'))
      draft.complain(
        steps,
        `Listening on ${formatAddress(listen)}, beyond loopback, needs \`tls\`; \`baton certs\` makes certificates.`,
      );
  }
  checkReached(draft);
}

/** Two that others reach at one address. Doors of one region may share one: something before them shares out the callers. */
function checkReached(draft: Draft): void {
  const reached = new Once(draft, 'address');
  for (const region of draft.items('regions'))
    for (const node of draft.items(...region, 'nodes')) {
      const address = draft.address(...node, 'address');
      if (address !== undefined) reached.see(placeOf(address), [...node, 'address']);
    }
  const doors = new Map<string, string>();
  for (const gateway of draft.items('gateways')) {
    const address = draft.address(...gateway, 'address');
    if (address === undefined) continue;
    const [place, region] = [placeOf(address), draft.text(...gateway, 'region') ?? ''];
    if (doors.get(place) !== region) reached.see(place, [...gateway, 'address']);
    doors.set(place, region);
  }
}

function listenersOf(draft: Draft): ListenerPart[] {
  const parts: ListenerPart[] = [];
  const names = new Set<string | undefined>();
  for (const region of draft.items('regions'))
    for (const node of draft.items(...region, 'nodes')) {
      const listen = draft.address(...node, 'listen');
      const host = (draft.address(...node, 'address') ?? listen)?.host;
      const http = draft.address(...node, 'http');
      const name = draft.text(...node, 'name');
      const data = normalPath(draft.text(...node, 'data') ?? (names.has(name) ? undefined : name));
      names.add(name);
      if (listen !== undefined) parts.push({ steps: [...node, 'listen'], listen, host: host!, data });
      if (http !== undefined) parts.push({ steps: [...node, 'http'], listen: http, host: host ?? http.host });
    }
  for (const acceptor of draft.items('acceptors')) parts.push(...acceptorListener(draft, acceptor));
  for (const gateway of draft.items('gateways')) parts.push(...gatewayListeners(draft, gateway));
  const dns = draft.address('dns', 'listen');
  if (dns !== undefined) parts.push({ steps: ['dns', 'listen'], listen: dns, host: dns.host });
  return parts;
}

function gatewayListeners(draft: Draft, gateway: Steps): ListenerPart[] {
  const listen = draft.address(...gateway, 'listen');
  const http = draft.address(...gateway, 'http');
  // Where clients reach it may be another machine, in front of it.
  const host = listen && isWildcard(listen.host) ? draft.address(...gateway, 'address')?.host : listen?.host;
  return [
    ...(listen ? [{ steps: [...gateway, 'listen'], listen, host: host ?? listen.host }] : []),
    ...(http ? [{ steps: [...gateway, 'http'], listen: http, host: host ?? http.host }] : []),
  ];
}

function acceptorListener(draft: Draft, acceptor: Steps): ListenerPart[] {
  const data = normalPath(draft.text(...acceptor, 'data'));
  const url = draft.text(...acceptor, 'url');
  const read = url === undefined ? undefined : readAcceptorUrl(url);
  if (data === undefined || read === undefined || 'wrong' in read || read.value.kind !== 'service') return [];
  const { address, secure } = read.value;
  const own = draft.address(...acceptor, 'listen');
  const steps = [...acceptor, own === undefined ? 'url' : 'listen'];
  const listen = own ?? address;
  if (!isLoopback(listen.host) && draft.has('tls')) {
    if (!secure) draft.complain([...acceptor, 'url'], 'An acceptor beyond loopback needs an https URL.');
    if (!draft.has('tokens', 'acceptor'))
      draft.complain(steps, 'An acceptor beyond loopback needs `tokens.acceptor`.');
  }
  return [{ steps, listen, host: address.host, data }];
}

function checkAccount(draft: Draft): void {
  const level = draft.text('account', 'consistency') ?? 'Strong';
  const bounded = level === 'BoundedStaleness';
  const staleness = ['account', 'staleness'];
  if (bounded && !draft.has(...staleness))
    draft.complain(['account', 'consistency'], 'BoundedStaleness needs `staleness: { versions, ms }`.');
  if (!bounded && isLevel(level) && draft.has(...staleness))
    draft.complain(staleness, 'Only the level BoundedStaleness has a staleness.');
  const durability = draft.number('account', 'minimumDurability');
  const regions = draft.items('regions').length;
  if (regions === 0) return;
  const least = durability ?? Math.min(2, regions);
  const steps = ['account', 'minimumDurability'];
  if (least > regions)
    draft.complain(steps, `${least} is more than the ${count(regions, 'region')} of the cluster.`);
  else if (least === regions && regions > 1)
    draft.warn(steps, `Every write needs all ${regions} regions: the loss of one stops writes.`);
}

function isLevel(text: string): boolean {
  return CONSISTENCY_LEVELS.some((level) => level === text);
}

function checkProfile(draft: Draft): void {
  const interval = draft.number('profile', 'intervalMs');
  const lease = draft.number('profile', 'leaseMs');
  const settle = draft.number('profile', 'settleMs');
  if (interval !== undefined && lease !== undefined && lease <= interval)
    draft.complain(
      ['profile', 'leaseMs'],
      `A lease of ${lease} ms ends before the next report, after ${interval} ms.`,
    );
  if (settle !== undefined && lease !== undefined && settle >= lease)
    draft.complain(['profile', 'settleMs'], `${settle} ms is not shorter than the lease of ${lease} ms.`);
}

function checkContainers(draft: Draft): void {
  for (const container of draft.items('containers')) {
    const name = draft.text(...container, 'name');
    const sets = draft.number(...container, 'partitionSets') ?? DEFAULT_PARTITION_SETS;
    const most = LONGEST_NAME - 1 - digitsFor(sets);
    if (name !== undefined && name.length > most && name.length <= LONGEST_NAME)
      draft.complain(
        [...container, 'name'],
        `The names of its partition-sets would be longer than ${LONGEST_NAME} characters; use at most ${most}.`,
      );
  }
}

function checkSecret(draft: Draft, steps: Steps, what: string): void {
  if (!draft.has(...steps) || draft.text(...steps) !== undefined || draft.number(...steps) !== undefined)
    return;
  const ways = ['file', 'env'].filter((way) => draft.has(...steps, way));
  if (ways.length !== 1) draft.complain(steps, `Write the ${what} as {file: PATH} or as {env: NAME}.`);
}

/** How many digits the number in the name of a partition-set has. */
export function digitsFor(partitionSets: number): number {
  return Math.max(2, String(Math.max(0, Math.trunc(partitionSets) - 1)).length);
}

function placeOf({ host, port }: Address): string {
  return formatAddress({ host: host === 'localhost' ? '127.0.0.1' : host, port });
}

function normalPath(path: string | undefined): string | undefined {
  return path?.replace(/^(?:\.\/+)+/, '').replace(/\/+$/, '');
}

function count(amount: number, what: string): string {
  return `${amount} ${what}${amount === 1 ? '' : 's'}`;
}
