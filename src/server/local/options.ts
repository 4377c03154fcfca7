/** The options of a local cluster, and the events that it reports. */
import type { LoadState } from './load-figures.ts';
import type { AnyOrder } from './orders.ts';
import type { Role } from './role-process.ts';
import type { ShapeOptions } from './shape.ts';

export interface LocalClusterOptions extends ShapeOptions {
  readonly directory: string;
  /** The first of the ports; `free` takes any that are. Without it: those of the last run, or the default. */
  readonly portBase?: number | 'free';
  /** A gateway for each region and a global one. Without it: as the directory has it, or none. */
  readonly gateways?: boolean;
  /** A network namespace for each region and acceptor: then links can be cut. Needs root. */
  readonly namespaces?: boolean;
  /** The directory goes when this process does, however it ends. */
  readonly isTemporary?: boolean;
  readonly minimumFreeBytes?: number;
  readonly onEvent?: (event: LocalEvent) => void;
}

export type LocalEvent =
  | {
      readonly type: 'starting' | 'ready' | 'stopping' | 'stopped';
      readonly process: string;
      readonly role: Role;
    }
  | { readonly type: 'lost'; readonly process: string; readonly how: string; readonly log: string }
  | {
      readonly type: 'order';
      readonly order: AnyOrder;
      readonly processes: readonly string[];
      readonly load?: LoadState;
    };

export interface WaitOptions {
  readonly signal?: AbortSignal;
  /** The time begins anew whenever more of them are there. */
  readonly isFromProgress?: boolean;
  readonly onProgress?: (done: number, inAll: number) => void;
}

/** One or several. */
export type Names = string | readonly string[];
