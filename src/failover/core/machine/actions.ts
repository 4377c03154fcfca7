/**
 * What the state tells one region to do (paper 3.2): the other half of the machine. A state update ends with these actions,
 * which the agent carries out through its driver; doing them again changes nothing.
 */
import type { Consistency } from './configuration.ts';
import {
  type FailoverState,
  mustWait,
  namesOf,
  type RegionName,
  regionOf,
  statusOf,
  unfenced,
} from './state.ts';

/** The write region that the GCN was taken from, and its last beat: what rule 12's wait is counted against. */
export interface Predecessor {
  readonly gcn: number;
  readonly writer: RegionName;
  readonly beat: number;
}

export type Action =
  /**
   * Accept writes in this epoch, as long as one's own lease runs (rule 3).
   * `waitFor`: not before a whole lease has passed since that triple was learned; until then, commit on all regions (rule 12).
   * `unfenced`: these have not reported under this GCN and may still read under an older one, granted by `after`; none of
   * them leaves the commit set before a whole lease has passed since that triple was learned (rules 13 and 22).
   */
  | {
      readonly do: 'accept writes';
      readonly epoch: number;
      readonly leaseSet: readonly RegionName[];
      readonly waitFor?: Predecessor;
      readonly after?: Predecessor;
      readonly unfenced?: readonly RegionName[];
    }
  /** Stop accepting writes, finish what is under way, report the final progress (rules 18 and 19). */
  | {
      readonly do: 'quiesce writes';
      readonly epoch: number;
      readonly step: number;
      readonly target: RegionName;
      readonly leaseSet: readonly RegionName[];
    }
  /** Follow that writer: reconcile with its epoch, undo false progress, apply its log. */
  | { readonly do: 'follow'; readonly epoch: number; readonly writer: RegionName }
  /** Drop leases and grants, refuse replication of lower epochs, and only then report (rule 7). */
  | { readonly do: 'fence'; readonly epoch: number }
  /** Copy the data from the writer; the region is new, or has lost what it had. */
  | { readonly do: 'build'; readonly epoch: number; readonly writer: RegionName }
  /** The writer: keep what that level and the one in force demand, and say when it can be put in force. */
  | { readonly do: 'prepare level'; readonly consistency: Consistency }
  /** The writer: ask for the removal of these, which are leaving. */
  | { readonly do: 'let go'; readonly regions: readonly RegionName[] }
  /** This region is not part of the partition-set any more. */
  | { readonly do: 'leave' };

export function actionsFor(state: FailoverState, name: RegionName): readonly Action[] {
  const region = regionOf(state, name);
  if (region === undefined) return [{ do: 'leave' }];
  const { gcn: epoch, writer, leaseSet } = state;
  const status = statusOf(state, name);
  switch (status) {
    case 'ReadWrite':
      // It has lost its data: it has nothing to welcome anybody to, and whoever has takes over.
      if (region.building === true) return [{ do: 'fence', epoch }];
      return [{ do: 'accept writes', epoch, leaseSet, ...waitsOf(state) }, ...duties(state, name)];
    case 'ReadWriteWithWritesQuiesced':
      return [{ do: 'quiesce writes', epoch, step: state.step, target: state.target!, leaseSet }];
    case 'ReadOnlyReplicationAllowed':
      return [{ do: region.building === true ? 'build' : 'follow', epoch, writer: writer! }];
    case 'ReadOnlyReplicationDisallowed':
      return [{ do: 'fence', epoch }];
    default:
      return status satisfies never;
  }
}

interface Waits {
  readonly waitFor?: Predecessor;
  readonly after?: Predecessor;
  readonly unfenced?: readonly RegionName[];
}

/** Rules 12, 13 and 22. A silence has been waited out already; whoever reported after fencing has no older rights left. */
function waitsOf(state: FailoverState): Waits {
  const { gcn, writer, beat } = state.raise;
  const names = unfenced(state);
  if (writer === null || names.length === 0) return {};
  const after = { gcn, writer, beat };
  return mustWait(state) ? { waitFor: after, after, unfenced: names } : { after, unfenced: names };
}

function duties(state: FailoverState, name: RegionName): readonly Action[] {
  const wanted = state.configuration.wanted?.consistency;
  const leaving = namesOf(state).filter((other) => other !== name && state.regions[other]!.leaving === true);
  return [
    ...(wanted === undefined ? [] : [{ do: 'prepare level', consistency: wanted } as const]),
    ...(leaving.length === 0 ? [] : [{ do: 'let go', regions: leaving } as const]),
  ];
}
