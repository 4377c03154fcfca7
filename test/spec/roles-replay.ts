/**
 * Leaders, readers and learners, rebuilt from the messages that were sent. What a real one does depends only on which messages
 * reached it in which order, so every order is tried: for a leader all sequences of the promises for its ballot, with
 * repetitions, and short ones mixed with promises for other ballots; for a learner all of its states that any
 * sequence of acknowledgements leads to.
 *
 * A leader that has already proposed is one whose past outcomes are those in the state. The next message may then
 * bring a further outcome only if the class lets it: that a ballot is used once (rule 2) is the class's doing.
 */
import type * as caspaxos from 'baton/caspaxos';
import type { Phase1aMessage } from 'baton/protocol';
import type { Bounds } from './bounds.ts';
import type { ModelState, RoleClasses } from './roles-model.ts';
import {
  ballotOf,
  edited,
  numberOf,
  parse1b,
  parse2a,
  parse2b,
  parseAnswer,
  parseReport,
  type Sent1b,
  text2a,
  textOfReport,
  UNWRITTEN,
} from './wire.ts';

export interface Outcome {
  /** `read`: the value was returned at once (rule 5); otherwise it is proposed. */
  readonly kind: 'proposal' | 'read';
  readonly text: string;
}

/** What the roles owe the model at every step, beyond the invariants of states. */
export class RoleContractError extends Error {}

export function checkContract(holds: boolean, contract: string): void {
  if (!holds) throw new RoleContractError(contract);
}

export class RolesReplay {
  readonly quorum: caspaxos.QuorumSystem;
  readonly #roles: RoleClasses;
  readonly #bounds: Bounds;
  readonly #outcomes = new Map<string, readonly Outcome[]>();
  readonly #learnable = new Map<string, readonly string[]>();
  readonly #returnable = new Map<string, readonly string[]>();

  constructor(roles: RoleClasses, bounds: Bounds) {
    this.#roles = roles;
    this.#bounds = bounds;
    this.quorum = quorumOf(roles, bounds);
  }

  /** A new leader that has just begun this ballot. */
  leaderOf(ballot: number): { leader: caspaxos.LeaderStateMachine<string>; started: Phase1aMessage } {
    const { counter, proposer, incarnation } = ballotOf(ballot);
    const source = new this.#roles.BallotSource({ proposer, incarnation }, () => counter);
    const leader = new this.#roles.LeaderStateMachine<string>(source, this.quorum);
    return { leader, started: leader.startPhase1() };
  }

  /** What the leader of a ballot may do next, given what it did already. */
  outcomesOf(ballot: number, state: ModelState, nextChoices: readonly number[]): readonly Outcome[] {
    const done = [
      ...state.sent2a.filter((text) => parse2a(text).bal === ballot),
      ...state.reads.filter((text) => parseReport(text).bal === ballot),
    ];
    const key = `${ballot};${nextChoices.join()};${done.join()};${state.sent1b.join()}`;
    let outcomes = this.#outcomes.get(key);
    if (outcomes === undefined) {
      const found = nextChoices.flatMap((next) => this.#tryAll(ballot, state.sent1b, done, next));
      outcomes = [...new Map(found.map((outcome) => [outcome.text, outcome])).values()];
      this.#outcomes.set(key, outcomes);
    }
    return outcomes;
  }

  #tryAll(ballot: number, sent1b: readonly string[], done: readonly string[], next: number): Outcome[] {
    const all = sent1b.map(parse1b);
    const own = all.filter(({ bal }) => bal === ballot);
    const found: Outcome[] = [];
    const tryOne = (sequence: readonly Sent1b[]): void => {
      const outcome = this.#play(ballot, sequence, done, next);
      if (outcome !== undefined) found.push(outcome);
    };
    forEachSequence(own, Math.min(own.length, this.#bounds.acceptors) + 1, tryOne);
    if (own.length < all.length) forEachSequence(all, this.#bounds.quorum1, tryOne);
    return found;
  }

  /** What the last message of the sequence brings about, if those before it brought about what is done already. */
  #play(
    ballot: number,
    sequence: readonly Sent1b[],
    done: readonly string[],
    next: number,
  ): Outcome | undefined {
    const { leader } = this.leaderOf(ballot);
    const reads = this.#bounds.readers.has(ballot);
    const editor = (value: string | undefined): string =>
      reads ? (value ?? UNWRITTEN) : edited(value, ballot);
    const before = new Set<string>();
    let last: Outcome | undefined;
    for (const { message } of sequence) {
      if (last !== undefined) before.add(last.text);
      const proposal = leader.startPhase2(message, editor, next === 0 ? undefined : ballotOf(next));
      if (proposal === undefined) last = undefined;
      else if (reads && leader.quorumAgreed) {
        last = { kind: 'read', text: textOfReport({ bal: ballot, val: proposal.value }) };
      } else last = { kind: 'proposal', text: text2a(proposal) };
    }
    const consistent = before.size === done.length && done.every((text) => before.has(text));
    return consistent ? last : undefined;
  }

  /** Whether a phase-1 quorum has promised `next` together with its acknowledgement of this proposal. */
  isPrepared(sent2b: readonly string[], ballot: number, value: string, next: number): boolean {
    let mask = 0;
    for (const text of sent2b) {
      const sent = parse2b(text);
      if (sent.bal === ballot && sent.val === value && sent.next === next) mask |= 1 << (sent.acc - 1);
    }
    return this.quorum.isPhase1Quorum(mask);
  }

  /** All that a cheap read can return, whichever of the answers reach it, in whatever order. */
  returnable(answers: readonly string[]): readonly string[] {
    const key = answers.join();
    let reads = this.#returnable.get(key);
    if (reads === undefined) {
      const found = new Set<string>();
      forEachSequence(answers, this.#bounds.acceptors + 1, (sequence) => {
        const read = this.#read(sequence);
        if (read !== undefined) found.add(read);
      });
      this.#returnable.set(key, (reads = [...found]));
    }
    return reads;
  }

  /** Nobody tells a reader anything more once it has given a verdict, and give one it must. */
  #read(sequence: readonly string[]): string | undefined {
    const reader = new this.#roles.QuorumReader(this.quorum);
    const answered = new Set<number>();
    for (const reply of sequence.map(parseAnswer)) {
      const verdict = reader.onState(reply);
      if (verdict?.verdict === 'agreed') return textOfReport({ bal: 0, val: verdict.value ?? UNWRITTEN });
      if (verdict !== undefined) return undefined;
      answered.add(reply.acceptor);
    }
    checkContract(answered.size < this.#bounds.acceptors, 'a reader whom everybody answered has a verdict');
    return undefined;
  }

  /** All that a learner can report, whichever of the acknowledgements reach it, in whatever order. */
  learnable(sent2b: readonly string[]): readonly string[] {
    const key = sent2b.join();
    let reports = this.#learnable.get(key);
    if (reports === undefined) this.#learnable.set(key, (reports = this.#learnAll(sent2b)));
    return reports;
  }

  #learnAll(sent2b: readonly string[]): readonly string[] {
    const reports = new Set<string>();
    const states = new Map<string, caspaxos.LearnerState>();
    const open = [new this.#roles.LearnerStateMachine<string>(this.quorum).state];
    for (let state = open.pop(); state !== undefined; state = open.pop()) {
      const key = `${numberOf(state.ballot)} ${state.acknowledged}`;
      if (states.has(key)) continue;
      states.set(key, state);
      for (const text of sent2b) {
        const learner = new this.#roles.LearnerStateMachine<string>(this.quorum, state);
        const report = learner.learn(parse2b(text).message);
        if (report) reports.add(textOfReport({ bal: numberOf(report.ballot), val: report.value }));
        open.push(learner.state);
      }
    }
    return [...reports].sort();
  }
}

/** The class of flexible quorums, unless the bounds are ones that it rightly refuses. */
function quorumOf(roles: RoleClasses, { acceptors, quorum1, quorum2 }: Bounds): caspaxos.QuorumSystem {
  if (quorum1 + quorum2 > acceptors) return roles.flexible(acceptors, quorum1, quorum2);
  const count = (mask: number): number => (mask === 0 ? 0 : (mask & 1) + count(mask >>> 1));
  return {
    size: acceptors,
    isPhase1Quorum: (mask) => count(mask) >= quorum1,
    isPhase2Quorum: (mask) => count(mask) >= quorum2,
    description: 'too few',
  };
}

function forEachSequence<T>(of: readonly T[], longest: number, use: (sequence: readonly T[]) => void): void {
  const grow = (sequence: readonly T[]): void => {
    if (sequence.length > 0) use(sequence);
    if (sequence.length < longest) for (const item of of) grow([...sequence, item]);
  };
  grow([]);
}
