/**
 * All checkers over one run. Each looks only at the calls of its own level and above or below, as its predicate says, so a run
 * with calls of several levels is checked in one go.
 */
import { type StalenessBound, checkBounded } from './bounded.ts';
import { checkCopies, type CopyRecord } from './copies.ts';
import { checkEventual } from './eventual.ts';
import { Evidence } from './evidence.ts';
import { checkFeed, type FeedRecord } from './feed.ts';
import type { ConsistencyFinding } from './findings.ts';
import type { RunRecord } from './history.ts';
import { checkLog } from './log-rules.ts';
import { checkLoss } from './loss.ts';
import { checkPrefix } from './prefix.ts';
import { checkSession } from './session.ts';
import { checkStrong } from './strong.ts';

export interface RunExtras {
  /** Needed for bounded staleness. */
  readonly bound?: StalenessBound | undefined;
  readonly feeds?: readonly FeedRecord[] | undefined;
  readonly copies?: readonly CopyRecord[] | undefined;
}

export function checkRun(record: RunRecord, extras: RunExtras = {}): ConsistencyFinding[] {
  const { bound, feeds = [], copies = [] } = extras;
  const evidence = new Evidence(record);
  return [
    ...checkLog(evidence),
    ...checkEventual(evidence),
    ...checkPrefix(evidence),
    ...checkSession(evidence),
    ...(bound === undefined ? [] : checkBounded(evidence, bound)),
    ...checkStrong(evidence),
    ...checkLoss(evidence, bound),
    ...feeds.flatMap((feed) => checkFeed(evidence, feed)),
    ...checkCopies(evidence, copies),
  ];
}
