/**
 * A session sees its own writes and never goes back: for each partition-set it remembers the furthest place, (epoch, LSN), that
 * any of its reads and writes came to, and every read says that it wants to see at least that much. The token carries that from one process
 * to another; two tokens together are the session that saw both.
 */
import { comparePositions, type Position } from '../../engine/core/index.ts';
import { formatToken, parseToken } from './tokens.ts';

export type SessionProblem = 'TOKEN_INVALID' | 'TOKEN_NEWER';

export class SessionTracker {
  readonly #seen = new Map<string, Position>();

  /** Undefined: nothing was seen of it, and anything will do. */
  position(partitionSet: string): Position | undefined {
    return this.#seen.get(partitionSet);
  }

  /** A read or a write was answered from there. */
  saw(partitionSet: string, { epoch, lsn }: Position): void {
    const before = this.#seen.get(partitionSet);
    if (before === undefined || comparePositions(before, { epoch, lsn }) < 0) {
      this.#seen.set(partitionSet, { epoch, lsn });
    }
  }

  /** What was seen is gone (`SESSION_UNDONE`), and the user knows: the session goes on with what there is. */
  forget(partitionSet: string): void {
    this.#seen.delete(partitionSet);
  }

  get token(): string {
    const places = [...this.#seen].map(([partitionSet, { epoch, lsn }]) => ({
      partitionSet,
      numbers: [epoch, lsn],
    }));
    return formatToken('s', places);
  }

  /** Adds what another session saw. A token that is refused changes nothing. */
  merge(token: string): SessionProblem | undefined {
    const parsed = parseToken('s', token);
    if (!parsed.ok) return parsed.code;
    if (parsed.places.some(({ numbers }) => numbers.length !== 2)) return 'TOKEN_INVALID';
    for (const { partitionSet, numbers } of parsed.places) {
      this.saw(partitionSet, { epoch: numbers[0]!, lsn: numbers[1]! });
    }
    return undefined;
  }
}
