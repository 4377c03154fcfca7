/**
 * What is measured: a system that keeps one copy of its data on each of three members, one of which takes the writes. A
 * member is a machine that is lost as a whole: the server, and whatever of the coordination stands on that machine.
 */
import type { Lack } from '../support/programs.ts';

/** What is done to a system while a client writes. */
export const EVENTS = ['kill', 'switchover', 'majority', 'both'] as const;
export type EventName = (typeof EVENTS)[number];

export const WHAT: Readonly<Record<EventName, string>> = {
  kill: 'kill -9 of the member that takes the writes',
  switchover: 'planned switchover',
  majority: 'loss of a coordination majority',
  both: 'loss of the majority, kill -9 a second later',
};

/** A good client of its system: it finds the member that takes writes by itself, and finds it again when that changes. */
export interface PeerClient {
  /** Tries until it is acknowledged; the same id twice is one write. Rejects when the signal aborts it. */
  write(id: string, signal: AbortSignal): Promise<void>;
  /** How many of these a read that cannot be stale does not find. */
  countMissing(ids: readonly string[]): Promise<number>;
  close(): Promise<void>;
}

export interface Peer {
  /** Every process on 127.0.0.1, with data in temporary directories. */
  start(): Promise<void>;
  /** Until every member is there, follows, and has caught up. */
  whole(): Promise<void>;
  client(): Promise<PeerClient>;
  /** The member that takes the writes now. */
  leader(): Promise<string | undefined>;
  /** SIGKILL of everything on the machine of a member. */
  kill(member: string): Promise<void>;
  /** As its operators would; resolves when it was asked for. */
  switchover(): Promise<void>;
  /** SIGKILL of a majority of those who decide which member takes the writes, and of nothing else. */
  blind(): Promise<void>;
  /** Starts again what was killed, but nothing on the machine of the member that is to stay away. */
  heal(except?: string): Promise<void>;
  stop(): Promise<void>;
}

export interface PeerKind {
  readonly name: string;
  /** By name; how each is set up, for the reader of the figures. */
  readonly settings: Readonly<Record<string, string>>;
  /** Why it cannot run on this machine; undefined when it can. */
  lacks(): Lack | undefined;
  create(settings: string): Peer;
}
