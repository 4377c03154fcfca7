/**
 * Proposers, readers and acceptors on a network that loses, repeats and reorders, driven by a list of choices: the same
 * list is the same run, and a shorter one is a simpler run, so that a failing property can be shrunk.
 *
 * A value is the list of the operations that made it. Each change adds its own operation once; with `uncertain` it
 * looks first. So all of CASPaxos' promises can be read off the values themselves.
 */
import {
  AcceptorStateMachine,
  BallotSource,
  type ProposalResult,
  type ProposerPolicy,
  QuorumReader,
  type QuorumSystem,
  type ReadVerdict,
  RegisterProposer,
} from 'baton/caspaxos';
import { type Ballot, formatBallot, type Phase1aMessage, type Phase2aMessage } from 'baton/protocol';

export interface NetworkOptions {
  readonly quorum: QuorumSystem;
  readonly proposers: number;
  readonly policy: ProposerPolicy;
}

/** What happened, for the property to judge. */
export interface Run {
  /** Every value that was proposed under a ballot. */
  readonly proposed: ReadonlyMap<string, ReadonlySet<string>>;
  /** Values that a phase-2 quorum has accepted under one ballot, in the order of becoming so. */
  readonly chosen: readonly { readonly ballot: Ballot; readonly value: string }[];
  readonly changes: readonly Change[];
  readonly reads: readonly Read[];
}

export interface Change {
  readonly operation: string;
  readonly result: ProposalResult<string>;
}

export interface Read {
  /** How many values were known to be committed when the read began, and what it returned. */
  readonly committedBefore: readonly string[];
  readonly value: string;
}

interface Event {
  readonly run: () => void;
}

type Message = Phase1aMessage | Phase2aMessage<string>;

export function operationsOf(value: string): readonly string[] {
  return value === '' ? [] : value.split(' ');
}

export class RandomNetwork implements Run {
  readonly proposed = new Map<string, Set<string>>();
  readonly chosen: { ballot: Ballot; value: string }[] = [];
  readonly changes: Change[] = [];
  readonly reads: Read[] = [];
  readonly #quorum: QuorumSystem;
  readonly #acceptors: readonly AcceptorStateMachine<string>[];
  readonly #proposers: readonly RegisterProposer<string>[];
  readonly #accepted = new Map<string, { ballot: Ballot; value: string; mask: number }>();
  #events: Event[] = [];
  #operations = 0;
  #readers = 0;

  constructor(options: NetworkOptions) {
    this.#quorum = options.quorum;
    this.#acceptors = Array.from(
      { length: options.quorum.size },
      (_, index) => new AcceptorStateMachine<string>(undefined, index),
    );
    this.#proposers = Array.from({ length: options.proposers }, (_, at) => this.#newProposer(at, options));
  }

  /** Each choice is one step: one of the messages under way, or one of the proposers and readers. */
  play(choices: readonly number[]): Run {
    for (const choice of choices) this.#step(choice);
    return this;
  }

  #step(choice: number): void {
    const actors = this.#proposers.length + 1;
    const at = choice % (actors + this.#events.length * 2);
    if (at < this.#proposers.length) return this.#act(this.#proposers[at]!, choice);
    if (at === this.#proposers.length) return this.#read();
    const [event] = this.#events.splice(Math.floor((at - actors) / 2), 1);
    return event!.run();
  }

  #newProposer(at: number, { quorum, policy }: NetworkOptions): RegisterProposer<string> {
    let operation = '';
    const ballots = new BallotSource({ proposer: String.fromCodePoint(97 + at), incarnation: 1 });
    const proposer: RegisterProposer<string> = new RegisterProposer(
      ballots,
      quorum,
      {
        broadcast: (message) => this.#broadcast(proposer, message),
        wait: () => undefined,
        finished: (result) => this.changes.push({ operation, result }),
      },
      policy,
    );
    this.#begin.set(proposer, () => {
      this.#operations += 1;
      operation = `${String.fromCodePoint(97 + at)}${this.#operations}`;
      const own = operation;
      proposer.start((current = '', uncertain) => {
        const operations = operationsOf(current);
        if (uncertain && operations.includes(own)) return current;
        return [...operations, own].join(' ');
      });
    });
    return proposer;
  }

  readonly #begin = new Map<RegisterProposer<string>, () => void>();

  #act(proposer: RegisterProposer<string>, choice: number): void {
    if (proposer.phase === 'idle') this.#begin.get(proposer)!();
    else if (proposer.phase === 'waiting') proposer.retry();
    else if (choice % 7 === 0) proposer.cancel();
  }

  #broadcast(proposer: RegisterProposer<string>, message: Message): void {
    if (message.type === '2a') {
      const ballot = formatBallot(message.ballot);
      this.proposed.set(ballot, (this.proposed.get(ballot) ?? new Set()).add(message.value));
    }
    for (const [index, acceptor] of this.#acceptors.entries()) {
      this.#events.push({ run: () => this.#deliver(proposer, message, acceptor, index) });
    }
  }

  /** The message arrives; its answer, and a copy of the message, are under way from now on, or lost. */
  #deliver(
    proposer: RegisterProposer<string>,
    message: Message,
    acceptor: AcceptorStateMachine<string>,
    index: number,
    isCopy = false,
  ): void {
    const reply = message.type === '1a' ? acceptor.onPhase1a(message) : acceptor.onPhase2a(message);
    if (message.type === '2a' && reply.type === '2b') this.#noteAccepted(message, index);
    if (isCopy) return;
    const isLost = (this.#events.length + index) % 5 === 0;
    this.#events.push({
      run: () => proposer.onReply(index, message, isLost ? { type: 'failed' } : reply),
    });
    if ((this.#events.length + index) % 3 === 0) {
      this.#events.push({ run: () => this.#deliver(proposer, message, acceptor, index, true) });
    }
  }

  #noteAccepted({ ballot, value }: Phase2aMessage<string>, index: number): void {
    const key = formatBallot(ballot);
    const known = this.#accepted.get(key) ?? { ballot, value, mask: 0 };
    const wasChosen = this.#quorum.isPhase2Quorum(known.mask);
    known.mask |= 2 ** index;
    this.#accepted.set(key, known);
    if (!wasChosen && this.#quorum.isPhase2Quorum(known.mask)) this.chosen.push({ ballot, value });
  }

  #read(): void {
    this.#readers += 1;
    if (this.#readers % 2 === 0) return;
    const committedBefore = this.changes.flatMap(({ operation, result }) =>
      result.outcome === 'committed' ? [operation] : [],
    );
    const before = [...committedBefore, ...this.reads.flatMap(({ value }) => operationsOf(value))];
    const reader = new QuorumReader(this.#quorum);
    let isDone = false;
    const judge = (verdict: ReadVerdict | undefined): void => {
      if (verdict?.verdict !== 'agreed' || isDone) return;
      isDone = true;
      this.reads.push({ committedBefore: before, value: verdict.value ?? '' });
    };
    for (const [index, acceptor] of this.#acceptors.entries()) {
      this.#events.push({
        run: () => {
          const { accepted, value } = acceptor.state;
          judge(reader.onState({ type: 'state', acceptor: index, accepted, value }));
        },
      });
    }
  }
}
