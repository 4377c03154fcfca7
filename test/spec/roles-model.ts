/**
 * The system of `spec/caspaxos.tla` over the real role classes. A state is what the spec's state is: the acceptors'
 * memories, every message ever sent, what was learned, what reads returned. Each step builds the role concerned from
 * the state, hands it one message, and writes down what it did; none of the protocol's decisions is taken here.
 *
 * Leaders and learners have no place in a state: they are rebuilt from the messages, in every way in which these can
 * have reached them (see `roles-replay.ts`).
 *
 * `key` is the spec's own canonical JSON of the state, so that for the same bounds the two sets of states are equal.
 */
import type * as caspaxos from 'baton/caspaxos';
import type { Successor } from 'baton/check';
import { type Ballot, compareBallots } from 'baton/protocol';
import type { Bounds } from './bounds.ts';
import { checkContract, RolesReplay } from './roles-replay.ts';
import {
  ballotOf,
  edited,
  numberOf,
  parse2a,
  parse2b,
  parseReport,
  text1b,
  text2a,
  text2b,
  textOfAnswer,
  UNWRITTEN,
} from './wire.ts';

/** What the model runs: the real classes, or mutants of them. */
export type RoleClasses = Pick<
  typeof caspaxos,
  | 'AcceptorStateMachine'
  | 'BallotSource'
  | 'flexible'
  | 'LeaderStateMachine'
  | 'LearnerStateMachine'
  | 'QuorumReader'
>;

/** The spec's variables. A list of texts is a set, sorted. */
export interface ModelState {
  readonly promised: readonly number[];
  readonly accepted: readonly number[];
  readonly value: readonly string[];
  readonly sent1a: readonly string[];
  readonly sent1b: readonly string[];
  readonly sent2a: readonly string[];
  readonly sent2b: readonly string[];
  readonly learned: readonly string[];
  readonly asked: number;
  readonly answers: readonly string[];
  readonly reads: readonly string[];
  readonly began: readonly number[];
  readonly forgotten: number;
}

export function keyOf(state: ModelState): string {
  return (
    `{"promised":[${state.promised.join()}],"accepted":[${state.accepted.join()}],"value":[${state.value.join()}]` +
    `,"sent1a":[${state.sent1a.join()}],"sent1b":[${state.sent1b.join()}],"sent2a":[${state.sent2a.join()}]` +
    `,"sent2b":[${state.sent2b.join()}],"learned":[${state.learned.join()}],"asked":${state.asked}` +
    `,"answers":[${state.answers.join()}],"reads":[${state.reads.join()}],"began":[${state.began.join()}],"forgotten":${state.forgotten}}`
  );
}

type Step = Successor<ModelState>;

export class RolesModel {
  readonly #roles: RoleClasses;
  readonly #bounds: Bounds;
  readonly #replay: RolesReplay;
  readonly #acceptors: readonly number[];
  readonly #ballots: readonly number[];

  constructor(roles: RoleClasses, bounds: Bounds) {
    this.#roles = roles;
    this.#bounds = bounds;
    this.#replay = new RolesReplay(roles, bounds);
    this.#acceptors = Array.from({ length: bounds.acceptors }, (_, index) => index);
    this.#ballots = Array.from({ length: bounds.ballots }, (_, index) => index + 1);
  }

  get initial(): ModelState {
    const zeros = this.#acceptors.map(() => 0);
    return {
      promised: zeros,
      accepted: zeros,
      value: this.#acceptors.map(() => UNWRITTEN),
      sent1a: [],
      sent1b: [],
      sent2a: [],
      sent2b: [],
      learned: [],
      asked: 0,
      answers: [],
      reads: [],
      began: this.#ballots.map(() => 0),
      forgotten: 0,
    };
  }

  *successors(state: ModelState): Generator<Step> {
    for (const ballot of this.#ballots) {
      if (!state.sent1a.includes(String(ballot)) && !askedFor(state, ballot))
        yield this.#begin(state, ballot);
    }
    for (const ballot of state.sent1a) yield* this.#propose(state, Number(ballot));
    for (const proposal of state.sent2a) yield* this.#resume(state, proposal);
    for (const acceptor of this.#acceptors) {
      for (const ballot of state.sent1a) yield* this.#promise(state, acceptor, ballotOf(Number(ballot)));
      for (const proposal of state.sent2a) yield* this.#accept(state, acceptor, proposal);
      if (state.forgotten < this.#bounds.maxAmnesia && state.promised[acceptor] !== 0) {
        yield this.#forget(state, acceptor);
      }
    }
    if (this.#bounds.query) yield* this.#query(state);
  }

  #begin(state: ModelState, ballot: number): Step {
    const { leader, started } = this.#replay.leaderOf(ballot);
    checkContract(numberOf(leader.ballot) === ballot, 'a leader uses the ballot that its source gave');
    const sent1a = including(state.sent1a, String(numberOf(started.ballot)));
    return {
      action: `Phase1a(${ballot})`,
      state: { ...state, sent1a, began: this.#beginning(state, ballot) },
    };
  }

  *#propose(state: ModelState, ballot: number): Generator<Step> {
    for (const { kind, text } of this.#replay.outcomesOf(ballot, state, this.#nextChoices(state, ballot))) {
      const action = `Phase2a(${ballot})`;
      if (kind === 'read') yield { action, state: { ...state, reads: including(state.reads, text) } };
      else yield { action, state: { ...state, sent2a: including(state.sent2a, text) } };
    }
  }

  /** The one-round-trip path. That a prepared ballot is used once is its owner's duty, not the role's. */
  *#resume(state: ModelState, proposal: string): Generator<Step> {
    const { bal, val, next: ballot } = parse2a(proposal);
    if (ballot === 0) return;
    const uses = state.sent2a.filter((text) => parse2a(text).bal === ballot).length;
    if (uses > (this.#bounds.without.has('SingleUse') ? 1 : 0)) return;
    if (!this.#replay.isPrepared(state.sent2b, bal, val, ballot)) return;
    const once = (value: string | undefined) => this.#edit(ballot, value);
    const editor = uses === 0 ? once : (value: string | undefined) => once(once(value));
    for (const next of this.#nextChoices(state, ballot)) {
      const { leader } = this.#replay.leaderOf(ballot);
      const message = leader.resume(ballotOf(ballot), val, editor, next === 0 ? undefined : ballotOf(next));
      const sent2a = including(state.sent2a, text2a(message));
      const began = this.#beginning(state, ballot);
      yield { action: `Resume(${ballot})`, state: { ...state, sent2a, began } };
    }
  }

  *#promise(state: ModelState, acceptor: number, ballot: Ballot): Generator<Step> {
    const role = this.#acceptor(state, acceptor);
    const answer = role.onPhase1a({ type: '1a', ballot });
    const action = `Phase1b(${acceptor + 1}, ${numberOf(ballot)})`;
    if (answer.type === 'nak') return this.#checkRefusal(state, acceptor, role.state, answer);
    const sent1b = including(state.sent1b, text1b(answer));
    if (sent1b === state.sent1b && isUnchanged(state, acceptor, role.state)) return;
    yield { action, state: { ...remember(state, acceptor, role.state), sent1b } };
  }

  *#accept(state: ModelState, acceptor: number, proposal: string): Generator<Step> {
    const { bal, message } = parse2a(proposal);
    const role = this.#acceptor(state, acceptor);
    const answer = role.onPhase2a(message);
    if (answer.type === 'nak') return this.#checkRefusal(state, acceptor, role.state, answer);
    if (answer.type === 'alarm')
      return checkContract(isUnchanged(state, acceptor, role.state), 'an alarm changes nothing');
    const sent2b = including(state.sent2b, text2b(answer));
    if (sent2b === state.sent2b && isUnchanged(state, acceptor, role.state)) return;
    const next = remember(state, acceptor, role.state);
    const learned = this.#replay.learnable(sent2b);
    yield { action: `Accept(${acceptor + 1}, ${bal})`, state: { ...next, sent2b, learned } };
  }

  #forget(state: ModelState, acceptor: number): Step {
    const zero = ballotOf(0);
    const lost = remember(state, acceptor, { promised: zero, accepted: zero, value: undefined });
    return { action: `Forget(${acceptor + 1})`, state: { ...lost, forgotten: state.forgotten + 1 } };
  }

  /** The cheap read: one query, the acceptors' answers, and what a reader makes of them. */
  *#query(state: ModelState): Generator<Step> {
    if (state.asked === 0) {
      const chosen = this.#bounds.trackTime ? highestChosen(state.sent2b, this.#bounds.quorum2) : 0;
      yield { action: 'Ask', state: { ...state, asked: chosen + 1 } };
      return;
    }
    for (const acceptor of this.#acceptors) {
      const { accepted, value } = this.#acceptor(state, acceptor).state;
      const answers = including(state.answers, textOfAnswer({ type: 'state', acceptor, accepted, value }));
      if (answers !== state.answers)
        yield { action: `Answer(${acceptor + 1})`, state: { ...state, answers } };
    }
    if (state.reads.some((read) => parseReport(read).bal === 0)) return;
    for (const read of this.#replay.returnable(state.answers)) {
      yield { action: 'Return', state: { ...state, reads: including(state.reads, read) } };
    }
  }

  #acceptor(state: ModelState, acceptor: number): caspaxos.AcceptorStateMachine<string> {
    const accepted = state.accepted[acceptor]!;
    const memory = {
      promised: ballotOf(state.promised[acceptor]!),
      accepted: ballotOf(accepted),
      value: accepted === 0 ? undefined : state.value[acceptor]!,
    };
    return new this.#roles.AcceptorStateMachine<string>(memory, acceptor);
  }

  /** A refusal changes nothing, tells the truth, and sends the leader above what was promised. */
  #checkRefusal(
    state: ModelState,
    acceptor: number,
    memory: Memory,
    nak: {
      readonly type: 'nak';
      readonly acceptor: number;
      readonly ballot: Ballot;
      readonly promised: Ballot;
    },
  ): void {
    checkContract(isUnchanged(state, acceptor, memory), 'a refusal changes nothing');
    checkContract(numberOf(nak.promised) === state.promised[acceptor], 'a refusal names what was promised');
    const { proposer, incarnation } = nak.ballot;
    const source = new this.#roles.BallotSource({ proposer, incarnation });
    const leader = new this.#roles.LeaderStateMachine<string>(source, this.#replay.quorum);
    const again = leader.startPhase1(nak).ballot;
    checkContract(compareBallots(again, nak.promised) > 0, 'the next attempt is above the refusal');
  }

  #edit(ballot: number, value: string | undefined): string {
    return this.#bounds.readers.has(ballot) ? (value ?? UNWRITTEN) : edited(value, ballot);
  }

  #nextChoices(state: ModelState, ballot: number): readonly number[] {
    if (!this.#bounds.oneRound) return NO_NEXT;
    const free = this.#ballots.filter(
      (next) => next > ballot && !state.sent1a.includes(String(next)) && !askedFor(state, next),
    );
    return [0, ...free];
  }

  #beginning(state: ModelState, ballot: number): readonly number[] {
    if (!this.#bounds.trackTime) return state.began;
    return state.began.with(ballot - 1, highestChosen(state.sent2b, this.#bounds.quorum2));
  }
}

const NO_NEXT: readonly number[] = [0];

type Memory = caspaxos.AcceptorState<string>;

function remember(state: ModelState, acceptor: number, memory: Memory): ModelState {
  return {
    ...state,
    promised: state.promised.with(acceptor, numberOf(memory.promised)),
    accepted: state.accepted.with(acceptor, numberOf(memory.accepted)),
    value: state.value.with(acceptor, memory.value ?? UNWRITTEN),
  };
}

function isUnchanged(state: ModelState, acceptor: number, memory: Memory): boolean {
  return (
    state.promised[acceptor] === numberOf(memory.promised) &&
    state.accepted[acceptor] === numberOf(memory.accepted) &&
    state.value[acceptor] === (memory.value ?? UNWRITTEN)
  );
}

function askedFor(state: ModelState, ballot: number): boolean {
  return state.sent2a.some((text) => parse2a(text).next === ballot);
}

/** What a phase-2 quorum accepted under one ballot, counted here without the help of the roles. */
export function chosenIn(sent2b: readonly string[], quorum2: number): readonly string[] {
  const voters = new Map<string, Set<number>>();
  for (const text of sent2b) {
    const { acc, bal, val } = parse2b(text);
    const report = `{"bal":${bal},"val":${val}}`;
    voters.set(report, (voters.get(report) ?? new Set()).add(acc));
  }
  return [...voters].flatMap(([report, acceptors]) => (acceptors.size >= quorum2 ? [report] : []));
}

function highestChosen(sent2b: readonly string[], quorum2: number): number {
  return Math.max(0, ...chosenIn(sent2b, quorum2).map((text) => (JSON.parse(text) as { bal: number }).bal));
}

/** The set with one more member; the same array if it was one already. */
export function including(set: readonly string[], member: string): readonly string[] {
  if (set.includes(member)) return set;
  return [...set, member].sort();
}
