/**
 * Plays the three roles by hand, one message at a time:
 *
 *   acceptors 3                             new acceptors (and `acceptors 5 2 4` for flexible quorums)
 *   phase1 west [after nak]                 a leader begins a ballot
 *   send west 1a to 0 1                     acceptors 0 and 1 get its message; their answers lie ready
 *   receive west from 0 1 edit +a [ahead]   the leader takes those answers
 *   learn west from 0 1                     the leader's learner takes them
 *   resume west edit +b [ahead]             the one-round-trip path
 *   state                                   what the acceptors remember
 */
import { BallotSource, LeaderStateMachine, LearnerStateMachine } from 'baton/caspaxos';
import { formatBallot, type NakMessage, type Phase2aMessage } from 'baton/protocol';
import {
  Acceptors,
  editorOf,
  type Message,
  numbersAfter,
  print,
  printMessage,
  printReply,
  type Reply,
  wordAfter,
} from './scenes.ts';
import type { Scene } from './transcripts.ts';

interface Proposer {
  readonly ballots: BallotSource;
  readonly leader: LeaderStateMachine<string>;
  readonly learner: LearnerStateMachine<string>;
  readonly sent: Map<string, Message>;
  readonly answers: Map<number, Reply>;
  nak: NakMessage | undefined;
}

export class RoleScene implements Scene {
  #acceptors = new Acceptors(['3']);
  readonly #proposers = new Map<string, Proposer>();

  run(words: readonly string[]): readonly string[] {
    const [command, name = ''] = words;
    if (command === 'acceptors') {
      this.#acceptors = new Acceptors(words.slice(1));
      return [`quorum: ${this.#acceptors.quorum.description}`];
    }
    if (command === 'state') return this.#acceptors.print();
    const proposer = this.#proposer(name);
    switch (command) {
      case 'phase1': {
        const message = proposer.leader.startPhase1(words.includes('after') ? proposer.nak : undefined);
        return [this.#sent(proposer, message)];
      }
      case 'send':
        return numbersAfter(words, 'to').map((acceptor) => this.#send(proposer, words[2]!, acceptor));
      case 'receive':
        return numbersAfter(words, 'from').map((acceptor) => this.#receive(proposer, acceptor, words));
      case 'resume': {
        const { next, value } = proposer.sent.get('2a') as Phase2aMessage<string>;
        return [
          this.#sent(
            proposer,
            this.#edit(words, proposer, (edit, ahead) => proposer.leader.resume(next!, value, edit, ahead)),
          ),
        ];
      }
      case 'learn':
        return numbersAfter(words, 'from').map((acceptor) => learn(proposer, acceptor));
      default:
        throw new Error(`no such command: ${words.join(' ')}`);
    }
  }

  #proposer(name: string): Proposer {
    let proposer = this.#proposers.get(name);
    if (proposer === undefined) {
      const ballots = new BallotSource({ proposer: name, incarnation: 1 });
      const { quorum } = this.#acceptors;
      const leader = new LeaderStateMachine<string>(ballots, quorum);
      const learner = new LearnerStateMachine<string>(quorum);
      proposer = { ballots, leader, learner, sent: new Map(), answers: new Map(), nak: undefined };
      this.#proposers.set(name, proposer);
    }
    return proposer;
  }

  #sent(proposer: Proposer, message: Message): string {
    proposer.sent.set(message.type, message);
    return printMessage(message);
  }

  #send(proposer: Proposer, type: string, acceptor: number): string {
    const message = proposer.sent.get(type);
    if (message === undefined) throw new Error(`nothing sent: ${type}`);
    const reply = this.#acceptors.handle(acceptor, message);
    proposer.answers.set(acceptor, reply);
    return `${acceptor}: ${printReply(reply)}`;
  }

  #receive(proposer: Proposer, acceptor: number, words: readonly string[]): string {
    const reply = proposer.answers.get(acceptor)!;
    if (reply.type === 'nak') proposer.nak = reply;
    if (reply.type !== '1b') return `${acceptor}: ${printReply(reply)}`;
    try {
      const message = this.#edit(words, proposer, (edit, ahead) =>
        proposer.leader.startPhase2(reply, edit, ahead),
      );
      if (message === undefined) return `${acceptor}: no quorum yet, or not asked any more`;
      const agreed = proposer.leader.quorumAgreed ? ' (the quorum agreed)' : '';
      return `${acceptor}: ${this.#sent(proposer, message)}${agreed}`;
    } catch (error) {
      return `${acceptor}: ${(error as Error).message}`;
    }
  }

  #edit<T>(
    words: readonly string[],
    { ballots }: Proposer,
    use: (
      edit: (current: string | undefined) => string,
      ahead: ReturnType<BallotSource['next']> | undefined,
    ) => T,
  ): T {
    const edit = editorOf(wordAfter(words, 'edit')!);
    return use((current) => edit(current) ?? '', words.includes('ahead') ? ballots.next() : undefined);
  }
}

function learn({ learner, answers }: Proposer, acceptor: number): string {
  const reply = answers.get(acceptor)!;
  if (reply.type !== '2b') return `${acceptor}: ${printReply(reply)}`;
  const learned = learner.learn(reply);
  if (learned === undefined) return `${acceptor}: not chosen as far as it knows`;
  return `${acceptor}: chosen: ${print(learned.value)} at ${formatBallot(learned.ballot)}`;
}
