/**
 * The lease set (paper 4.6, dynamic quorum): the regions whose durable acknowledgement a Strong commit needs and that may
 * be elected. Only the writer changes it, apart from an election (rule 1): it asks, and the editor grants what keeps the
 * set at the minimum durability. At weaker levels nobody waits for it; it is the writer and whoever reports.
 */
import { isNewIncarnation, missedBeats, renews } from './beats.ts';
import { needsLeaseSet } from './configuration.ts';
import type { RegionReport } from './report.ts';
import { type FailoverState, type RegionName, regionOf } from './state.ts';

export function changeLeaseSet(
  state: FailoverState,
  report: RegionReport,
  before: FailoverState,
  awake: number,
): FailoverState {
  if (!needsLeaseSet(state.configuration.consistency)) return followReports(state, report, awake);
  // Rule 2: a process that has just started asks for nothing that its predecessor worked out.
  if (report.region !== state.writer || report.writer === undefined || isNewIncarnation(before, report))
    return state;
  // A writer that reaches too few to renew (rule 8) is about to be replaced: it does not choose by whom.
  if (!renews(state, report)) return state;
  const { add = [], remove = [], commitSet } = report.writer;
  let next = state;
  // Rule 18: during a graceful failover members are added only before the final report, and none is removed.
  if (state.final === undefined) {
    for (const region of add) if (mayJoin(next, region, commitSet)) next = withMember(next, region);
  }
  if (state.phase !== 'Steady') return next;
  for (const region of remove) next = withoutMember(next, region);
  return next;
}

/** Rule 14: the commit set always contains the lease set. */
function mayJoin(state: FailoverState, region: RegionName, commitSet: readonly RegionName[]): boolean {
  const known = regionOf(state, region);
  return (
    known !== undefined &&
    known.building !== true &&
    known.leaving !== true &&
    known.stop === undefined &&
    commitSet.includes(region)
  );
}

export function withMember(state: FailoverState, region: RegionName): FailoverState {
  if (state.leaseSet.includes(region)) return state;
  return { ...state, leaseSet: [...state.leaseSet, region] };
}

/** Unless that would take it below the minimum durability. The writer never leaves. */
export function withoutMember(state: FailoverState, region: RegionName): FailoverState {
  if (region === state.writer || !state.leaseSet.includes(region)) return state;
  if (state.leaseSet.length - 1 < state.configuration.minDurability) return state;
  return { ...state, leaseSet: state.leaseSet.filter((member) => member !== region) };
}

function followReports(state: FailoverState, report: RegionReport, awake: number): FailoverState {
  const { region } = report;
  if (region !== state.writer) {
    const { building, leaving, stop } = state.regions[region]!;
    const takesPart = building !== true && leaving !== true && stop === undefined;
    if (takesPart) return state.final === undefined ? withMember(state, region) : state;
    return state.phase === 'Steady' ? withoutMember(state, region) : state;
  }
  if (state.phase !== 'Steady') return state;
  let next = state;
  for (const member of state.leaseSet) {
    const known = regionOf(state, member);
    if (known === undefined || known.missed >= missedBeats(awake) || known.leaving === true)
      next = withoutMember(next, member);
  }
  return next;
}
