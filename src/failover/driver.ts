/**
 * The driver: what is failed over, as the agent sees it (DESIGN section 4). The embedded engine is one, a PostgreSQL under an
 * agent of its own is another; `docs/driver.md` builds one for a toy store in about a hundred lines, and the conformance
 * suite (`test/conformance/driver.ts`) can be run against any.
 *
 * What a driver owes its agent:
 * - `incarnation` is higher than any it ever gave, durably: the next life of a region must not be taken for the last one.
 * - `status` is what is true now and is cheap: it is asked at every try of an update. `progress` and what `peers` have are
 *   durable, and acknowledgements count only from peers that follow the epoch in which they are asked (rule 5).
 * - `assume` carries a role out completely, in the order in which the roles come: when it resolves, the partition is that,
 *   and will be after a crash as far as fencing goes. `fenced` and every role of a higher epoch refuse replication of lower
 *   epochs from then on (rule 7). A role that it already has is no work.
 * - A writer asks `mayWrite` before it takes a write and before it serves a strong read, and takes nothing when the answer
 *   is no (rule 3). At Strong a commit waits for every region of the commit set, also for the log that was taken over
 *   before anything new is served (rule 6).
 */
import type { Asker, DriverStatus, Role } from './core/index.ts';

/** The agent, as its driver sees it. */
export interface AgentView {
  /** Whether writes and strong reads may be served at this moment. */
  mayWrite(): boolean;
  /** For how long that process of a region may serve strong reads, counted from when it asked; 0 is no (rule 15). */
  grant(asker: Asker): number;
  /** Rule 22: this process is about to leave its stop mark. It serves no strong reads as a reader any more, and asks for no
   * grant; it goes on replicating until it ends. */
  isStopping?(): boolean;
  /** The status has changed in a way that the agent should know of before its next heartbeat. */
  changed(): void;
}

export interface Driver {
  incarnation(): Promise<number>;
  status(): DriverStatus;
  assume(role: Role): Promise<void>;
  /** Called once, after `incarnation` and before anything else. */
  attach?(agent: AgentView): void;
}
