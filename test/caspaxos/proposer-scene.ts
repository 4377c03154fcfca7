/**
 * Plays proposers over acceptors, and a network that does what the transcript says:
 *
 *   acceptors 3
 *   start west edit +a [force] [uncertain]
 *   deliver west to 0 1     its message reaches acceptors 0 and 1, and their answers reach west
 *   lose west at 2          the message reaches acceptor 2, the answer is lost
 *   drop west at 2          the message is lost
 *   hold west at 1          the message reaches acceptor 1, the answer is under way ...
 *   release west at 1       ... and arrives now
 *   retry west, cancel west, state
 */
import { BallotSource, type ProposalResult, type ProposerPort, RegisterProposer } from 'baton/caspaxos';
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

interface Player {
  readonly name: string;
  readonly proposer: RegisterProposer<string>;
  readonly held: Map<number, () => void>;
  message: Message | undefined;
}

export class ProposerScene implements Scene {
  #acceptors = new Acceptors(['3']);
  readonly #players = new Map<string, Player>();
  #printed: string[] = [];

  run(words: readonly string[]): readonly string[] {
    this.#printed = [];
    const [command, name = ''] = words;
    if (command === 'acceptors') this.#acceptors = new Acceptors(words.slice(1));
    else if (command === 'state') return this.#acceptors.print();
    else this.#play(command!, this.#player(name, words.includes('sequentially')), words);
    return this.#printed;
  }

  #play(command: string, player: Player, words: readonly string[]): void {
    const { proposer, held, message } = player;
    const acceptors = numbersAfter(words, command === 'deliver' ? 'to' : 'at');
    switch (command) {
      case 'start': {
        const edit = editorOf(wordAfter(words, 'edit')!);
        const options = { force: words.includes('force'), uncertain: words.includes('uncertain') };
        return proposer.start((current, uncertain) => this.#edit(player, edit(current), uncertain), options);
      }
      case 'retry':
        return proposer.retry();
      case 'cancel':
        return proposer.cancel();
      case 'release':
        return acceptors.forEach((acceptor) => held.get(acceptor)!());
      default:
        return acceptors.forEach((acceptor) => this.#transport(command, player, message!, acceptor));
    }
  }

  #edit({ name }: Player, edited: string | undefined, uncertain: boolean): string | undefined {
    this.#printed.push(
      `${name} edits: ${print(edited)}${uncertain ? ' (an earlier attempt may be in it)' : ''}`,
    );
    return edited;
  }

  #transport(how: string, player: Player, message: Message, acceptor: number): void {
    const { name, proposer, held } = player;
    const answer = (reply: Reply | { type: 'failed' }): void => {
      this.#printed.push(
        `${name} <- ${acceptor}: ${reply.type === 'failed' ? 'no answer' : printReply(reply)}`,
      );
      proposer.onReply(acceptor, message, reply);
    };
    if (how === 'drop') return answer({ type: 'failed' });
    const reply = this.#acceptors.handle(acceptor, message);
    if (how === 'lose') return answer({ type: 'failed' });
    if (how === 'deliver') return answer(reply);
    held.set(acceptor, () => answer(reply));
    return undefined;
  }

  #player(name: string, sequentially: boolean): Player {
    const known = this.#players.get(name);
    if (known !== undefined) return known;
    const port: ProposerPort<string> = {
      broadcast: (message) => {
        player.message = message;
        this.#printed.push(`${name} -> all: ${printMessage(message)}`);
      },
      wait: (attempt, because) => this.#printed.push(`${name} waits: attempt ${attempt} lost, ${because}`),
      finished: (result) => this.#printed.push(`${name} finished: ${printResult(result)}`),
    };
    const ballots = new BallotSource({ proposer: name, incarnation: 1 });
    const policy = { prepareAhead: !sequentially, giveUp: 'quorum impossible' } as const;
    const proposer = new RegisterProposer(ballots, this.#acceptors.quorum, port, policy);
    const player: Player = { name, proposer, held: new Map(), message: undefined };
    this.#players.set(name, player);
    return player;
  }
}

function printResult(result: ProposalResult<string>): string {
  if (result.outcome !== 'committed') return result.outcome;
  const trips = result.rounds === 1 ? '1 round trip' : '2 round trips';
  return `committed ${print(result.value)}, ${result.changed ? 'changed' : 'unchanged'}, ${trips}`;
}
