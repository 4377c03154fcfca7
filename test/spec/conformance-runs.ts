/**
 * Runs whose updates of the register are written down. The first rule of the machine's table is asked in every update that
 * the register admits, whoever makes it, so that is where they are noted; `transition` is pure, so what it made of one can be
 * worked out later, and what an altered machine would have made of it too.
 */
import {
  type FailoverState,
  type IntentBody,
  type IntentReport,
  type MachineRule,
  type RegionReport,
  RULES,
} from 'baton/failover';
import { azureRegion, newOutageCounts, type OutageCase, runOutages } from 'baton/sim';
import { FailoverModel } from '../failover-model/model.ts';
import { replay } from '../failover-model/replay.ts';
import { walk } from '../failover-model/walks.ts';
import type { Setting, World } from '../failover-model/world.ts';
import type { Recorded } from './conformance-projection.ts';

export function recording(run: () => void): Recorded[] {
  const updates: Recorded[] = [];
  const [first] = RULES;
  if (first === undefined) throw new Error('the machine has no rules');
  const original: MachineRule = { ...first };
  first.apply = (state, report, before, awake) => {
    updates.push({ before, report });
    return original.apply(state, report, before, awake);
  };
  try {
    run();
  } finally {
    Object.assign(first, original);
  }
  return updates;
}

const NAMES = ['East Asia', 'Southeast Asia', 'South Central US'];
const ACCEPTORS = [...NAMES, 'East US', 'West Europe'];

/** Real agents on real proposers and acceptors, with clocks that drift and messages that take time. */
export function outageUpdates(changes: Partial<OutageCase>, count: number): Recorded[] {
  const outageCase: OutageCase = {
    regions: NAMES.map((name) => azureRegion(name)!),
    regionNames: NAMES,
    acceptors: ACCEPTORS.map((name) => azureRegion(name)!),
    outages: 1,
    minutes: 10,
    profile: 'paper',
    hints: true,
    kind: 'region',
    consistency: 'Strong',
    minDurability: 1,
    seed: 1,
    ...changes,
  };
  return recording(() => runOutages(outageCase, 0, count, newOutageCounts(outageCase)));
}

/** Random walks of the model of `test/failover-model`: three regions to which everything happens, and operators. */
export function walkUpdates(setting: Setting, seeds: number, length: number): Recorded[] {
  const intents: Recorded[] = [];
  const updates = recording(() => {
    const model = new FailoverModel(setting);
    for (let seed = 0; seed < seeds; seed += 1) {
      const { steps } = walk(model, seed, length, {});
      let before: World | undefined;
      for (const { action, state } of steps) {
        const intent = intentOf(action);
        if (before !== undefined && intent !== undefined)
          intents.push({ before: before.register, report: reportOf(intent) });
        before = state;
      }
    }
  });
  return [...updates, ...intents];
}

/** The given steps of the model, and in each of its worlds every update that could come next. */
export function scheduledUpdates(setting: Setting, actions: readonly string[]): Recorded[] {
  return recording(() => {
    const { stoppedAt } = replay(setting, actions);
    if (stoppedAt !== undefined) throw new Error(`the model has no step: ${stoppedAt}`);
  });
}

/** An update that lands when the GCN it was computed under has passed (rule 2): each is put to the register of the next one. */
export function lateUpdates(updates: readonly Recorded[]): Recorded[] {
  return updates.flatMap(({ before, report }, index) => {
    const later = updates.slice(index + 1, index + 200).find((one) => one.before.gcn === before.gcn + 1);
    return later === undefined || report.type === 'intent' ? [] : [{ before: later.before, report }];
  });
}

const VERY_LONG_MS = 1_000_000_000;

/** What no honest agent says, and the register must not fall for: each update once more, with such a report. */
export function bentUpdates(updates: readonly Recorded[]): Recorded[] {
  return updates.flatMap(({ before, report }) =>
    report.type === 'intent' ? [] : bentReports(before, report).map((bent) => ({ before, report: bent })),
  );
}

function bentReports(before: FailoverState, report: RegionReport): RegionReport[] {
  const { writer, leaseSet, regions, gcn, step, phase, final, target } = before;
  const all = Object.keys(regions);
  const outside = all.filter((name) => !leaseSet.includes(name));
  const other = outside.length > 0 ? [...leaseSet, outside[0]!] : leaseSet.slice(1);
  const asks = report.writer ?? { commitSet: leaseSet, caughtUp: [] };
  const isTarget = report.region === target && final !== undefined;
  return [
    // Additions that the writer does not commit with yet, or that somebody else asks for; all that can be removed.
    ...(outside.length > 0 ? [{ ...report, writer: { ...asks, commitSet: leaseSet, add: outside } }] : []),
    { ...report, writer: { ...asks, remove: all } },
    // A final report while the commit set is not the lease set; the end of an attempt that took too long.
    { ...report, writer: { ...asks, commitSet: other, quiescedInStep: step } },
    ...(phase === 'Graceful'
      ? [
          { ...report, wait: { step, waitedMs: VERY_LONG_MS } },
          { ...report, wait: { step, waitedMs: VERY_LONG_MS }, reaches: [] },
          { ...report, wait: { step, waitedMs: VERY_LONG_MS }, canCommit: false },
        ]
      : []),
    // A wait for another beat than the last; one that is too short.
    ...(writer === null
      ? []
      : [
          {
            ...report,
            silence: { gcn, writer, beat: regions[writer]!.beat - 1, waitedMs: VERY_LONG_MS },
          },
          { ...report, silence: { gcn, writer, beat: regions[writer]!.beat, waitedMs: before.leaseMs } },
        ]),
    // The same LSN of another epoch, and one entry too few.
    ...(isTarget
      ? [
          { ...report, progress: { ...final, epoch: final.epoch - 1 } },
          { ...report, progress: { ...final, lsn: final.lsn - 1 } },
        ]
      : []),
  ];
}

function intentOf(action: string): IntentBody | undefined {
  if (action === 'force a failover') return { kind: 'failover' };
  const target = /^switch over to (\w)$/.exec(action)?.[1];
  return target === undefined ? undefined : { kind: 'switchover', target };
}

function reportOf(intent: IntentBody): IntentReport {
  return { type: 'intent', id: 'new', who: 'operator', at: '2000-01-01T00:00:00.000Z', intent };
}
