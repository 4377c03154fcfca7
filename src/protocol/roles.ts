/**
 * The messages between the roles of CASPaxos (paper 4.3, Figures 2 to 4), with Lamport's names. `V` is the value as
 * the roles see it: they never look inside. `acceptor` is the index of the answering acceptor in the set of
 * acceptors that the proposer works with; it is filled in by whoever receives the answer, never trusted from afar.
 */
import type { Ballot } from './ballot.ts';

/** "May I use this ballot?" */
export interface Phase1aMessage {
  readonly type: '1a';
  readonly ballot: Ballot;
}

/** "You may; I will accept nothing lower; this is what I accepted last." */
export interface Phase1bMessage<V> {
  readonly type: '1b';
  readonly acceptor: number;
  readonly ballot: Ballot;
  /** The zero ballot when nothing was ever accepted; `value` is then undefined. */
  readonly accepted: Ballot;
  readonly value: V | undefined;
}

/** "Accept this value." `next`, when present, asks for the promise of phase 1 for that ballot in the same breath:
 * the one-round-trip path. */
export interface Phase2aMessage<V> {
  readonly type: '2a';
  readonly ballot: Ballot;
  readonly value: V;
  readonly next?: Ballot | undefined;
}

/** "Accepted", and, where `next` was asked for and given, "promised". */
export interface Phase2bMessage<V> {
  readonly type: '2b';
  readonly acceptor: number;
  readonly ballot: Ballot;
  readonly value: V;
  readonly next?: Ballot | undefined;
}

/** "No: I have promised a higher ballot." */
export interface NakMessage {
  readonly type: 'nak';
  readonly acceptor: number;
  readonly ballot: Ballot;
  readonly promised: Ballot;
}

/** Rule 3: one ballot was used for two values. Never happens unless somebody broke rule 1 or 2; never acknowledged. */
export interface AlarmMessage {
  readonly type: 'alarm';
  readonly acceptor: number;
  readonly ballot: Ballot;
}

export type Phase1bResult<V> = Phase1bMessage<V> | NakMessage;
export type Phase2bResult<V> = Phase2bMessage<V> | NakMessage | AlarmMessage;
