/** What the two kinds of transcripts have in common: acceptors, editors, and how things are printed. */
import { AcceptorStateMachine, flexible, majority, type QuorumSystem } from 'baton/caspaxos';
import {
  formatBallot,
  type Phase1aMessage,
  type Phase1bResult,
  type Phase2aMessage,
  type Phase2bResult,
} from 'baton/protocol';

export type Message = Phase1aMessage | Phase2aMessage<string>;
export type Reply = Phase1bResult<string> | Phase2bResult<string>;

/** `acceptors 3`, or `acceptors 5 2 4` for flexible quorums. */
export class Acceptors {
  readonly quorum: QuorumSystem;
  readonly #roles: readonly AcceptorStateMachine<string>[];

  constructor(words: readonly string[]) {
    const [size, phase1, phase2] = words.map(Number);
    this.quorum = phase1 === undefined ? majority(size!) : flexible(size!, phase1, phase2!);
    this.#roles = Array.from(
      { length: size! },
      (_, index) => new AcceptorStateMachine<string>(undefined, index),
    );
  }

  handle(acceptor: number, message: Message): Reply {
    const role = this.#roles[acceptor]!;
    return message.type === '1a' ? role.onPhase1a(message) : role.onPhase2a(message);
  }

  print(): readonly string[] {
    return this.#roles.map(({ state: { promised, accepted, value } }, index) => {
      const holds =
        value === undefined ? 'nothing accepted' : `accepted ${formatBallot(accepted)} ${print(value)}`;
      return `${index}: promised ${formatBallot(promised)}, ${holds}`;
    });
  }
}

/** `+x` appends, `keep` leaves, `throw` throws. */
export function editorOf(word: string): (current: string | undefined) => string | undefined {
  if (word.startsWith('+')) return (current) => (current ?? '') + word.slice(1);
  if (word === 'keep') return (current) => current;
  return () => {
    throw new Error('the editor threw');
  };
}

export function print(value: string | undefined): string {
  return value === undefined ? 'nothing' : `"${value}"`;
}

export function printMessage(message: Message): string {
  const ballot = formatBallot(message.ballot);
  if (message.type === '1a') return `1a ${ballot}`;
  const ahead = message.next === undefined ? '' : ` next ${formatBallot(message.next)}`;
  return `2a ${ballot} ${print(message.value)}${ahead}`;
}

export function printReply(reply: Reply): string {
  const ballot = formatBallot(reply.ballot);
  switch (reply.type) {
    case '1b':
      return `1b ${ballot}, accepted ${formatBallot(reply.accepted)} ${print(reply.value)}`;
    case '2b':
      return `2b ${ballot}${reply.next === undefined ? '' : ` and promised ${formatBallot(reply.next)}`}`;
    case 'nak':
      return `nak ${ballot}, promised ${formatBallot(reply.promised)}`;
    case 'alarm':
      return `ALARM ${ballot}`;
  }
}

export function numbersAfter(words: readonly string[], word: string): readonly number[] {
  const rest = words.slice(words.indexOf(word) + 1);
  const end = rest.findIndex((candidate) => !/^\d+$/.test(candidate));
  return (end < 0 ? rest : rest.slice(0, end)).map(Number);
}

export function wordAfter(words: readonly string[], word: string): string | undefined {
  const at = words.indexOf(word);
  return at < 0 ? undefined : words[at + 1];
}
