/** What must fit together for acceptors that are stores on somebody's servers, and what should. */
import type { StoreUrl } from '../../caspaxos/index.ts';
import type { Draft, Steps } from './draft.ts';
import { isLoopback, isWildcard } from './values.ts';

export interface StorePart {
  readonly scheme: string;
  readonly store: StoreUrl;
}

export function checkStore(draft: Draft, acceptor: Steps, { store }: StorePart): void {
  const url = [...acceptor, 'url'];
  if (store.hosts.some(({ host }) => isWildcard(host)))
    draft.complain(url, 'Nobody can dial an address that means all addresses.');
  if (!store.isSecure && !store.hosts.every(({ host }) => isLoopback(host)))
    draft.warn(url, 'What goes to this store, the password too, can be read on the way; leave out tls=off.');
}

/** What fails together counts as one: a majority must be left without one server, and without one kind of server. */
export function warnOfSharedFate(draft: Draft, stores: readonly StorePart[], total: number): void {
  const isTooMany = ({ length }: readonly StorePart[]): boolean => length > 1 && 2 * length >= total;
  const onServer = [...groupsOf(stores, serversOf)].find(([, members]) => isTooMany(members));
  if (onServer !== undefined) {
    const [server, { length }] = onServer;
    const sentence = `${length} of ${total} acceptors are on ${server}: without it there is no majority; spread them.`;
    draft.warn(['acceptors'], sentence);
    return;
  }
  for (const [scheme, members] of groupsOf(stores, (part) => [part.scheme]))
    if (isTooMany(members))
      draft.warn(
        ['acceptors'],
        `${members.length} of ${total} acceptors are ${scheme} stores: what breaks one may break all of them; mix kinds.`,
      );
}

/** Of this machine every port is a server of its own: to whoever tries things out, all of them are here. */
function serversOf({ store }: StorePart): string[] {
  return store.hosts.map(({ host, port }) => (isLoopback(host) ? `${host}:${port}` : host));
}

function groupsOf(
  stores: readonly StorePart[],
  keysOf: (part: StorePart) => readonly string[],
): Map<string, StorePart[]> {
  const groups = new Map<string, StorePart[]>();
  for (const part of stores)
    for (const key of new Set(keysOf(part))) groups.set(key, [...(groups.get(key) ?? []), part]);
  return groups;
}
