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

const KEPT = 3;

export function remember(state: FailoverState, entry: HistoryEntry): FailoverState {
  return { ...state, history: [...state.history, entry].slice(-KEPT) };
}

const RAISED: Readonly<Record<string, string>> = {
  silence: 'its lease ran out without a sign of life',
  unable: 'it cannot commit writes and asked to be replaced',
  stop: 'it is being stopped',
  signal: 'a health signal asked for it',
  forced: 'an operator forced it',
};

const BEGAN: Readonly<Record<string, string>> = {
  priority: 'it is preferred and healthy again',
  operator: 'an operator asked for it',
  signal: 'a health signal asked to leave the current one',
  leaving: 'the current one is being removed',
};

/** One sentence that an operator understands. */
export function sentenceOf({ at, what, who, why, from, to, region }: HistoryEntry): string {
  const where = region ?? 'no region';
  switch (what) {
    case 'raised':
      if (region === null)
        return `${at}: The election began anew (GCN ${from} to ${to}, by ${who}): ${RAISED[why] ?? why}.`;
      return `${at}: ${where} lost the writes (GCN ${from} to ${to}, by ${who}): ${RAISED[why] ?? why}.`;
    case 'elected':
      return `${at}: ${where} was elected write region (GCN ${to}, in an update of ${who}).`;
    case 'began':
      return `${at}: A planned move of the writes to ${where} began (GCN ${from}): ${BEGAN[why] ?? why}.`;
    case 'switched':
      return `${at}: The writes moved to ${where} without loss (GCN ${from} to ${to}).`;
    case 'gave up':
      return `${at}: The planned move to ${where} was given up (GCN ${from}): ${why}. Writes go on where they were.`;
    default:
      return what satisfies never;
  }
}
