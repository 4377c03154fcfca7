/** The first state of a partition-set. */
import type { Configuration } from './configuration.ts';
import { type FailoverState, type RegionState, SCHEMA } from './state.ts';

const NEVER_HEARD_OF: RegionState = { incarnation: 0, version: 0, beat: 0, seen: 0, missed: 0, live: 0 };

/** Nothing has been written yet, so every region holds everything and is in the lease set. */
export function newState(partitionSet: string, configuration: Configuration): FailoverState {
  const { priorities, timings } = configuration;
  const [writer] = priorities;
  if (writer === undefined) throw new RangeError('A partition-set needs at least one region.');
  return {
    schema: SCHEMA,
    minReader: 1,
    partitionSet,
    gcn: 1,
    writer,
    phase: 'Steady',
    step: 1,
    configuration,
    leaseMs: timings.leaseMs,
    leaseSet: [...priorities],
    regions: Object.fromEntries(priorities.map((name) => [name, NEVER_HEARD_OF])),
    raise: { cause: 'creation', gcn: 0, writer: null, beat: 0, lsn: 0 },
    damping: { failures: 0, wait: 0, vain: 0 },
    open: [],
    recent: [],
    statistics: {},
    history: [],
  };
}
