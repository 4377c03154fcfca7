/**
 * The last few changes of phase, in the state itself; older ones are kept by the nodes. An entry is data; the sentence is
 * made from it when somebody wants to read it.
 */
import type { Cause, FailoverState, GracefulReason, RegionName } from './state.ts';

export interface HistoryEntry {
  /** When the one who made the change thought it was. */
  readonly at: string;
  readonly what: 'raised' | 'elected' | 'began' | 'switched' | 'gave up';
  /** Whose update made it: a region, or a person. */
  readonly who: string;
  readonly why: Cause | GracefulReason | 'took too long' | 'target gone' | 'writer restarted' | 'withdrawn';
  readonly from: number;
  readonly to: number;
  /** The write region that was lost or left, or that was chosen. */
  readonly region: RegionName | null;
}

/** What can happen, and why: every pair that this version of the machine makes. */
export const TRANSITIONS: Readonly<Record<HistoryEntry['what'], readonly HistoryEntry['why'][]>> = {
  raised: ['silence', 'unable', 'stop', 'signal', 'forced'],
  elected: ['silence', 'unable', 'stop', 'signal', 'forced'],
  began: ['priority', 'operator', 'signal', 'leaving'],
  switched: ['priority', 'operator', 'signal', 'leaving'],
  'gave up': ['took too long', 'target gone', 'writer restarted', 'withdrawn'],
};

const KEPT = 3;

export function remember(state: FailoverState, entry: HistoryEntry): FailoverState {
  return { ...state, history: [...state.history, entry].slice(-KEPT) };
}

/**
 * The entries that came between two states of one partition-set, the oldest first; as many as the later one still has. Two
 * entries may look the same, a move that is tried again within a clock's tick: then the steps decide. Every entry is a step,
 * and so is a target's readiness, once in a move.
 */
export function newEntries(before: FailoverState, state: FailoverState): readonly HistoryEntry[] {
  const { history } = state;
  const tails = history.map((_, count) => history.slice(history.length - count));
  const fitting = tails.filter((tail) => continues(before.history, history, tail.length));
  return fitting.find((tail) => explainsSteps(before, state, tail)) ?? fitting[0] ?? history;
}

/** Without its last `count` entries, the later history is the end of the earlier one. */
function continues(before: readonly HistoryEntry[], after: readonly HistoryEntry[], count: number): boolean {
  const kept = after.length - count;
  const shift = before.length - kept;
  return shift >= 0 && after.slice(0, kept).every((entry, at) => sameEntry(entry, before[shift + at]!));
}

function explainsSteps(
  before: FailoverState,
  { step }: FailoverState,
  tail: readonly HistoryEntry[],
): boolean {
  const isWaiting = before.phase === 'Graceful' && before.quiesce !== true;
  const moves = tail.filter(({ what }) => what === 'began').length + (isWaiting ? 1 : 0);
  const others = step - before.step - tail.length;
  return others >= 0 && others <= moves;
}

function sameEntry(a: HistoryEntry, b: HistoryEntry): boolean {
  const isSameMoment = a.at === b.at && a.from === b.from && a.to === b.to;
  return isSameMoment && a.what === b.what && a.who === b.who && a.why === b.why && a.region === b.region;
}

const RAISED: Readonly<Record<string, string>> = {
  silence: 'its lease expired without a renewal',
  unable: 'it cannot commit writes and asked to be replaced',
  stop: 'it is being stopped',
  signal: 'a health signal requested it',
  forced: 'an operator forced it',
};

const BEGAN: Readonly<Record<string, string>> = {
  priority: 'it is preferred and healthy again',
  operator: 'an operator requested it',
  signal: 'a health signal requested a move away from the current region',
  leaving: 'the current region is being removed',
};

const GAVE_UP: Readonly<Record<string, string>> = {
  'took too long': 'it took too long',
  'target gone': 'the target is gone',
  'writer restarted': 'the write region restarted',
  withdrawn: 'an operator withdrew it',
};

/** One sentence that an operator understands. */
export function sentenceOf({ at, what, who, why, from, to, region }: HistoryEntry): string {
  const where = region ?? 'no region';
  switch (what) {
    case 'raised': {
      const change = region === null ? 'The election restarted' : `${where} is no longer the write region`;
      const by = why === 'forced' ? `by ${who}` : `recorded by ${who}`;
      return `${at}: ${change} (GCN ${from} to ${to}, ${by}): ${RAISED[why] ?? why}.`;
    }
    case 'elected':
      return `${at}: ${where} was elected write region (GCN ${to}, recorded by ${who}).`;
    case 'began':
      return `${at}: A planned move of the writes to ${where} started (GCN ${from}): ${BEGAN[why] ?? why}.`;
    case 'switched':
      return `${at}: The writes moved to ${where} without loss (GCN ${from} to ${to}).`;
    case 'gave up':
      return `${at}: The planned move to ${where} was abandoned (GCN ${from}): ${GAVE_UP[why] ?? why}. The write region stays the same.`;
    default:
      return what satisfies never;
  }
}
