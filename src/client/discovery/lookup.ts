/** Asking DNS for the TXT records of a name: within a time, and with an answer that says what kind of silence it met. */
import { Resolver } from 'node:dns/promises';
import type { Host } from '../../protocol/index.ts';
import { DiscoveryError } from './errors.ts';

export type TxtAnswer =
  | { readonly kind: 'found'; readonly txt: readonly (readonly string[])[] }
  /** DNS answered: there is no such name, or no TXT record under it. */
  | { readonly kind: 'absent' }
  | { readonly kind: 'failed'; readonly reason: string };

/** `cancel` ends what is under way; it is then answered as failed. */
export interface TxtLookup {
  ask(name: string): Promise<TxtAnswer>;
  cancel(): void;
}

export interface DnsLookupOptions {
  readonly host: Host;
  /** `1.2.3.4`, `1.2.3.4:53`, `[::1]:53`; those of the system otherwise. */
  readonly servers?: readonly string[] | undefined;
  readonly timeoutMs: number;
}

const TRIES = 3;
const ABSENT: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA']);

/** Throws DNS_SERVER_INVALID. */
export function dnsLookup(options: DnsLookupOptions): TxtLookup {
  const underWay = new Set<Resolver>();
  makeResolver(options);
  return {
    ask: (name) => ask(name, options, underWay),
    cancel: () => {
      for (const resolver of underWay) resolver.cancel();
    },
  };
}

/** A resolver for each question: it reads the system's settings anew, and keeps no answers. */
function makeResolver({ servers, timeoutMs }: DnsLookupOptions): Resolver {
  const count = Math.max(1, servers?.length ?? 1);
  const resolver = new Resolver({
    timeout: Math.max(1, Math.ceil(timeoutMs / (TRIES * count))),
    tries: TRIES,
  });
  if (servers === undefined || servers.length === 0) return resolver;
  try {
    resolver.setServers(servers);
  } catch (error) {
    const list = servers.join(', ');
    throw new DiscoveryError('DNS_SERVER_INVALID', `DNS servers need the form IP or IP:PORT: ${list}`, error);
  }
  return resolver;
}

async function ask(name: string, options: DnsLookupOptions, underWay: Set<Resolver>): Promise<TxtAnswer> {
  const { host, timeoutMs } = options;
  const resolver = makeResolver(options);
  underWay.add(resolver);
  const timer = host.after(timeoutMs, () => resolver.cancel());
  try {
    return { kind: 'found', txt: await resolver.resolveTxt(name) };
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    return ABSENT.has(code) ? { kind: 'absent' } : { kind: 'failed', reason: code };
  } finally {
    host.cancel(timer);
    underWay.delete(resolver);
  }
}
