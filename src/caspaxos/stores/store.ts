/**
 * A store: all that CASPaxos asks of the service that keeps an acceptor's state (paper 4.3.1, "Choice of storage").
 * It holds small text documents under keys and replaces one only if it still is the version that the writer read.
 * Reads see every write that was answered before. That is enough: the role itself runs in the proposer's process.
 *
 * Every call ends within the time limit that the store was opened with: a server that hangs must not collect calls.
 *
 * To add a store, implement this interface, register its URL scheme in `open-acceptor.ts`, and run the conformance
 * suite (`test/conformance/store.ts`) against the real server.
 */

import type { Lineage } from './lineage.ts';

/** Opaque to everybody but the store. Never the same again for another content of the same document. */
export type StoreVersion = string | number;

export interface StoredDocument {
  readonly text: string;
  readonly version: StoreVersion;
}

export interface ConditionalWrite {
  readonly key: string;
  readonly text: string;
  /** The version it replaces; undefined: there is no such document yet. */
  readonly expected: StoreVersion | undefined;
}

export type WriteResult =
  | { readonly result: 'written'; readonly version: StoreVersion }
  /** Somebody else was faster, or our own earlier try succeeded after all (rule 7): read again. */
  | { readonly result: 'conflict' }
  /** It may or may not have been written. */
  | { readonly result: 'failed'; readonly error: Error };

/** What every store of other people's is opened with, beside its URL. */
export interface StoreOptions {
  /** How long one call may take. */
  readonly timeoutMs: number;
  /** PEM certificates to trust instead of the system's; the URL's own `ca` goes before it. */
  readonly ca?: string | undefined;
}

export interface AcceptorStore {
  /** For people, logs and the other members of a set: never holds credentials. */
  readonly url: string;
  readonly concurrency: number;
  /** The largest text in bytes that it takes; a larger one is `failed` with REQUEST_TOO_LARGE. Undefined: any that Baton writes. */
  readonly largestText?: number;
  /** How many requests it has sent to its server, as a bill would count them. */
  readonly requests?: number;
  /** Whose line of memory the answers come from; absent where the service cannot tell. */
  readonly lineage?: Lineage | undefined;
  /**
   * Makes the place where the documents are (a table, a container) if it is not there. Called before the first look at a
   * store that nobody has named a member of a set yet; from then on a place that is gone has to be noticed, not made again.
   */
  prepare?(): Promise<void>;
  read(keys: readonly string[]): Promise<readonly (StoredDocument | undefined)[]>;
  /**
   * Each write on its own condition; durable when it says `written`. No blind retries underneath: a lost answer is
   * `failed` or a rejected promise, and the role decides what to do. Of one batch, no two writes have the same key.
   */
  write(writes: readonly ConditionalWrite[]): Promise<readonly WriteResult[]>;
  /** Keys in ascending order of their UTF-8 bytes or UTF-16 units, whichever comes easier: those after `after`. */
  list(after: string, limit: number): Promise<readonly string[]>;
  /** Whether there is any key with that prefix; for stores that can tell without a list. */
  holdsAny?(prefix: string): Promise<boolean>;
  /**
   * Whether the server still keeps what it answers, and is of the line that it was: called every few seconds while the store is in
   * use, beside a batch, and before the next batch after a failure. Rejects with a `CasPaxosError` when the server has become
   * unsafe: nothing is asked of the store then until a look finds it well again. What it sees of the line goes to `lineage`.
   */
  lookAgain?(): Promise<void>;
  /** Which life of the server was looked at last: a name that it got when it started. Undefined: it cannot tell. */
  readonly life?: string | undefined;
  close(): Promise<void>;
}
