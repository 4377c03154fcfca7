/** What operations answer. All of them have the session and the diagnostics. */
import type { Diagnostics } from './diagnostics.ts';
import type { Stored } from './documents.ts';
import type { Session } from './session.ts';

export interface Answer {
  /** As in HTTP: 200, 201, 204. */
  readonly status: number;
  /** The token of the session, with this answer: for other processes. */
  readonly session: string;
  readonly diagnostics: Diagnostics;
}

export interface WriteResult extends Answer {
  /** Of the version that was written; none after a deletion. */
  readonly etag: string | undefined;
}

export interface ReadResult<T> extends Answer {
  readonly document: Stored<T>;
  readonly etag: string;
}

/** What `find` answers: perhaps nothing, with status 404. */
export interface FindResult<T> extends Answer {
  readonly document: Stored<T> | undefined;
  readonly etag: string | undefined;
}

export interface BatchResult extends Answer {
  /** One for each operation, in their order. */
  readonly results: readonly { readonly status: number; readonly etag: string | undefined }[];
}

/** The token is made when somebody asks for it. */
export function withSession<T extends object>(fields: T, session: Session): T & { readonly session: string } {
  return Object.defineProperty(fields, 'session', {
    get: () => session.token,
    enumerable: true,
  }) as T & { readonly session: string };
}
