/**
 * What one acceptor keeps of one register, and how it answers a request about it. The role itself is `acceptor.ts`;
 * around it stands the number of the set of acceptors (DESIGN: CASPaxos rule 9). A record remembers the highest set
 * under which it was touched and refuses requests of an older one, so that a proposer that slept through a change of
 * the set can neither read nor write a register that has moved on.
 */
import {
  type Ballot,
  BALLOT_ZERO,
  type Phase1aMessage,
  type Phase1bResult,
  type Phase2aMessage,
  type Phase2bResult,
} from '../../protocol/index.ts';
import { type AcceptorState, AcceptorStateMachine } from './acceptor.ts';
import { isAdmitted } from './bounds.ts';

/** To an acceptor a value is text: it never looks inside. */
export interface RegisterRecord extends AcceptorState<string> {
  readonly set: number;
}

export const EMPTY_RECORD: RegisterRecord = Object.freeze({
  set: 0,
  promised: BALLOT_ZERO,
  accepted: BALLOT_ZERO,
  value: undefined,
});

/** Asks what was accepted, promising nothing: the cheap half of a read (rule 5). */
export interface QueryMessage {
  readonly type: 'query';
}

export const QUERY: QueryMessage = Object.freeze({ type: 'query' });

export interface QueryReply<V = string> {
  readonly type: 'state';
  readonly acceptor: number;
  readonly accepted: Ballot;
  readonly value: V | undefined;
}

/** "You work with set n; I know of a newer one." */
export interface StaleSetReply {
  readonly type: 'stale-set';
  readonly acceptor: number;
  readonly set: number;
}

/** No answer, or none that can be used. Whether the message took effect is unknown. */
export interface FailedReply {
  readonly type: 'failed';
  readonly acceptor: number;
  readonly code: string;
  readonly message: string;
}

export type RegisterMessage = Phase1aMessage | Phase2aMessage<string> | QueryMessage;

export interface RegisterRequest {
  readonly key: string;
  readonly set: number;
  readonly message: RegisterMessage;
}

export type RegisterReply =
  | Phase1bResult<string>
  | Phase2bResult<string>
  | QueryReply
  | StaleSetReply
  | FailedReply;

/** Nobody sleeps through so many changes of the set. A record that took a higher number would be out of everybody's reach. */
const FARTHEST_SET = 10_000;
const NO_CLOCK = { nowMs: 0, set: 0 };

export interface Answer {
  /** The very same object when nothing changed, so that nothing needs to be written. */
  readonly record: RegisterRecord;
  readonly reply: RegisterReply;
}

/**
 * Applies one request to one record. `index` is what the asker calls this acceptor; `clock` only moves the bounds of rule 11:
 * the time of whoever runs the role, and the number of the newest set that is known there. Persist before replying.
 */
export function answer(
  record: RegisterRecord,
  request: RegisterRequest,
  index: number,
  { nowMs, set }: { readonly nowMs: number; readonly set: number } = NO_CLOCK,
): Answer {
  if (request.set < record.set)
    return { record, reply: { type: 'stale-set', acceptor: index, set: record.set } };
  const { message } = request;
  if (message.type === 'query') {
    const { accepted, value } = record;
    return { record, reply: { type: 'state', acceptor: index, accepted, value } };
  }
  if (request.set > Math.max(record.set, set) + FARTHEST_SET)
    return { record, reply: refused(`the set ${request.set}`, index) };
  const { counter } = (message.type === '2a' ? message.next : undefined) ?? message.ballot;
  if (!isAdmitted(counter, nowMs)) return { record, reply: refused(`the counter ${counter}`, index) };
  const role = new AcceptorStateMachine<string>(record, index);
  const reply = message.type === '1a' ? role.onPhase1a(message) : role.onPhase2a(message);
  const { state } = role;
  if (state === record) return { record, reply };
  const { promised, accepted, value } = state;
  return { record: { set: request.set, promised, accepted, value }, reply };
}

/** Rule 11. Not a refusal of the role's: it promises nothing, and tells of no higher ballot. */
function refused(what: string, acceptor: number): FailedReply {
  const message = `A ballot with ${what} is further ahead than anything can be: it is refused.`;
  return { type: 'failed', acceptor, code: 'BALLOT_ABSURD', message };
}
