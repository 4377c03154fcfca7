/**
 * Hints between the agents of a partition-set: they save time and carry no authority. A beat hint starts an observer's wait
 * without a read; a phase hint makes it read at once. Whoever misses all of them only notices later.
 */
import type { FailoverState, RegionName } from '../machine/index.ts';
import type { Try } from './update.ts';

export type Hint =
  | { readonly hint: 'beat'; readonly gcn: number; readonly writer: RegionName; readonly beat: number }
  | { readonly hint: 'phase'; readonly gcn: number; readonly step: number };

/** What the peers are told after an update of one's own. */
export function hintsAfter(
  { gcn, writer, step, phase, final }: FailoverState,
  done: Try | undefined,
  isStopping: boolean,
): readonly Hint[] {
  if (done !== undefined && done.step !== step) return [{ hint: 'phase', gcn, step }];
  const hints: Hint[] = [];
  if (done?.isRenewal === true) hints.push({ hint: 'beat', gcn, writer: writer!, beat: done.beat });
  // A final report, a reader's first report after fencing: the others are waiting for it.
  const isAwaited =
    phase === 'Ungraceful' || final !== undefined || (phase !== 'Steady' && hints.length === 0);
  if (isAwaited) hints.push({ hint: 'phase', gcn, step });
  // A stop mark is no step, but the writer should see it at once.
  else if (isStopping && hints.length === 0) hints.push({ hint: 'phase', gcn, step: step + 1 });
  return hints;
}

/** What a hint is to a region that knows this. */
export function reactionTo(
  hint: Hint,
  known: FailoverState | undefined,
  region: RegionName,
): 'watch' | 'read' | 'update' | undefined {
  if (known === undefined || hint.gcn > known.gcn) return 'read';
  if (hint.hint === 'beat')
    return hint.gcn === known.gcn && hint.writer === known.writer ? 'watch' : undefined;
  if (hint.step > known.step) return 'read';
  // Something has happened within the step: the writer's final report, for which the target waits.
  return hint.step === known.step && known.target === region ? 'update' : undefined;
}
