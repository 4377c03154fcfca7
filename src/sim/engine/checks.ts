/**
 * What must hold of every run, each check under a stable name: those of `src/check/consistency` by the names of their rules, and
 * besides
 *
 *   alarm            no acceptor saw two values under one ballot
 *   two writers      no two regions are told at one true moment that they may write
 *   log              (epoch, LSN) names one entry for ever, and the final log goes back to its beginning
 *   undone           at Strong nothing is undone that a copy knew to be globally committed, and no feed showed what was undone
 *   plan.not-applied what the SDK reports as not applied is in no log that any copy ever had, undone ones included
 *   plan.deadline    no attempt starts after the deadline of its operation, and the operation ends with it
 *   plan.recovery    after healing every operation of the SDK succeeds within the bound of `recovery`
 *   plan.session     a session's own token is accepted
 *   recovery         within three leases after healing (six where nobody sends hints), every partition-set takes writes
 *   healing          then all copies become equal, feeds come to their end, damaged entries are repaired
 *   crash, endless   no assertion failed, no error went unheard; the run came to its end
 */
import { checkRun, type CopyRecord, type RunRecord, type StalenessBound } from '../../check/index.ts';
import type { SimulationFailure } from '../seeded-run.ts';
import { keyOf, type SetRecorder, valueOf } from './recorder.ts';
import type { Region } from './region.ts';

/** What a run noticed by itself. */
export interface Noticed {
  readonly alarms: readonly string[];
  readonly twoWriters: readonly string[];
  readonly undone: readonly string[];
  readonly unrecovered: readonly string[];
  readonly unhealed: readonly string[];
  /** Of clients that follow plans. */
  readonly plans: readonly SimulationFailure[];
}

export interface SetEvidence {
  readonly recorder: SetRecorder;
  readonly regions: readonly Region[];
  readonly bound: StalenessBound | undefined;
}

export function judge(noticed: Noticed, sets: readonly SetEvidence[]): SimulationFailure | undefined {
  const isHealed = noticed.unhealed.length === 0;
  return (
    first('alarm', noticed.alarms) ??
    first('two writers', noticed.twoWriters) ??
    first('undone', noticed.undone) ??
    sets.map((set) => judgeSet(set, isHealed)).find((failure) => failure !== undefined) ??
    sets.map(({ recorder }) => judgeDenials(recorder)).find((failure) => failure !== undefined) ??
    first('recovery', noticed.unrecovered) ??
    noticed.plans[0] ??
    first('healing', noticed.unhealed)
  );
}

function first(check: string, messages: readonly string[]): SimulationFailure | undefined {
  const [message] = messages;
  if (message === undefined) return undefined;
  return { check, message: messages.length === 1 ? message : `${message} (and ${messages.length - 1} more)` };
}

function judgeDenials(recorder: SetRecorder): SimulationFailure | undefined {
  return first(
    'plan.not-applied',
    recorder.brokenDenials().map((what) => `${recorder.partitionSet}: ${what}`),
  );
}

/** Of copies that have not become equal, only what clients saw is judged. */
function judgeSet(
  { recorder, regions, bound }: SetEvidence,
  isHealed: boolean,
): SimulationFailure | undefined {
  const { partitionSet, operations, feeds, quietFrom } = recorder;
  const [tail] = regions
    .map((region) => region.partition(partitionSet)!.core!)
    .sort((a, b) => b.fence - a.fence || b.store.tail.lsn - a.store.tail.lsn)
    .map(({ store }) => store.tail);
  const record: RunRecord = {
    operations,
    log: recorder.logUpTo(tail!),
    undone: regions.flatMap((region) =>
      recorder.undoneRows(region.name, region.partition(partitionSet)!.undone()),
    ),
    quietFrom,
  };
  const wrong = first(
    'log',
    recorder.wrongs.map((what) => `${partitionSet}: ${what}`),
  );
  if (wrong !== undefined) return wrong;
  const copies = !isHealed ? [] : regions.map((region) => copyOf(region, partitionSet));
  const [found, ...more] = checkRun(record, { bound, feeds, copies });
  if (found === undefined) return undefined;
  const also = more.length === 0 ? '' : ` (and ${more.length} more)`;
  return { check: found.rule, message: `${partitionSet}: ${found.sentence}${also}` };
}

/** The last look has seen to it that everything can be read. */
function copyOf(region: Region, partitionSet: string): CopyRecord {
  const { store } = region.partition(partitionSet)!.core!;
  const log = store.entriesAfter(store.base - 1, Infinity).map(({ epoch, lsn }) => ({ epoch, lsn }));
  const versions = store.scan({ from: '', to: 'G', limit: Infinity });
  const documents = versions.map((version) => {
    const { epoch, lsn } = version;
    return [keyOf(version), { epoch, lsn, value: valueOf(version)! }] as const;
  });
  return { region: region.name, log, documents: new Map(documents) };
}
