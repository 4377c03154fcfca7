/**
 * Acceptors as a set: what each survives alone is not what they survive together. A majority of them must not hang on one
 * machine, one server or one provider.
 */
import { isLoopbackHost, type Place } from './place.ts';

export interface Warning {
  readonly code:
    | 'ALONE'
    | 'EVEN'
    | 'DUPLICATE'
    | 'ONE_PROCESS'
    | 'ONE_MACHINE'
    | 'ONE_SERVER'
    | 'ONE_REGION'
    | 'ONE_PROVIDER';
  readonly text: string;
}

type Group = (place: Place) => readonly string[];

const PROVIDERS: readonly (readonly [RegExp, string])[] = [
  [/\.(?:amazonaws\.com|amazonaws\.com\.cn|aws)$/, 'AWS'],
  [/\.(?:windows\.net|azure\.com|azure\.net|azure\.cn)$/, 'Azure'],
  [/\.(?:googleapis\.com|goog|gcp\.cloud)$/, 'Google Cloud'],
];

/** From the narrowest to the widest; of one that warns, the wider ones say nothing new. */
const GROUPS: readonly (readonly [Warning['code'], Group, (name: string) => string])[] = [
  ['ONE_PROCESS', process, () => 'live in the memory of one process, and are gone when it ends'],
  ['ONE_SERVER', server, (name) => `are on one server, ${name}`],
  ['ONE_MACHINE', machine, () => 'are on one machine'],
  ['ONE_REGION', region, (name) => `are in one region, ${name}`],
  ['ONE_PROVIDER', provider, (name) => `are at one provider, ${name}`],
];

export function togetherWarnings(places: readonly Place[]): readonly Warning[] {
  const warnings: Warning[] = [];
  const twice = places.find(({ url }, at) => places.findIndex((other) => other.url === url) < at);
  if (twice !== undefined) {
    warnings.push({ code: 'DUPLICATE', text: `${twice.url} is named twice: each acceptor counts once.` });
  }
  if (places.length === 1) {
    const text = 'One acceptor alone survives nothing; a set has three or five.';
    return [...warnings, { code: 'ALONE', text }];
  }
  if (places.length % 2 === 0) {
    const text = `An even number, ${places.length}, survives no more failures than ${places.length - 1}; add or remove one.`;
    warnings.push({ code: 'EVEN', text });
  }
  return [...warnings, ...sharedFates(places)];
}

function sharedFates(places: readonly Place[]): readonly Warning[] {
  const majority = Math.floor(places.length / 2) + 1;
  const warned: ReadonlySet<Place>[] = [];
  const warnings: Warning[] = [];
  for (const [code, groupsOf, says] of GROUPS) {
    const groups = new Map<string, Set<Place>>();
    for (const place of places)
      for (const name of groupsOf(place)) groups.set(name, (groups.get(name) ?? new Set()).add(place));
    for (const [name, members] of groups) {
      const isSaid = warned.some((other) => [...members].every((member) => other.has(member)));
      if (members.size < majority || isSaid) continue;
      warned.push(members);
      const text = `${members.size} of ${places.length} acceptors ${says(name)}: when that is lost, so is the majority.`;
      warnings.push({ code, text });
    }
  }
  return warnings;
}

function process({ scheme }: Place): readonly string[] {
  return scheme === 'memory' ? ['this process'] : [];
}

function server({ scheme, hosts }: Place): readonly string[] {
  return scheme === 'dynamodb' ? [] : hosts.filter((host) => !isLoopbackHost(host));
}

function machine({ scheme, hosts, options }: Place): readonly string[] {
  const endpoint = options.get('endpoint');
  const servers = endpoint !== undefined && URL.canParse(endpoint) ? [new URL(endpoint).hostname] : hosts;
  const isLocal =
    servers.length > 0 && servers.every((host) => isLoopbackHost(host.replace(/^\[(.*)\]$/, '$1')));
  return isLocal || scheme === 'lmdb' || scheme === 'memory' ? ['this machine'] : [];
}

/** The host of a `dynamodb:` URL is a region: its servers are nobody's to choose. */
function region({ scheme, hosts, options }: Place): readonly string[] {
  return scheme === 'dynamodb' && !options.has('endpoint') ? hosts : [];
}

function provider({ scheme, hosts, options }: Place): readonly string[] {
  if (scheme === 'dynamodb') return options.get('endpoint') === undefined ? ['AWS'] : [];
  const names = hosts.map((host) => PROVIDERS.find(([ending]) => ending.test(host))?.[1]);
  return [...new Set(names.filter((name) => name !== undefined))];
}
