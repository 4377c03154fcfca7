/** How a client is made, and what its operations may be told. */
import type { ReadLevel } from '../../engine/index.ts';
import type { Host } from '../../protocol/index.ts';
import type { RpcTls } from '../../transport/index.ts';
import type { PlanSettings } from '../core/index.ts';
import { parseAddress, type RegionEndpoints, type TxtLookup } from '../discovery/index.ts';
import { BatonError } from './errors.ts';
import type { Session } from './session.ts';

export interface HedgeOptions {
  /** After how long another region is asked too; `p95`: when 95 of 100 reads would have been answered. */
  readonly afterMs: number | 'p95';
}

export interface ConnectOptions {
  /** The DNS name of the account, such as `demo.baton.local`; with `endpoints` its name alone will do. */
  readonly account: string;
  /** DNS servers as IP or IP:PORT; the system's otherwise. */
  readonly servers?: readonly string[] | undefined;
  /** Instead of DNS: addresses of nodes, HOST:PORT, of any regions; or all addresses of every region in order of priority. */
  readonly endpoints?: readonly string[] | readonly RegionEndpoints[] | undefined;
  /** What nodes call their cluster, if not as the account is called. */
  readonly cluster?: string | undefined;
  readonly token?: string | undefined;
  readonly tls?: RpcTls | undefined;
  /** Where the last good record of the account is kept; `false`: nowhere. */
  readonly cacheDirectory?: string | false | undefined;
  /** Asked first, until it is known which region is nearest. */
  readonly preferredRegion?: string | undefined;
  /** For `connect`, and for every operation that is given no other. */
  readonly timeoutMs?: number | undefined;
  /** Slow reads are sent to a second region too; `true`: at `p95`. */
  readonly hedge?: boolean | HedgeOptions | undefined;
  /** Operations under way at once; further ones are refused with THROTTLED. */
  readonly maxInFlight?: number | undefined;
  /** How patient the client is with regions. */
  readonly pacing?: Partial<PlanSettings> | undefined;
  /** Clocks, timers and chance; those of the process otherwise. */
  readonly host?: Host | undefined;
  /** Instead of DNS, in tests. */
  readonly lookup?: TxtLookup | undefined;
}

export interface RequestOptions {
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Otherwise the client's own. */
  readonly session?: Session | undefined;
}

export interface WriteOptions extends RequestOptions {
  /** Taken from the document, or the id where that is the key; needed otherwise. */
  readonly partitionKey?: PartitionKeyValue | undefined;
  /** Only if the item is at this version; `*`: only if there is one. */
  readonly ifMatch?: string | undefined;
  /** Only if the item is not at this version. */
  readonly ifNoneMatch?: string | undefined;
  /** The name of this write, unique for ever: who sends it twice gets the first answer again. One is made up otherwise. */
  readonly operationId?: string | undefined;
}

export interface ReadOptions extends RequestOptions {
  readonly partitionKey?: PartitionKeyValue | undefined;
  /** Not stronger than the account's, which holds otherwise. */
  readonly consistency?: ReadLevel | undefined;
  readonly hedge?: boolean | HedgeOptions | undefined;
}

/** A value, or the values of a hierarchical key. `undefined` in a list: items without that property. */
export type PartitionKeyValue =
  | string
  | number
  | boolean
  | null
  | readonly (string | number | boolean | null | undefined)[];

export const DEFAULTS = { timeoutMs: 10_000, maxInFlight: 1024 } as const;

/** Throws OPTIONS_INVALID. */
export function checkOptions(options: ConnectOptions): void {
  const { account, endpoints, timeoutMs, maxInFlight } = options;
  demand(typeof account === 'string' && account !== '', 'The option account must be a name.');
  demand(isPositive(timeoutMs), 'The option timeoutMs must be a positive number.');
  demand(isPositive(maxInFlight), 'The option maxInFlight must be a positive number.');
  if (endpoints === undefined) return;
  demand(endpoints.length > 0, 'The option endpoints must name at least one node.');
  for (const address of endpoints.flatMap((one) => (typeof one === 'string' ? [one] : one.addresses)))
    demand(parseAddress(address) !== undefined, `"${address}" in endpoints is not of the form HOST:PORT.`);
}

/** As long as a timer can be. */
const LARGEST = 2 ** 31 - 1;

export function isPositive(value: number | undefined): boolean {
  return value === undefined || (typeof value === 'number' && value > 0 && value <= LARGEST);
}

function demand(condition: boolean, message: string): asserts condition {
  if (!condition) throw new BatonError('OPTIONS_INVALID', { message });
}

export function hedgeOf(option: boolean | HedgeOptions | undefined): HedgeOptions | undefined {
  if (option === true) return { afterMs: 'p95' };
  return option === false ? undefined : option;
}
