/**
 * A session: reads at level Session see at least what it has seen, in whatever region they are answered. Its token goes to
 * other processes as text, such as in a cookie; a client has a session of its own for all who bring none.
 */
import type { Position, ReadLevel } from '../../engine/index.ts';
import { SessionTracker } from '../core/index.ts';
import { BatonError } from './errors.ts';

export class Session {
  #tracker = new SessionTracker();

  /** Throws TOKEN_INVALID or TOKEN_NEWER. */
  constructor(token?: string) {
    if (token !== undefined) this.merge(token);
  }

  /** Everything that it has seen so far. */
  get token(): string {
    return this.#tracker.token;
  }

  /** Adds what another session saw. Throws TOKEN_INVALID or TOKEN_NEWER, and then nothing has changed. */
  merge(token: string): void {
    const problem = this.#tracker.merge(token);
    if (problem !== undefined) throw new BatonError(problem);
  }

  /** After SESSION_UNDONE, or for a new user: it has seen nothing. */
  reset(): void {
    this.#tracker = new SessionTracker();
  }

  /** For the SDK. */
  get tracker(): SessionTracker {
    return this.#tracker;
  }
  /** For the SDK: what a read at this level has to have seen. */
  seenAt(level: ReadLevel): (partitionSet: string) => Position | undefined {
    return (partitionSet) => (level === 'Session' ? this.#tracker.position(partitionSet) : undefined);
  }
}
