/** What the parts of a gateway share: what a request is, what an answer is, and what a handler may use to make one. */
import type { IncomingHttpHeaders } from 'node:http';
import type { PartitionClient } from '../../client/index.ts';
import type { ReadLevel } from '../../engine/index.ts';
import type { Logger } from '../../failover/index.ts';
import type { Host } from '../../protocol/index.ts';
import type { Catalog, Edited } from '../catalog/index.ts';
import type { Resource } from './resources.ts';

export interface CatalogSource {
  /** Linearizable: what was created before is in it. */
  read(): Promise<Catalog>;
  /** At most a second old; `isMissing` says whether it lacks what is looked for, and then it is read anew, once. */
  known(isMissing?: (catalog: Catalog) => boolean): Promise<Catalog>;
  change(edit: (catalog: Catalog) => Edited): Promise<Edited>;
}

/** A bound on request units for each second, for each container, in this process. */
export interface Throttle {
  /** Undefined: go on. Else how many milliseconds to wait. */
  charge(containerNumber: number, units: number): number | undefined;
}

export interface Location {
  /** The region. */
  readonly name: string;
  /** With a slash at its end, spelled the same wherever it stands. */
  readonly endpoint: string;
}

/** What a gateway needs of the client that speaks to nodes. */
export type Partitions = Pick<
  PartitionClient,
  'topology' | 'refreshMap' | 'write' | 'read' | 'scan' | 'feed' | 'look'
>;

export interface GatewayContext {
  /** Whose door this is, and how long a write is held while nobody can write; undefined: the global endpoint. */
  readonly door: { readonly region: string; readonly holdMs: number } | undefined;
  readonly account: { readonly name: string; readonly consistency: () => ReadLevel };
  readonly catalog: CatalogSource;
  readonly partitions: Partitions;
  readonly host: Host;
  readonly logger: Logger;
  /** The regions' front doors in order of priority. */
  readonly locations: () => readonly Location[];
  /** This door's endpoint as clients write it. */
  readonly self: () => string;
  readonly throttle: Throttle;
}

export interface GatewayRequest {
  readonly method: string;
  readonly resource: Resource;
  readonly headers: IncomingHttpHeaders;
  /** Empty if there is none. */
  readonly body: Buffer;
  /** Ends when the client is gone or the gateway stops. */
  readonly signal: AbortSignal;
  readonly isReadOnlyKey: boolean;
  readonly activityId: string;
  /** What is left for all of it. */
  readonly timeoutMs: number;
}

export interface GatewayAnswer {
  readonly status: number;
  readonly substatus?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON; bytes are sent as they are, called JSON unless a header says otherwise. */
  readonly body?: object | Uint8Array | AsyncIterable<Uint8Array>;
  /** In request units; 1 if nothing is said. */
  readonly charge?: number;
}

export type Handler = (request: GatewayRequest, context: GatewayContext) => Promise<GatewayAnswer>;
