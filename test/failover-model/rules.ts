/**
 * Every rule of safety (DESIGN section 5), taken out alone, or one part of it, and the invariant that breaks then. The names
 * are those of `spec/failover.tla` where the spec has that part too.
 */
import type { Faults } from './healing.ts';
import { type Changes, settingOf } from './settings.ts';
import type { Setting } from './world.ts';

export interface RuleMutant {
  /** The rule's number, and the part of it. */
  readonly rule: string;
  readonly about: string;
  readonly breaks: string;
  readonly setting: Setting;
  /** Faults that stay, where the rule is about writes that must come back. */
  readonly faults?: Faults;
}

export const WRITES_ARE_BACK = 'WritesEnabledAtEndOfHistoryWhenRegionsSetIsStable';

function mutant(rule: string, about: string, breaks: string, changes: Changes): RuleMutant {
  return { rule, about, breaks, setting: settingOf(`without ${rule}`, { ...changes, without: [rule] }) };
}

function outage(rule: string, about: string, changes: Changes, faults: Faults): RuleMutant {
  return { ...mutant(rule, about, WRITES_ARE_BACK, changes), faults };
}

const SMALL: Changes = { maxGcn: 2, maxLog: 1 };
const SLOW: Changes = { ...SMALL, slow: 'a', maxSlow: 1, maxUnknown: 1 };
const READS: Changes = { features: ['reads', 'change'], maxGcn: 1, maxLog: 1 };
const STOPS: Changes = { ...READS, features: ['reads', 'change', 'stop'], restarters: 'ab', maxRestarts: 2 };
const GRACEFUL: Changes = { ...SMALL, features: ['graceful'], maxSwitchovers: 1 };
const FORCED: Changes = { ...SMALL, features: ['forced'], watchers: '', maxForced: 1 };
const SHORTER_READS: Changes = {
  ...SMALL,
  regions: ['a', 'b', 'c'],
  lease: 3,
  grant: 3,
  watchers: 'b',
};
const LEVELS: Changes = { features: ['reads', 'levels'], maxGcn: 1, maxLog: 2 };
const THREE: Changes = { ...SMALL, regions: ['a', 'b', 'c'] };
const TWO_NEEDED: Changes = { ...THREE, minDurability: 2, watchers: 'b' };

export const MUTANTS: readonly RuleMutant[] = [
  mutant('1', 'a region that is not the writer adds itself to the lease set', 'AckedIsKept', {
    ...SMALL,
    members: 'a',
  }),
  mutant('2-gcn', 'an update that was begun under an older GCN counts', 'OneWriter', {
    ...FORCED,
    features: ['forced', 'change'],
    members: 'a',
    slow: 'a',
    maxSlow: 1,
  }),
  mutant('2-incarnation', 'a stale addition lands after the writer restarted', 'CommitSetCoversLeaseSet', {
    ...SLOW,
    maxGcn: 1,
    features: ['change'],
    members: 'a',
    restarters: 'a',
    maxRestarts: 1,
  }),
  mutant('2-act', 'a new process asks for a grant before its first update', 'ReadProperty', STOPS),
  mutant('3-start', 'the lease runs from the answer instead of the start of the update', 'OneWriter', SLOW),
  mutant('3-read', 'the lease is taken from a mere read', 'OneWriter', SMALL),
  mutant('3-unknown', 'an unknown outcome renews the lease', 'OneWriter', SLOW),
  mutant('3-beat', 'an update that does not raise the beat renews the lease', 'OneWriter', {
    ...SMALL,
    minDurability: 2,
    features: ['unable'],
  }),
  mutant('3-restart', 'the lease survives a restart', 'OneWriter', {
    ...SMALL,
    restarters: 'a',
    maxRestarts: 1,
  }),
  mutant('4-compare', 'the raise does not compare the beat', 'OneWriter', SMALL),
  mutant('4-wait', 'the observer does not wait for a whole lease', 'OneWriter', SMALL),
  mutant('4-margin', 'the wait has no margin for drift', 'OneWriter', SMALL),
  mutant('4-learn', 'the wait counts from before the beat was learned', 'OneWriter', SMALL),
  mutant('4-shorter', 'a shorter lease is measured before the writer knows of it', 'OneWriter', {
    ...SLOW,
    lease: 2,
    features: ['shorter'],
  }),
  mutant('4-grants', 'a shorter lease is measured by while a grant of the longer one runs', 'ReadProperty', {
    ...SHORTER_READS,
    features: ['reads', 'shorter'],
  }),
  mutant('4-longer', 'an election grants a longer lease than silence is measured by', 'OneWriter', {
    minDurability: 2,
    features: ['longer'],
    maxLog: 0,
  }),
  mutant('5', 'false progress is acknowledged', 'AckedIsKept', { minDurability: 2, maxLog: 1 }),
  mutant('6', 'a new writer serves its tail before it is committed again', 'ReadProperty', {
    minDurability: 2,
    features: ['reads'],
    maxLog: 1,
  }),
  mutant('7-fence', 'a region reports before it fences', 'OneWriter', FORCED),
  mutant('7-clear', 'raising the GCN leaves the old reports', 'OneWriter', {
    ...FORCED,
    features: ['forced', 'graceful'],
  }),
  mutant('7-reads', 'a fenced region goes on serving strong reads', 'ReadProperty', {
    ...FORCED,
    features: ['forced', 'reads', 'change'],
  }),
  outage('8', 'a writer that reaches nobody goes on renewing', TWO_NEEDED, { alone: 'a' }),
  mutant('9-eligible', 'a region outside the lease set is elected', 'AckedIsKept', {
    ...SMALL,
    members: 'a',
  }),
  mutant('9-set', 'the new lease set takes in regions that were not in the old one', 'AckedIsKept', {
    regions: ['a', 'b', 'c'],
    members: 'ab',
    maxLog: 1,
  }),
  mutant('9-commit', 'the commit set starts as the new writer alone', 'AckedIsKept', {
    minDurability: 2,
    maxLog: 1,
  }),
  outage(
    '10-elect',
    'nobody is elected while too few members report',
    { ...TWO_NEEDED, members: 'ab' },
    { dead: 'a' },
  ),
  mutant('9-level', 'a weaker level is in force before an update of the writer says so', 'AckedIsKept', {
    ...SMALL,
    regions: ['a', 'b', 'c'],
    members: 'ab',
    features: ['levels'],
    watchers: 'c',
  }),
  mutant('13-level', 'a weaker level waits for no grants of an earlier process', 'ReadProperty', {
    ...LEVELS,
    restarters: 'a',
    maxRestarts: 1,
  }),
  mutant('14-level', 'the writer grants while an update of its own may weaken the level', 'ReadProperty', {
    ...LEVELS,
    slow: 'a',
    maxSlow: 1,
  }),
  mutant('15-level', 'the writer goes on granting at a weaker level', 'ReadProperty', LEVELS),
  mutant(
    '16-level',
    'a stronger level is in force before what was acknowledged is everywhere',
    'AckedIsKept',
    {
      ...SMALL,
      features: ['levels'],
    },
  ),
  mutant('17-level', 'a weaker level is in force while a grant runs', 'ReadProperty', LEVELS),
  mutant('10-keep', 'the lease set shrinks below the minimum durability', 'LeaseSetDurable', {
    ...SMALL,
    minDurability: 2,
  }),
  mutant('11-progress', 'the highest progress is not preferred', 'NoNeedlessLoss', {
    ...THREE,
    consistency: 'Session',
    watchers: 'bc',
  }),
  outage('11-reach', 'a candidate that reaches too few is elected again and again', TWO_NEEDED, {
    alone: 'b',
  }),
  mutant('12', 'the writer of a forced failover accepts writes at once', 'OneWriter', FORCED),
  mutant('12-all', 'the waiting writer commits without the regions that did not report', 'ReadProperty', {
    ...FORCED,
    features: ['forced', 'reads'],
  }),
  mutant('12-keep', 'a raise that finds no writer forgets the one before', 'OneWriter', {
    ...FORCED,
    maxForced: 2,
    maxGcn: 3,
  }),
  mutant('12-triple', 'the wait counts from an older beat than the one the raise found', 'OneWriter', FORCED),
  mutant('13-graceful', 'the old writer leaves the commit set while it still reads', 'ReadProperty', {
    ...GRACEFUL,
    features: ['graceful', 'reads', 'change'],
    watchers: '',
    maxLog: 2,
  }),
  mutant(
    '13-restart',
    'after a restart a region leaves the commit set while its grant runs',
    'ReadProperty',
    {
      ...READS,
      restarters: 'a',
      maxRestarts: 1,
    },
  ),
  mutant('13-all', 'after a restart the commit set starts as the lease set', 'ReadProperty', {
    ...READS,
    restarters: 'a',
    maxRestarts: 1,
  }),
  mutant('14-add', 'an unknown addition is taken for refused', 'AckedIsKept', {
    ...SLOW,
    features: ['change'],
    members: 'a',
  }),
  mutant('14-remove', 'an unknown removal is taken for made', 'AckedIsKept', {
    ...SLOW,
    features: ['change'],
  }),
  mutant('15-lease', 'a grant outlives the writer lease', 'ReadProperty', {
    ...THREE,
    features: ['reads'],
    watchers: 'b',
    grant: 2,
  }),
  mutant('15-lease-set', 'a grant to a region that is not in the lease set', 'ReadProperty', {
    ...READS,
    maxGcn: 2,
  }),
  mutant('15-asked', 'a grant counts from its receipt instead of the request', 'ReadProperty', READS),
  mutant('16-commit', 'a region is added to the lease set before the commit set', 'AckedIsKept', {
    ...SMALL,
    features: ['change'],
    members: 'a',
  }),
  mutant('16-durable', 'a region is added before it is durable', 'AckedIsKept', {
    ...SMALL,
    features: ['change'],
    members: 'a',
  }),
  outage(
    '16-tail',
    'the addition waits for the tail to commit',
    { ...TWO_NEEDED, members: 'ab' },
    { dead: 'a' },
  ),
  mutant('17', 'a removed region leaves the commit set while its grant runs', 'ReadProperty', READS),
  mutant('18-remove', 'a region is removed during a graceful failover', 'WriterInLeaseSet', {
    ...GRACEFUL,
    features: ['graceful', 'change'],
  }),
  mutant('18-equal', 'the final report comes while a removal is pending', 'ReadProperty', {
    ...GRACEFUL,
    regions: ['a', 'b', 'c'],
    features: ['graceful', 'reads', 'change'],
    watchers: '',
  }),
  mutant('18-wait', 'the writer of a forced failover gives the writes on before it has waited', 'OneWriter', {
    ...THREE,
    minDurability: 2,
    features: ['forced', 'graceful'],
    watchers: '',
    maxForced: 1,
    maxSwitchovers: 1,
    maxGcn: 3,
    maxLog: 0,
  }),
  mutant('19-target', 'the target is not in the lease set', 'AckedIsKept', {
    ...GRACEFUL,
    members: 'a',
    maxGcn: 3,
  }),
  mutant('19-epoch', 'the same progress compares a bare LSN', 'GracefulLosesNothing', {
    ...GRACEFUL,
    minDurability: 2,
    maxGcn: 3,
  }),
  mutant('19-clear', 'the final progress of an earlier attempt stays', 'OneWriter', {
    ...GRACEFUL,
    maxSwitchovers: 2,
  }),
  mutant('19-resume', 'the writer resumes without an own update that shows Steady', 'OneWriter', GRACEFUL),
  mutant('19-set', 'the switch does not keep the lease set', 'ReadProperty', {
    ...GRACEFUL,
    features: ['graceful', 'reads'],
    watchers: '',
    maxLog: 2,
  }),
  mutant('20-raise', 'the graceful timeout alone raises the GCN', 'OneWriter', GRACEFUL),
  outage('20-abort', 'a graceful failover whose target is dead never ends', GRACEFUL, { dead: 'b' }),
  mutant('21', 'a lost write that is back stays in the list', 'LostAreLost', {
    regions: ['a', 'b', 'c'],
    consistency: 'Session',
    features: ['lost'],
    watchers: 'bc',
    maxLog: 1,
  }),
  mutant('22-report', 'after a restart a mere report ends the wait for a grant', 'ReadProperty', STOPS),
  mutant('22-clear', 'the stop mark stays when the next process reports', 'ReadProperty', STOPS),
  mutant('22-incarnation', 'the stop mark covers the next process', 'ReadProperty', {
    ...STOPS,
    slow: 'a',
    maxSlow: 1,
    restarters: 'b',
    maxRestarts: 1,
  }),
  mutant('22-grants', 'a stopped writer is replaced as if its grants had ended', 'ReadProperty', {
    ...THREE,
    features: ['reads', 'stop'],
    watchers: '',
    restarters: 'a',
    maxRestarts: 1,
  }),
];

export interface SparePart {
  readonly rule: string;
  readonly why: string;
  readonly setting: Setting;
}

function spare(rule: string, why: string, changes: Changes): SparePart {
  return { rule, why, setting: settingOf(`without ${rule}`, { ...changes, without: [rule] }) };
}

/** Parts of rules without which nothing goes wrong in these bounds, and why. They stay: they cost nothing. */
export const SPARE_PARTS: readonly SparePart[] = [
  spare('12-start', 'rule 2: an update that counts was begun after its region knew of the raise', {
    ...FORCED,
    watchers: 'b',
    slow: 'b',
    maxSlow: 1,
  }),
  spare('13-learn', 'after a switch `unfenced` holds everybody whether or not the new writer restarted', {
    ...GRACEFUL,
    features: ['graceful', 'reads', 'change'],
    watchers: '',
    restarters: 'b',
    maxRestarts: 1,
    maxLog: 2,
  }),
  spare('15-commit', 'rule 14: what the last update returned is in the commit set', {
    ...READS,
    slow: 'a',
    maxSlow: 1,
    maxUnknown: 1,
  }),
  spare('18-add', 'the new writer commits on the lease set that the switch found, whoever came last', {
    ...GRACEFUL,
    features: ['graceful', 'change'],
    members: 'a',
    maxGcn: 3,
  }),
  spare('22-raise', 'the mark names a process, and the next one clears it', {
    ...SMALL,
    features: ['reads', 'change', 'stop'],
    restarters: 'b',
    maxRestarts: 1,
  }),
];
