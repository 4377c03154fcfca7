/**
 * The machine as a table of small named rules. An update runs through it from top to bottom; each rule leaves the state as
 * it is or changes it; the first that changes the phase ends the deciding, and the rest of the table's bookkeeping follows.
 * The diagram in the documentation is drawn from this table, and SPEC.md has a cell for every phase and event.
 */
import { takeDown } from './beats.ts';
import { elect } from './election.ts';
import { begin, finalReport, giveUp, ready, switchOver } from './graceful.ts';
import { putInForce } from './configure.ts';
import { changeLeaseSet } from './lease-set.ts';
import { onSignal, onSilence, onWriterUnable } from './raise.ts';
import type { RegionReport } from './report.ts';
import type { FailoverState, Phase } from './state.ts';

export interface MachineRule {
  readonly name: string;
  /** In which phases it can apply, and the phase it leads to when that is another one. */
  readonly from: readonly Phase[];
  readonly to?: Phase;
  /** The rules of safety that it keeps (DESIGN section 5). */
  readonly keeps: readonly number[];
  /** When it applies and what it does, for the diagram and the documentation. */
  readonly when: string;
  readonly does: string;
  /** The version of the machine that it came with; it sleeps until every region runs that. */
  readonly since: number;
  /** `before`: the state that the update found. `awake`: the version that is switched on. */
  apply(state: FailoverState, report: RegionReport, before: FailoverState, awake: number): FailoverState;
}

const ANY: readonly Phase[] = ['Steady', 'Graceful', 'Ungraceful'];
const WITH_WRITER: readonly Phase[] = ['Steady', 'Graceful'];

export const RULES: readonly MachineRule[] = [
  {
    name: 'heartbeat',
    from: ANY,
    keeps: [2, 3, 7, 8, 22],
    when: 'a region reports under the GCN in force',
    does: 'its report is taken down and its beat goes up; a writer’s only if it can commit; a reader may be replicated to from now on',
    since: 1,
    apply: takeDown,
  },
  {
    name: 'lease set',
    from: WITH_WRITER,
    keeps: [1, 2, 14, 16, 17, 18],
    when: 'the writer asks to add or remove a member',
    does: 'granted if the minimum durability allows it',
    since: 1,
    apply: changeLeaseSet,
  },
  {
    name: 'writer unable',
    from: WITH_WRITER,
    to: 'Ungraceful',
    keeps: [12, 22],
    when: 'the writer cannot commit, or stops, and another region can take over',
    does: 'the GCN is raised',
    since: 1,
    apply: onWriterUnable,
  },
  {
    name: 'silence',
    from: WITH_WRITER,
    to: 'Ungraceful',
    keeps: [4, 7, 20],
    when: 'a region has waited a whole lease since it learned of the writer’s last beat',
    does: 'the GCN is raised',
    since: 1,
    apply: onSilence,
  },
  {
    name: 'signal',
    from: WITH_WRITER,
    to: 'Ungraceful',
    keeps: [12],
    when: 'a health signal is up at the writer whose policy is failover',
    does: 'the GCN is raised',
    since: 2,
    apply: onSignal,
  },
  {
    name: 'election',
    from: ['Ungraceful'],
    to: 'Steady',
    keeps: [9, 10, 11],
    when: 'an eligible region has reported and the settling time is over, at weaker levels also most regions have reported or a lease is over; or all have reported',
    does: 'the best candidate becomes write region',
    since: 1,
    apply: elect,
  },
  {
    name: 'ready',
    from: ['Graceful'],
    keeps: [18],
    when: 'the target has been heard in this step',
    does: 'the writer quiesces',
    since: 1,
    apply: ready,
  },
  {
    name: 'final report',
    from: ['Graceful'],
    keeps: [12, 18, 19],
    when: 'the writer has quiesced and waits for nobody: commit set = lease set, and rule 12’s wait is over',
    does: 'its last (epoch, LSN) is noted',
    since: 1,
    apply: finalReport,
  },
  {
    name: 'switch',
    from: ['Graceful'],
    to: 'Steady',
    keeps: [19],
    when: 'the target has reported the writer’s final (epoch, LSN)',
    does: 'the GCN is raised and the target becomes write region, in one step',
    since: 1,
    apply: switchOver,
  },
  {
    name: 'give up',
    from: ['Graceful'],
    to: 'Steady',
    keeps: [19, 20],
    when: 'the writer finds that it was quiesced for a third of a lease, that the target does not answer, or that it is gone',
    does: 'the writer goes on, and the next try waits longer',
    since: 1,
    apply: giveUp,
  },
  {
    name: 'begin',
    from: ['Steady'],
    to: 'Graceful',
    keeps: [18, 19],
    when: 'a preferred, or an operator’s, region is healthy, built, caught up, in the lease set and live long enough',
    does: 'the writes are going to move there',
    since: 1,
    apply: begin,
  },
  {
    name: 'in force',
    from: ['Steady'],
    keeps: [17],
    when: 'the writer reports, and a wish has become safe',
    does: 'another level or a stronger durability is put in force; a leaving region goes',
    since: 1,
    apply: putInForce,
  },
];
