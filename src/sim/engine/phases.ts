/**
 * What a partition-set is going through at a moment, as somebody sees it who sees everything. A campaign counts which fault met
 * which phase: a thousand crashes show nothing about a planned move if none of them fell into one.
 */
import type { FailoverState } from '../../failover/index.ts';
import type { Region } from './region.ts';

export const FUZZ_PHASES = [
  'steady',
  'announced',
  'quiescing',
  'ungraceful',
  'catching up',
  'full copy',
] as const;

export type FuzzPhase = (typeof FUZZ_PHASES)[number];

/** The name under which a campaign counts that a fault met a phase. */
export function meeting(fault: string, phase: FuzzPhase): string {
  return `${fault} x ${phase}`;
}

export function phasesOf(regions: readonly Region[], partitionSet: string): ReadonlySet<FuzzPhase> {
  const phases = new Set<FuzzPhase>();
  const state = newestState(regions, partitionSet);
  if (state !== undefined) phases.add(phaseOf(state));
  for (const region of regions) {
    const core = region.partition(partitionSet)?.core;
    if (core?.following === undefined) continue;
    if (core.store.notes.building) phases.add('full copy');
    if (!core.following.isFollowing) phases.add('catching up');
  }
  return phases;
}

/** The newest that any agent knows: nearly always what the register holds. */
export function newestState(regions: readonly Region[], partitionSet: string): FailoverState | undefined {
  let newest: FailoverState | undefined;
  for (const region of regions) {
    const state = region.agentOf(partitionSet)?.state;
    if (state === undefined) continue;
    const isNewer =
      newest === undefined ||
      state.gcn > newest.gcn ||
      (state.gcn === newest.gcn && state.step > newest.step);
    if (isNewer) newest = state;
  }
  return newest;
}

function phaseOf({ phase, quiesce }: FailoverState): FuzzPhase {
  if (phase === 'Steady') return 'steady';
  if (phase === 'Ungraceful') return 'ungraceful';
  return quiesce === true ? 'quiescing' : 'announced';
}
