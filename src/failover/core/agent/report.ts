/** What a region says in an update, put together from what its agent and its driver know at the moment of this try (rule 2). */
import {
  type FailoverState,
  MACHINE_VERSION,
  type RegionReport,
  type WriterReport,
} from '../machine/index.ts';
import type { DriverStatus } from './driver.ts';
import { unansweredMs } from './duties.ts';
import type { AgentOptions } from './port.ts';
import type { Watch } from './watch.ts';

export interface ReportBy {
  readonly found: FailoverState;
  readonly status: DriverStatus;
  readonly now: number;
  readonly at: string;
  readonly scheduled: boolean;
  /** Up to which the driver has fenced itself. */
  readonly gcn: number;
  readonly watch: Watch;
  /** What only the write region says. */
  readonly writer: WriterReport | undefined;
  readonly isStopping: boolean;
  readonly phase2: { readonly ms: number; readonly of: string } | undefined;
}

export function reportOf(
  { region, incarnation, version = MACHINE_VERSION }: AgentOptions,
  { found, status, now, at, scheduled, gcn, watch, writer, isStopping, phase2 }: ReportBy,
): RegionReport {
  const reachable = unansweredMs(found.configuration);
  const silence = found.writer === region ? undefined : watch.silence(now);
  const wait = watch.stepWait(now);
  return {
    type: 'region',
    region,
    incarnation,
    version,
    gcn: Math.max(1, gcn),
    at,
    scheduled,
    build: status.build,
    progress: status.progress,
    gclsn: status.gclsn,
    canCommit: status.canCommit,
    reaches: Object.keys(status.peers).filter((name) => status.peers[name]!.acknowledgedMsAgo < reachable),
    ...(silence !== undefined && { silence }),
    ...(wait !== undefined && { wait }),
    ...(writer !== undefined && { writer }),
    ...(isStopping && { stopping: true }),
    ...(status.signals !== undefined && { signals: status.signals }),
    ...(phase2 !== undefined && { phase2Ms: phase2.ms, phase2Of: phase2.of }),
  };
}
