/**
 * A second cluster, which begins in the same moment as the first over acceptors of its own and one that both were told of. One of
 * them gets it. The other goes on without, or does not open, and then its processes may find the first cluster through the shared
 * acceptor and join that.
 */
import type { ScheduledFault } from '../seeded-run.ts';
import { acceptorName } from './faults.ts';

export interface Rivals {
  readonly shared: string;
  /** Their own acceptors. */
  readonly acceptors: readonly string[];
  readonly clients: readonly string[];
  readonly fault: ScheduledFault;
}

const CLIENTS = 2;

/** Undefined: the schedule has none. `size`: how many acceptors a cluster begins with. */
export function rivalsIn(schedule: readonly ScheduledFault[], size: number): Rivals | undefined {
  const fault = schedule.find(({ kind }) => kind === 'shared');
  if (fault === undefined) return undefined;
  return {
    shared: fault.targets[0]!,
    acceptors: Array.from({ length: size - 1 }, (_, at) => `rival-${acceptorName(at)}`),
    clients: Array.from({ length: CLIENTS }, (_, at) => `rival-${at}`),
    fault,
  };
}
