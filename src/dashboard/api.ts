/**
 * What a node says over HTTP, as far as the page reads it. This is the page's own copy: the page imports nothing of the other
 * rooms, because it may talk to nodes of another version. A test holds it against the schemas of the server.
 */

/** One partition-set as one node sees it; an array, because there may be ten thousand. */
export type SetRow = readonly [
  name: string,
  container: string,
  gcn: number,
  phase: string,
  writer: string | null,
  canWriteHere: 0 | 1,
  canReadHere: 0 | 1,
  leaseSet: readonly string[],
  cause: string,
  step: number,
  target: string | null,
  pin: string | null,
  lsn: number,
  gclsn: number,
];

export type Role = 'viewer' | 'operator';

export interface Hello {
  readonly node: string;
  readonly region: string;
  readonly cluster: string;
  readonly version: string;
  readonly role: Role;
  readonly isLocal: boolean;
  /** In order of priority. */
  readonly regions: readonly string[];
  readonly timings: { readonly intervalMs: number; readonly leaseMs: number; readonly settleMs: number };
}

export interface AcceptorHealth {
  readonly name: string;
  readonly url: string;
  readonly state: string;
  readonly rttMs: number | null;
}

export interface PeerHealth {
  readonly region: string;
  readonly node: string;
  readonly isUp: boolean;
  readonly rttMs: number | null;
}

/** Every second. */
export interface NodeBeat {
  readonly uptimeMs: number;
  readonly readiness: { readonly status: string; readonly reasons: readonly string[] };
  readonly acceptors: readonly AcceptorHealth[];
  readonly peers: readonly PeerHealth[];
  readonly writesPerSecond: number;
  readonly readsPerSecond: number;
  /** Of one core: 0 to 1, or more with several threads. */
  readonly cpu: number;
  readonly rssBytes: number;
}

export interface HistoryEntry {
  /** A number that rises, of the node that tells it. */
  readonly n: number;
  readonly partitionSet: string;
  readonly at: number;
  readonly what: string;
  readonly cause: string;
  readonly who: string;
  readonly gcn: number;
  readonly fromGcn: number;
  /** The region that stopped being the write region; the one that became it, or is to become it. */
  readonly from: string | null;
  readonly to: string | null;
  readonly sentence: string;
}

/** `GET /v1/partition-sets/NAME/history`. */
export interface KeptEntry {
  readonly at: string;
  readonly what: string;
  readonly sentence: string;
}

export interface LocalProcess {
  readonly name: string;
  readonly role: string;
  readonly region?: string | null | undefined;
  readonly state: string;
}

export interface LocalState {
  readonly processes: readonly LocalProcess[];
  readonly load: {
    readonly on: boolean;
    readonly perSecond: number;
    readonly acknowledged: number;
    readonly failed: number;
    readonly worstGapMs: number;
  };
  readonly canCut: boolean;
}

export type ServerEvent =
  | ({ readonly type: 'hello' } & Hello)
  | { readonly type: 'sets'; readonly isWhole: boolean; readonly sets: readonly SetRow[] }
  | { readonly type: 'gone'; readonly sets: readonly string[] }
  | ({ readonly type: 'node' } & NodeBeat)
  | { readonly type: 'history'; readonly entries: readonly HistoryEntry[] }
  | ({ readonly type: 'local' } & LocalState);

export const EVENT_TYPES = ['hello', 'sets', 'gone', 'node', 'history', 'local'] as const;

export interface ClusterMap {
  readonly cluster: string;
  readonly regions: readonly {
    readonly name: string;
    readonly nodes: readonly { readonly name: string; readonly address: string; readonly http?: string }[];
  }[];
}

export interface Progress {
  readonly epoch: number;
  readonly lsn: number;
}

export interface RegionDetail {
  readonly status: string;
  readonly build: string;
  readonly beat: number;
  readonly progress: Progress | null;
  readonly gclsn: number | null;
  readonly isLive: boolean;
  readonly reportedUnder: number | null;
  readonly reaches: readonly string[];
  readonly isStopped: boolean;
  readonly isLeaving: boolean;
}

export interface LocalDetail {
  readonly region: string;
  readonly role: string;
  readonly canWrite: boolean;
  readonly canRead: boolean;
  readonly canCommit: boolean;
  readonly progress: Progress;
  readonly gclsn: number;
  readonly build: string;
  readonly lag: Readonly<Record<string, number | null>>;
  readonly logBytes: number;
  readonly undoneWrites: number;
  readonly undoneCommitted: number;
  readonly refuses: string | null;
}

export interface OpenIntent {
  readonly id: string;
  readonly kind: string;
  readonly who: string;
  readonly target?: string;
}

/** `GET /v1/partition-sets?partitionSet=NAME`. */
export interface SetDetail {
  readonly partitionSet: string;
  readonly container: string;
  readonly range: { readonly from: string; readonly to: string };
  readonly gcn: number;
  readonly phase: string;
  readonly step: number;
  readonly writeRegion: string | null;
  readonly target: string | null;
  readonly leaseSet: readonly string[];
  readonly configuration: {
    readonly priorities: readonly string[];
    readonly consistency: string;
    readonly minDurability: number;
  };
  readonly regions: Readonly<Record<string, RegionDetail>>;
  readonly local: LocalDetail | null;
  readonly intents: { readonly open: readonly OpenIntent[] };
  readonly cause: string;
  readonly pin: string | null;
  readonly pausedAutomatic: boolean;
}

export interface StateChange {
  readonly field: string;
  readonly from: unknown;
  readonly to: unknown;
}

export interface AuditEntry {
  readonly n: number;
  readonly at: string;
  readonly role: string;
  readonly who: string | null;
  /** The address that it came from. */
  readonly from: string;
  readonly action: string;
  readonly target: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
  readonly outcome: string;
  readonly code: string | null;
}

export type Intent =
  | { readonly kind: 'switchover'; readonly target: string }
  | { readonly kind: 'failover'; readonly target?: string; readonly acceptLoss?: true }
  | { readonly kind: 'pause' | 'resume' | 'unpin' };

export interface LocalOrder {
  readonly action: 'kill' | 'pause' | 'resume' | 'stop' | 'start' | 'cut' | 'heal' | 'load';
  readonly targets?: readonly string[];
  readonly on?: boolean;
  readonly perSecond?: number;
}
