/**
 * What a checker says. Every rule has a name that stays, a level it belongs to, and one sentence; `SPEC.md` states them as
 * predicates. The planted defects are a table over the same names, so a rule without defects that show it does not compile.
 */
import type { ConsistencyLevel } from './history.ts';

/** A rule of the level, or one that holds for every run. */
export type RuleLevel = ConsistencyLevel | 'every';

export const CONSISTENCY_RULES = {
  'log.order': 'The log has no gap, and its epochs never fall.',
  'log.origin': 'Every entry is the write of a client that was not told it had failed.',
  'log.condition': 'A conditional write replaced exactly the version it named.',
  'log.once': 'An operation is in the log at most once.',
  'log.answer': 'All acknowledged attempts of one operation name one entry.',
  'strong.order': 'Whoever starts after another has ended comes no earlier in the order of versions.',
  'strong.read': 'Whatever is read is in the final log.',
  'strong.kept': 'An acknowledged write is in the final log at the position it was told.',
  'bounded.versions': 'A read misses at most K entries of the acknowledged log.',
  'bounded.time': 'A read misses nothing that was acknowledged more than T before it started.',
  'bounded.writer': 'A region sees all that it acknowledged itself as the write region.',
  'session.read-your-writes': 'A read sees the writes that its session had made.',
  'session.monotonic-reads': 'A read sees what the reads of its session had seen.',
  'session.monotonic-writes': 'A write comes after the writes that its session had made.',
  'session.writes-follow-reads': 'A write comes after what its session had read.',
  'session.token': 'A call sees at least the token it sent, and its own token covers that and what it did.',
  'prefix.snapshot':
    'The version read is the newest one in the snapshot, and the snapshot is a place in a log.',
  'prefix.batch': 'Reads answered together are of one prefix of one log.',
  'eventual.written': 'A version that is read is in a log, with that key and that value.',
  'eventual.failed': 'A failed write is never seen.',
  'eventual.future': 'Nothing is seen before its client asked for it.',
  'eventual.converged': 'When all is healed and quiet, every region returns the final value.',
  'loss.unlisted': 'An acknowledged write that is not in the final log is in the list of undone writes.',
  'loss.content': 'The list of undone writes tells what was written.',
  'loss.versions': 'At bounded staleness a failover loses at most K acknowledged writes.',
  'loss.time': 'At bounded staleness a failover loses acknowledged writes of at most T.',
  'loss.closed': 'An undone write is closed if and only if the final log contains it.',
  'feed.order': 'A change feed follows the order of the log.',
  'feed.repetition': 'A change feed repeats nothing unless its reader went back.',
  'feed.gap': 'A change feed leaves nothing out.',
  'feed.committed': 'A change feed shows only what is in the final log.',
  'copies.log': 'After healing the logs of all copies are the final log.',
  'copies.documents': 'After healing the documents of all copies are those that the final log makes.',
} as const;

export type ConsistencyRule = keyof typeof CONSISTENCY_RULES;

export interface ConsistencyFinding {
  readonly level: RuleLevel;
  readonly rule: ConsistencyRule;
  readonly sentence: string;
  /** The calls that show it, by their ids. */
  readonly operations: readonly string[];
}

const LEVEL_OF_FAMILY: Readonly<Record<string, RuleLevel>> = {
  strong: 'Strong',
  bounded: 'BoundedStaleness',
  session: 'Session',
  prefix: 'ConsistentPrefix',
  eventual: 'Eventual',
};

export function levelOfRule(rule: ConsistencyRule): RuleLevel {
  return LEVEL_OF_FAMILY[rule.slice(0, rule.indexOf('.'))] ?? 'every';
}

export function finding(
  rule: ConsistencyRule,
  sentence: string,
  operations: readonly { readonly id: string }[] = [],
): ConsistencyFinding {
  return { level: levelOfRule(rule), rule, sentence, operations: operations.map(({ id }) => id) };
}
