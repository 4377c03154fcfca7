/** The intents in the state: those that are open, and how the last few ended. */
import type { IntentKind } from './intents.ts';
import type { FailoverState, RegionName } from './state.ts';

export interface OpenIntent {
  readonly id: string;
  readonly kind: IntentKind;
  readonly who: string;
  readonly target?: RegionName;
  /** The GCN after which it is void. */
  readonly gcn?: number;
}

export interface ClosedIntent {
  readonly id: string;
  readonly kind: IntentKind;
  readonly end: 'honoured' | 'cancelled';
}

const KEPT = 2;

export function close(state: FailoverState, id: string, end: ClosedIntent['end']): FailoverState {
  const { kind } = state.open.find((intent) => intent.id === id)!;
  return {
    ...state,
    open: state.open.filter((intent) => intent.id !== id),
    recent: [...state.recent, { id, kind, end }].slice(-KEPT),
  };
}
