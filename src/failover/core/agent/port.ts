/** What an agent is given: who it is, and a host that acts for it. */
import type { FailoverState, RegionName, Refusal } from '../machine/index.ts';
import type { SchedulingPolicy } from '../scheduling/policy.ts';
import type { Role } from './driver.ts';
import type { Hint } from './hints.ts';

export interface AgentPort {
  /** Run a state update now, with `edit`. */
  update(): void;
  /** Read the state now. */
  read(): void;
  assume(role: Role): void;
  hint(hint: Hint): void;
  event(event: AgentEvent): void;
}

export type AgentEvent =
  | { readonly event: 'state'; readonly state: FailoverState; readonly before: FailoverState | undefined }
  | { readonly event: 'lease lost'; readonly gcn: number }
  | { readonly event: 'refused'; readonly refusal: Refusal }
  | { readonly event: 'stopped' };

export interface AgentOptions {
  readonly region: RegionName;
  readonly incarnation: number;
  readonly policy: SchedulingPolicy;
  /** Whether peers send hints, so that a missing one means something. */
  readonly hints: boolean;
  /** When the process began, and when its first heartbeat is due: start-up is spread out. */
  readonly startedAt: number;
  readonly firstBeatAt: number;
  /** The directory was last used under another boot or on another machine: an earlier process may still run there. */
  readonly isDirectoryStrange?: boolean | undefined;
  readonly version?: number;
  /** Of the configuration, as long as no state has been seen. */
  readonly intervalMs?: number | undefined;
  readonly random: () => number;
}
