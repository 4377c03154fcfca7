/**
 * States and reports for the tests of the failover state machine. A report is made from the state it would be computed
 * under, as a healthy region in a quiet network would make it; a test names only what is different about it.
 */
import {
  certainlyOver,
  type Configuration,
  type FailoverState,
  type IntentBody,
  type IntentReport,
  machineOf,
  MACHINE_VERSION,
  newState,
  PROFILES,
  type RegionReport,
  type Report,
  type Verdict,
  type WriterReport,
} from 'baton/failover';

export const NOON = '2026-03-01T12:00:00.000Z';

export function configurationOf(changes: Partial<Configuration> = {}): Configuration {
  return {
    version: 1,
    priorities: ['A', 'B', 'C'],
    consistency: 'Strong',
    minDurability: 2,
    timings: PROFILES.paper,
    failback: 'automatic',
    ...changes,
  };
}

/** A state in which every region has just reported, with a writer of some standing. */
export function healthy(changes: Partial<Configuration> = {}): FailoverState {
  const configuration = configurationOf(changes);
  let state = newState('orders-7', configuration);
  for (let round = 0; round < 3; round += 1) {
    for (const name of [...configuration.priorities].reverse())
      state = accepted(state, heartbeat(state, name));
  }
  return state;
}

/** The regular heartbeat of a healthy region, changed as the test wants. */
export function heartbeat(
  state: FailoverState,
  region: string,
  changes: Partial<RegionReport> = {},
): RegionReport {
  const names = Object.keys(state.regions);
  const known = state.regions[region];
  return {
    type: 'region',
    region,
    incarnation: Math.max(1, known?.incarnation ?? 1),
    version: MACHINE_VERSION,
    gcn: state.gcn,
    at: NOON,
    scheduled: true,
    build: 'Built',
    progress: known?.report?.progress ?? { epoch: 1, lsn: 10 },
    gclsn: known?.report?.progress.lsn ?? 10,
    canCommit: true,
    reaches: names.filter((name) => name !== region),
    ...(region === state.writer && { writer: writerPart(state) }),
    ...changes,
  };
}

export function writerPart(state: FailoverState, changes: Partial<WriterReport> = {}): WriterReport {
  return { commitSet: state.leaseSet, caughtUp: Object.keys(state.regions), ...changes };
}

/** An update in between, of a writer that says more than it is alive. */
export function writerSays(
  state: FailoverState,
  says: Partial<WriterReport>,
  changes: Partial<RegionReport> = {},
): RegionReport {
  return heartbeat(state, state.writer!, { scheduled: false, writer: writerPart(state, says), ...changes });
}

/** A region that has waited out the writer's lease, to the millisecond. */
export function silence(
  state: FailoverState,
  region: string,
  changes: Partial<NonNullable<RegionReport['silence']>> = {},
): RegionReport {
  const writer = state.writer ?? 'nobody';
  const waitedMs = Math.ceil(certainlyOver(state.leaseMs));
  const beat = state.regions[writer]?.beat ?? 0;
  return heartbeat(state, region, { silence: { gcn: state.gcn, writer, beat, waitedMs, ...changes } });
}

export function intent(
  body: IntentBody,
  changes: Partial<Omit<IntentReport, 'intent' | 'type'>> = {},
): IntentReport {
  return { type: 'intent', id: `${body.kind}-1`, who: 'ops', at: NOON, intent: body, ...changes };
}

/** The next state, where the test expects one. */
export function accepted(
  state: FailoverState,
  report: Report,
  machine: (state: FailoverState, report: Report) => Verdict = machineOf(MACHINE_VERSION),
): FailoverState {
  const verdict = machine(state, report);
  if (verdict.verdict === 'accepted') return verdict.state;
  throw new Error(
    `not accepted: ${JSON.stringify(verdict.verdict === 'refused' ? verdict.refusal : 'stale')}`,
  );
}

/** One report after the other, each computed under the state that the one before it left. */
export function after(
  state: FailoverState,
  ...reports: readonly ((state: FailoverState) => Report)[]
): FailoverState {
  return reports.reduce((next, report) => accepted(next, report(next)), state);
}

/** The writer is silent; every region in `reporting` fences itself and reports, and one of them is elected. */
export function failedOver(state: FailoverState, reporting: readonly string[]): FailoverState {
  const raised = accepted(state, silence(state, reporting[0]!));
  const reported = reporting
    .slice(0, -1)
    .reduce((next, name) => accepted(next, heartbeat(next, name)), raised);
  return settling(reported, reporting.at(-1)!);
}

/** A report of one that has waited for the others to report, long enough. */
export function settling(
  state: FailoverState,
  region: string,
  changes: Partial<RegionReport> = {},
): FailoverState {
  const wait = { step: state.step, waitedMs: 60_000 };
  return accepted(state, heartbeat(state, region, { scheduled: false, wait, ...changes }));
}

/** A graceful failover to that region has begun, wished for by an operator; the target has not been heard yet. */
export function movingTo(target: string, state: FailoverState = healthy()): FailoverState {
  return after(
    state,
    () => intent({ kind: 'switchover', target }),
    (wished) => heartbeat(wished, wished.writer!, { scheduled: false }),
  );
}

/** The target has been heard: the writer is to quiesce. */
export function quiescing(target: string, state: FailoverState = healthy()): FailoverState {
  return after(movingTo(target, state), (begun) =>
    heartbeat(begun, target, { scheduled: false, wait: { step: begun.step, waitedMs: 100 } }),
  );
}

/** The writer has quiesced and has said so. */
export function quiesced(state: FailoverState, changes: Partial<RegionReport> = {}): FailoverState {
  return accepted(state, writerSays(state, { quiescedInStep: state.step }, changes));
}
