/**
 * What one acceptor has answered, and therefore must never go back on (DESIGN: CASPaxos rule 3). Every message is held
 * against what had been answered before it was sent; what it answers is added. It makes no difference whether the acceptor
 * was killed in between, and that is the point.
 *
 * The value of a proposal follows from its register and ballot, so that any value that comes back can be checked.
 */
import { QUERY, type RegisterMessage, type RegisterReply, type RegisterRequest } from 'baton/caspaxos';
import {
  type Ballot,
  BALLOT_ZERO,
  compareBallots,
  formatBallot,
  isZeroBallot,
  sameBallot,
} from 'baton/protocol';

const PROPOSER = 'load';
const INCARNATION = 1;
/** Sorts before every ballot of the load with the same counter. */
const LOWER_PROPOSER = '!';
const LONGEST_VALUE = 1000;

interface Answered {
  readonly promised: Ballot;
  readonly accepted: Ballot;
}

const NOTHING: Answered = { promised: BALLOT_ZERO, accepted: BALLOT_ZERO };

export function ballotOf(counter: number): Ballot {
  return { counter, proposer: PROPOSER, incarnation: INCARNATION };
}

export function valueOf(key: string, { counter }: Ballot): string {
  const text = `${key}@${counter}|`;
  const length = text.length + ((counter * 7919) % LONGEST_VALUE);
  return text.repeat(Math.ceil(length / text.length)).slice(0, length);
}

export class Ledger {
  readonly #answered = new Map<string, Answered>();
  /** What the acceptor went back on, in words. */
  readonly broken: string[] = [];
  messages = 0;

  /** Take it before the request is sent: the answer must not be older than this. */
  before(key: string): Answered {
    return this.#answered.get(key) ?? NOTHING;
  }

  note({ key, message }: RegisterRequest, reply: RegisterReply, before: Answered): void {
    this.messages += 1;
    const problem = problemOf(key, message, reply, before);
    if (problem !== undefined) this.broken.push(`${key}: ${problem}`);
    switch (reply.type) {
      case '1b':
        return this.#raise(key, reply.ballot, reply.accepted);
      case '2b':
        return this.#raise(key, reply.next ?? reply.ballot, reply.ballot);
      case 'nak':
        return this.#raise(key, reply.promised, BALLOT_ZERO);
      case 'state':
        return this.#raise(key, reply.accepted, reply.accepted);
      default:
        return undefined;
    }
  }

  /** Messages that between them show everything that the acceptor must still know, and change none of it. */
  probes(): RegisterRequest[] {
    const probes: RegisterRequest[] = [];
    for (const [key, { promised }] of this.#answered) {
      probes.push({ key, set: 0, message: QUERY });
      // Too low by a hair: whoever remembers the promise refuses it.
      if (!isZeroBallot(promised)) {
        probes.push({
          key,
          set: 0,
          message: { type: '1a', ballot: { ...promised, proposer: LOWER_PROPOSER } },
        });
      }
    }
    return probes;
  }

  #raise(key: string, promised: Ballot, accepted: Ballot): void {
    const known = this.before(key);
    this.#answered.set(key, {
      promised: higher(known.promised, promised),
      accepted: higher(known.accepted, accepted),
    });
  }
}

function problemOf(
  key: string,
  message: RegisterMessage,
  reply: RegisterReply,
  before: Answered,
): string | undefined {
  switch (reply.type) {
    case '1b':
      return isLower(reply.ballot, before.promised)
        ? `promised ${formatBallot(reply.ballot)} after ${formatBallot(before.promised)}`
        : forgotten(key, reply, before);
    case '2b':
      // The same proposal may be acknowledged again as long as it is the last one.
      return isLower(reply.ballot, before.promised) && !sameBallot(reply.ballot, before.accepted)
        ? `accepted ${formatBallot(reply.ballot)} after promising ${formatBallot(before.promised)}`
        : undefined;
    case 'nak':
      return isLower(reply.promised, before.promised)
        ? `refuses for ${formatBallot(reply.promised)} after promising ${formatBallot(before.promised)}`
        : undefined;
    case 'state':
      return forgotten(key, reply, before);
    default:
      return `answered ${JSON.stringify(reply)} to ${message.type}`;
  }
}

function forgotten(
  key: string,
  { accepted, value }: { readonly accepted: Ballot; readonly value: string | undefined },
  before: Answered,
): string | undefined {
  if (isLower(accepted, before.accepted)) {
    return `holds ${formatBallot(accepted)} after accepting ${formatBallot(before.accepted)}`;
  }
  const expected = isZeroBallot(accepted) ? undefined : valueOf(key, accepted);
  return value === expected
    ? undefined
    : `holds another value than was proposed with ${formatBallot(accepted)}`;
}

function isLower(a: Ballot, b: Ballot): boolean {
  return compareBallots(a, b) < 0;
}

function higher(a: Ballot, b: Ballot): Ballot {
  return isLower(a, b) ? b : a;
}
