/** What this node saw happen to its partition-sets: the state holds the last three changes, a node remembers some more. */
import { type AgentEvent, type FailoverState, type HistoryEntry, newEntries } from '../../failover/index.ts';

const KEPT = 50;

export class HistoryKeeper {
  readonly #entries = new Map<string, readonly HistoryEntry[]>();

  onEvent(partitionSet: string, event: AgentEvent): void {
    if (event.event !== 'state') return;
    const { before, state } = event;
    const news = before === undefined ? state.history : newEntries(before, state);
    if (news.length === 0) return;
    const known = this.#entries.get(partitionSet) ?? [];
    this.#entries.set(partitionSet, [...known, ...news].slice(-KEPT));
  }

  /** The oldest first. `state` may be newer than what was seen. */
  of(partitionSet: string, state: FailoverState | undefined): readonly HistoryEntry[] {
    const seen = this.#entries.get(partitionSet) ?? [];
    const names = new Set(seen.map(nameOf));
    const news = (state?.history ?? []).filter((entry) => !names.has(nameOf(entry)));
    return [...seen, ...news];
  }
}

function nameOf({ at, what, who, why, from, to, region }: HistoryEntry): string {
  return JSON.stringify([at, what, who, why, from, to, region]);
}
