/**
 * A system under load has two halves that share nothing but addresses. The `System` is the servers: the benchmark starts
 * and stops them, each in a process of its own. The `Store` is what a client process sees of them: one document written or
 * read at a time, as often at once as it is asked. A write is answered when it is durable where the system promises it
 * (etcd: a majority of three; PostgreSQL: the primary and its standby), and every write is a transaction of its own.
 */
import type { Lack } from '../support/programs.ts';

export interface System {
  readonly name: string;
  /** Servers on free ports of 127.0.0.1, with data in temporary directories; resolves when they take writes. */
  start(): Promise<void>;
  /** Ends the servers and removes their data, also after a `start` that failed half way. */
  stop(): Promise<void>;
  /** What the client process needs to know to reach the servers that run now; handed to `OpenStore` there. */
  clientArgs(): readonly string[];
}

export interface SystemKind {
  /** One line for the reader of the figures: how it was set up. */
  readonly setting: string;
  /** Why it cannot run on this machine; undefined when it can. */
  lacks(): Lack | undefined;
  create(): System;
}

export interface Store {
  put(key: string, document: Buffer): Promise<void>;
  /** The newest document, not a stale one; resolves to undefined when there is none. */
  get(key: string): Promise<Buffer | undefined>;
  close(): void;
}

/** What a client process will do with its store, for those who size a pool or a body by it. */
export interface Use {
  readonly mode: 'load' | 'write' | 'read';
  readonly inFlight: number;
  /** Of a document. */
  readonly bytes: number;
}

/** Resolves when every connection is open: the clock starts then. */
export type OpenStore = (clientArgs: readonly string[], use: Use) => Promise<Store>;

/** A client that looks whether writes are taken. */
export const ONE_WRITE: Use = { mode: 'write', inFlight: 1, bytes: 16 };
