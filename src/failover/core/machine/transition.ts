/**
 * `transition(state, report)`: one state update (paper 4.2, step 3). Pure and total: for every pair it gives the next state,
 * the same state, or a refusal that leaves the register as it was. It is the editor of a CASPaxos change, so it may run many
 * times; and no state is terminal: whatever happened before, reports that keep coming lead back to a write region.
 */
import { isRefusal } from './configure.ts';
import { postIntent, settleIntents } from './intents.ts';
import { type Refusal, refusal, tooNew } from './refusal.ts';
import type { RegionReport, Report } from './report.ts';
import { type MachineRule, RULES } from './rules.ts';
import { awakeIn, departedOf, type FailoverState, MACHINE_VERSION, regionOf } from './state.ts';

export type Verdict =
  | { readonly verdict: 'accepted'; readonly state: FailoverState }
  /** Rule 2: computed under a GCN that has passed. The state tells the region what it missed. */
  | { readonly verdict: 'stale'; readonly state: FailoverState }
  | { readonly verdict: 'refused'; readonly refusal: Refusal };

export type Machine = (state: FailoverState, report: Report) => Verdict;

/** The machine as a given version has it: a rolling upgrade runs two of them on one register. */
export function machineOf(version: number): Machine {
  return machineWith(version, RULES);
}

/** With other rules: for a version to come. */
export function machineWith(version: number, rules: readonly MachineRule[]): Machine {
  return (state, report) => {
    const problem = admission(state, report, version);
    if (problem === 'stale') return { verdict: 'stale', state };
    if (problem !== undefined) return { verdict: 'refused', refusal: problem };
    if (report.type === 'region')
      return { verdict: 'accepted', state: update(state, report, version, rules) };
    const posted = postIntent(state, report, version);
    return isRefusal(posted)
      ? { verdict: 'refused', refusal: posted }
      : { verdict: 'accepted', state: posted };
  };
}

export const transition = machineOf(MACHINE_VERSION);

function update(
  state: FailoverState,
  report: RegionReport,
  version: number,
  rules: readonly MachineRule[],
): FailoverState {
  let next = state;
  const awake = awakeIn(state, version);
  for (const rule of rules) {
    const isDecided = rule.to !== undefined && next.phase !== state.phase;
    if (rule.since > awake || isDecided || !rule.from.includes(next.phase)) continue;
    next = rule.apply(next, report, state, awake);
  }
  return settleIntents(next, state.gcn);
}

function admission(state: FailoverState, report: Report, version: number): Refusal | 'stale' | undefined {
  if (state.minReader > version) return tooNew(state.minReader, version);
  if (report.type === 'intent') return undefined;
  return admitRegion(state, report);
}

function admitRegion(state: FailoverState, report: RegionReport): Refusal | 'stale' | undefined {
  const { region, gcn, incarnation, progress } = report;
  const known = regionOf(state, region);
  if (known === undefined) {
    return state.removed?.includes(region) === true || departedOf(state, region) !== undefined
      ? refusal('REGION_REMOVED', 'region', `${region} was removed from ${state.partitionSet}.`)
      : refusal('REGION_UNKNOWN', 'region', `${state.partitionSet} has no region ${region}.`);
  }
  if (gcn > state.gcn) {
    const message = `${region} has seen GCN ${gcn}, but the register of ${state.partitionSet} holds ${state.gcn}: it went back.`;
    return refusal('GCN_AHEAD', 'gcn', message);
  }
  if (incarnation < known.incarnation) {
    const message = `A later process of ${region} (${known.incarnation}) has reported; this one (${incarnation}) must stop.`;
    return refusal('INCARNATION_OLD', 'incarnation', message);
  }
  if (progress.epoch > gcn) {
    const message = `${region} reports an entry of epoch ${progress.epoch} under GCN ${gcn}.`;
    return refusal('PROGRESS_IMPOSSIBLE', 'progress.epoch', message);
  }
  return gcn < state.gcn ? 'stale' : undefined;
}
