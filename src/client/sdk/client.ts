/**
 * The client of an account. It finds the regions by the account's name, asks any node for the map, and then sends every operation straight
 * to the nodes that have its data. Nobody tells it of a failover: it notices by what the regions answer, and tries the others
 * (paper, section 5.1).
 */
import { NODE_HOST } from '../../caspaxos/index.ts';
import type { ReadLevel } from '../../engine/index.ts';
import type { Host } from '../../protocol/index.ts';
import type { Identity } from '../../transport/index.ts';
import { AccountDirectory, type AccountRecord } from '../discovery/index.ts';
import { Container } from './container.ts';
import { fromDiscovery } from './errors.ts';
import { Executor } from './executor.ts';
import { Links } from './links.ts';
import { MapSource } from './map-source.ts';
import { checkOptions, type ConnectOptions, DEFAULTS, hedgeOf } from './options.ts';
import { Session } from './session.ts';

interface Parts {
  readonly directory: AccountDirectory | undefined;
  readonly links: Links;
  readonly maps: MapSource;
}

export class BatonClient {
  readonly #options: ConnectOptions;
  readonly #parts: Parts;
  readonly #executor: Executor;
  readonly #session = new Session();
  #closing: Promise<void> | undefined;

  private constructor(options: ConnectOptions, parts: Parts, host: Host) {
    this.#options = options;
    this.#parts = parts;
    const { timeoutMs = DEFAULTS.timeoutMs, maxInFlight = DEFAULTS.maxInFlight } = options;
    const { preferredRegion, pacing } = options;
    const { links, maps } = parts;
    this.#executor = new Executor({ host, links, maps, timeoutMs, maxInFlight, preferredRegion, pacing });
  }

  /** Resolves when a node has given the map of the account. Rejects with a BatonError. */
  static async connect(options: ConnectOptions): Promise<BatonClient> {
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
      return new BatonClient(options, { directory, links: made, maps }, host);
    } catch (error) {
      await Promise.all([directory?.close(), ...links.map((made) => made.close())]);
      throw error;
    }
  }

  /** The name that the nodes have for the account. */
  get account(): string {
    return this.#executor.topology.map.account.name;
  }

  /** Reads have this level unless they ask for a weaker one. */
  get consistency(): ReadLevel {
    return this.#executor.topology.map.account.consistency;
  }

  /** In order of priority. */
  get regions(): readonly string[] {
    return this.#executor.topology.regions;
  }

  get containers(): readonly string[] {
    return this.#executor.topology.map.containers.map(({ name }) => name);
  }

  /** Asks nobody: a container that does not exist is noticed by its first operation. */
  container<T extends object = Record<string, unknown>>(name: string): Container<T> {
    const { hedge } = this.#options;
    return new Container<T>(name, {
      executor: this.#executor,
      session: this.#session,
      hedge: hedgeOf(hedge),
    });
  }

  /** A session of its own, for one user of many; with the token of another one it has seen all that that one saw. */
  session(token?: string): Session {
    return new Session(token);
  }

  /** Operations under way now. */
  get inFlight(): number {
    return this.#executor.inFlight;
  }

  /** What is under way ends with CLIENT_CLOSED. Nothing is left: no connection, no timer. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const { directory, links, maps } = this.#parts;
    await Promise.all([this.#executor.close(), maps.close(), directory?.close()]);
    await links.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
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
