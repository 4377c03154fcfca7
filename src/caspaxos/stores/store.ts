/**
 * A store: all that CASPaxos asks of the service that keeps an acceptor's state (paper 4.3.1, "Choice of storage").
 * It holds small text documents under keys and replaces one only if it still is the version that the writer read.
 * Reads see every write that was answered before. That is enough: the role itself runs in the proposer's process.
 *
 * To add a store, implement this interface, register its URL scheme in `open-acceptor.ts`, and run the conformance
 * suite (`stores/conformance.ts`) against the real server.
 */

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

export interface AcceptorStore {
  readonly url: string;
  readonly concurrency: number;
  read(keys: readonly string[]): Promise<readonly (StoredDocument | undefined)[]>;
  /**
   * Each write on its own condition; durable when it says `written`. No blind retries underneath: a lost answer is
   * `failed` or a rejected promise, and the role decides what to do.
   */
  write(writes: readonly ConditionalWrite[]): Promise<readonly WriteResult[]>;
  list(after: string, limit: number): Promise<readonly string[]>;
  close(): Promise<void>;
}
