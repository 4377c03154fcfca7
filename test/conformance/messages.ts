/** Requests to acceptors, for the suites. */
import { QUERY, type RegisterReply, type RegisterRequest } from 'baton/caspaxos';
import type { Ballot } from 'baton/protocol';

export function ballot(counter: number, proposer = 'p'): Ballot {
  return { counter, proposer, incarnation: 1 };
}

export function promise(key: string, counter: number, set = 1): RegisterRequest {
  return { key, set, message: { type: '1a', ballot: ballot(counter) } };
}

export function accept(key: string, counter: number, value: string, set = 1): RegisterRequest {
  return { key, set, message: { type: '2a', ballot: ballot(counter), value } };
}

export function query(key: string, set = 1): RegisterRequest {
  return { key, set, message: QUERY };
}

export function typesOf(replies: readonly RegisterReply[]): readonly string[] {
  return replies.map(({ type }) => type);
}

/** What the acceptor holds of a register, or how it refused to say. */
export function valueIn(reply: RegisterReply | undefined): string | undefined {
  if (reply?.type === 'state') return reply.value;
  return `(${reply?.type})`;
}
