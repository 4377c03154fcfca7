/**
 * How a client comes to an account and leaves it: the name is looked up, any node is asked for the map, and from then on there is an
 * `Executor` that runs operations. Whatever kind of client is made of it stands on this.
 */
import { NODE_HOST } from '../../caspaxos/index.ts';
import type { Host } from '../../protocol/index.ts';
import type { Identity } from '../../transport/index.ts';
import { AccountDirectory, type AccountRecord } from '../discovery/index.ts';
import { fromDiscovery } from './errors.ts';
import { Executor } from './executor.ts';
import { Links } from './links.ts';
import { MapSource } from './map-source.ts';
import { checkOptions, type ConnectOptions, DEFAULTS } from './options.ts';

interface Parts {
  readonly directory: AccountDirectory | undefined;
  readonly links: Links;
  readonly maps: MapSource;
}

export class Connected {
  readonly host: Host;
  readonly links: Links;
  readonly maps: MapSource;
  readonly executor: Executor;
  readonly #directory: AccountDirectory | undefined;
  #closing: Promise<void> | undefined;

  private constructor(options: ConnectOptions, { directory, links, maps }: Parts, host: Host) {
    this.host = host;
    this.links = links;
    this.maps = maps;
    this.#directory = directory;
    const { timeoutMs = DEFAULTS.timeoutMs, maxInFlight = DEFAULTS.maxInFlight } = options;
    const { preferredRegion, pacing } = options;
    this.executor = new Executor({ host, links, maps, timeoutMs, maxInFlight, preferredRegion, pacing });
  }

  /** Resolves when a node has given the map of the account. Rejects with a BatonError, and then nothing is left. */
  static async to(options: ConnectOptions): Promise<Connected> {
    checkOptions(options);
    const host = options.host ?? NODE_HOST;
    const { timeoutMs = DEFAULTS.timeoutMs } = options;
    const deadlineAt = host.now() + timeoutMs;
    const directory = directoryOf(options, host);
    const links: Links[] = [];
    try {
      const record = await directory?.current({ timeoutMs }).catch((error: unknown) => {
        throw fromDiscovery(error);
      });
      const made = new Links({
        host,
        self: identityOf(options, record, host),
        token: options.token,
        tls: options.tls,
      });
      links.push(made);
      const seeds = seedsOf(options);
      const source = { host, links: made, seeds, directory, pacing: options.pacing };
      const maps = await MapSource.open(source, Math.max(1, deadlineAt - host.now()));
      return new Connected(options, { directory, links: made, maps }, host);
    } catch (error) {
      await Promise.all([directory?.close(), ...links.map((made) => made.close())]);
      throw error;
    }
  }

  /** What is under way ends with CLIENT_CLOSED. Nothing is left: no connection, no timer. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.all([this.executor.close(), this.maps.close(), this.#directory?.close()]);
    await this.links.close();
  }
}

function directoryOf(options: ConnectOptions, host: Host): AccountDirectory | undefined {
  const { account, servers, cacheDirectory, lookup, endpoints } = options;
  try {
    if (endpoints === undefined)
      return AccountDirectory.open({ name: account, servers, cacheDirectory, lookup, host });
    if (endpoints.every((one) => typeof one === 'string')) return undefined;
    return AccountDirectory.open({
      account: labelOf(account),
      endpoints,
      host,
    });
  } catch (error) {
    throw fromDiscovery(error);
  }
}

function seedsOf({ endpoints = [] }: ConnectOptions): readonly string[] {
  return endpoints.flatMap((one) => (typeof one === 'string' ? [one] : one.addresses));
}

/** The account's own part of its DNS name. */
function labelOf(account: string): string {
  return account.toLowerCase().split('.')[0]!;
}

const CLUSTER = 'cluster=';

function identityOf(
  { account, cluster, preferredRegion = '' }: ConnectOptions,
  record: AccountRecord | undefined,
  host: Host,
): Identity {
  const recorded = record?.extensions?.find((field) => field.startsWith(CLUSTER))?.slice(CLUSTER.length);
  return {
    role: 'client',
    cluster: cluster ?? recorded ?? labelOf(account),
    node: `client-${host.randomId()}`,
    region: preferredRegion,
    incarnation: 1,
  };
}
