/**
 * The proposer: drives the three roles for one register, one change at a time, over acceptors it cannot see.
 *
 *           ┌────────── retry ───────────┐
 *           ▼                            │
 *   idle ─start─▶ phase 1 ─lost──────▶ waiting
 *    ▲  │            │ quorum promised   ▲
 *    │  │ prepared   ▼                   │
 *    │  └────────▶ phase 2 ─lost─────────┘   (lost in phase 2: the outcome of that ballot is unknown)
 *    └──finished─────┘ quorum acknowledged
 *
 * An attempt is lost only when a quorum has become impossible, unless the policy gives up at the first refusal.
 * After an attempt lost in phase 2 the value may be chosen all the same, now or later, so from then on the editor is
 * told that it may be looking at its own work (`uncertain`), and the change can end as `unknown`.
 *
 * The host obeys three rules: a broadcast message goes to every acceptor; every acceptor's answer, or the failure to
 * get one, comes back exactly once through `onReply` with the message it answers; and after `wait` the host calls
 * `retry` when it sees fit. No timers, no I/O here: the simulator and the real process run this same class.
 */
import {
  assert,
  type Ballot,
  compareBallots,
  isBallot,
  isZeroBallot,
  type NakMessage,
  type Phase1aMessage,
  type Phase1bMessage,
  type Phase1bResult,
  type Phase2aMessage,
  type Phase2bResult,
  sameBallot,
} from '../../protocol/index.ts';
import type { BallotSource } from './ballots.ts';
import { LeaderStateMachine } from './leader.ts';
import { LearnerStateMachine } from './learner.ts';
import { type AcceptorMask, everyone, maskOf, type QuorumSystem } from './quorum.ts';
import { type Doubt, Testimony } from './testimony.ts';

/**
 * Pure. Returns the very object it was given when nothing changes. `uncertain`: an earlier attempt of this same
 * change may already be part of `current`.
 */
export type Edit<V> = (current: V | undefined, uncertain: boolean) => V | undefined;

export type ProposalResult<V> =
  | {
      readonly outcome: 'committed';
      readonly value: V | undefined;
      readonly changed: boolean;
      readonly rounds: 1 | 2;
    }
  | { readonly outcome: 'rejected' }
  | { readonly outcome: 'unknown' };

export type LostBecause = 'conflict' | 'unavailable';

export interface ProposerPort<V> {
  broadcast(message: Phase1aMessage | Phase2aMessage<V>): void;
  /** Attempt number `attempt` (from 1) was lost. Call `retry` later, or `cancel`. */
  wait(attempt: number, because: LostBecause): void;
  finished(result: ProposalResult<V>): void;
  /** Whether it is a value that proposers write. */
  isReadable?(value: V): boolean;
  /** What that acceptor said is not believed, or not yet (`testimony.ts`). */
  doubt?(acceptor: number, doubt: Doubt): void;
}

export interface ProposerPolicy {
  /** Ask for the next ballot's promise along with each phase 2, so that the next change needs one round trip. */
  readonly prepareAhead: boolean;
  readonly giveUp: 'first refusal' | 'quorum impossible';
}

export const DEFAULT_PROPOSER_POLICY: ProposerPolicy = { prepareAhead: true, giveUp: 'quorum impossible' };

/** No usable answer came from an acceptor. */
export interface NoAnswer {
  readonly type: 'failed' | 'stale-set';
}

const NOTHING: NoAnswer = { type: 'failed' };

/** An acceptor that was the only one to refuse so many attempts in a row no longer ends one by itself. */
const LONE_REFUSALS = 8;

/** A ballot that a quorum has promised, and the value it was promised on top of. Used once (rule 2). */
interface Prepared<V> {
  readonly ballot: Ballot;
  readonly value: V;
}

export class RegisterProposer<V> {
  readonly #ballots: BallotSource;
  readonly #quorum: QuorumSystem;
  readonly #port: ProposerPort<V>;
  readonly #policy: ProposerPolicy;
  readonly #leader: LeaderStateMachine<V>;
  readonly #learner: LearnerStateMachine<V>;
  readonly #testimony: Testimony<V>;

  #phase: 'idle' | 'waiting' | '1' | '2' = 'idle';
  #edit: Edit<V> | undefined;
  #force = false;
  #changed = false;
  #attempt = 0;
  #rounds: 1 | 2 = 2;
  #uncertain = false;
  #message: Phase1aMessage | Phase2aMessage<V> | undefined;
  #refused: AcceptorMask = 0;
  #failed: AcceptorMask = 0;
  #nak: NakMessage | undefined;
  #next: Ballot | undefined;
  #promisedNext: AcceptorMask = 0;
  #prepared: Prepared<V> | undefined;
  /** Somebody said something else than others about one ballot: all are heard in this change from now on. */
  #isCareful = false;
  /** Who alone refused the last attempts, and how many. */
  #loner: AcceptorMask = 0;
  #loneRefusals = 0;

  constructor(
    ballots: BallotSource,
    quorum: QuorumSystem,
    port: ProposerPort<V>,
    policy: ProposerPolicy = DEFAULT_PROPOSER_POLICY,
  ) {
    this.#ballots = ballots;
    this.#quorum = quorum;
    this.#port = port;
    this.#policy = policy;
    this.#leader = new LeaderStateMachine(ballots, quorum);
    this.#learner = new LearnerStateMachine(quorum);
    this.#testimony = new Testimony(ballots, quorum, (value) => port.isReadable?.(value) ?? true);
  }

  get busy(): boolean {
    return this.#phase !== 'idle';
  }

  get attempt(): number {
    return this.#attempt;
  }

  get phase(): 'idle' | 'waiting' | '1' | '2' {
    return this.#phase;
  }

  /** Whether the outcome could already be anything but `rejected`. */
  get uncertain(): boolean {
    return this.#uncertain || this.#phase === '2';
  }

  /**
   * Begins a change. With `force`, phase 2 runs even when the edit changes nothing (rewriting a register, rule 9);
   * with `uncertain`, another proposer object has already tried this change and does not know what became of it.
   */
  start(edit: Edit<V>, options: { force?: boolean; uncertain?: boolean } = {}): void {
    assert(this.#phase === 'idle', 'one change at a time for one register (rule 10)');
    this.#edit = edit;
    this.#force = options.force ?? false;
    this.#attempt = 1;
    this.#uncertain = options.uncertain ?? false;
    this.#nak = undefined;
    const prepared = this.#prepared;
    this.#prepared = undefined;
    if (prepared === undefined) this.#startPhase1();
    else this.#resume(prepared);
  }

  /** Tries again after `wait`, with a new ballot from phase 1. */
  retry(): void {
    assert(this.#phase === 'waiting', 'retry only after wait');
    this.#attempt += 1;
    this.#startPhase1();
  }

  /** Ends the change now: a deadline passed, or the caller lost interest. */
  cancel(): void {
    assert(this.#phase !== 'idle', 'nothing to cancel');
    this.#finish({ outcome: this.uncertain ? 'unknown' : 'rejected' });
  }

  /** `message` is the one that `acceptor` answers or failed to answer. */
  onReply(
    acceptor: number,
    message: Phase1aMessage | Phase2aMessage<V>,
    reply: Phase1bResult<V> | Phase2bResult<V> | NoAnswer,
  ): void {
    const isSound = answers(reply, acceptor, message);
    if (isSound && reply.type === 'nak' && this.#ballots.isNear(reply.promised))
      this.#ballots.observe(reply.promised);
    if (message !== this.#message) return;
    if (!isSound) {
      this.#port.doubt?.(acceptor, 'impossible');
      return this.#onNo(acceptor, NOTHING);
    }
    if (reply.type === '1b') this.#onPromise(acceptor, reply);
    else if (reply.type === '2b') this.#onAcknowledged(reply);
    else if (reply.type === 'nak') this.#onRefusal(acceptor, reply);
    else this.#onNo(acceptor, reply);
  }

  #startPhase1(): void {
    this.#rounds = 2;
    const message = this.#leader.startPhase1(this.#nak);
    this.#next = this.#nextBallot();
    this.#begin('1', message);
  }

  #resume(prepared: Prepared<V>): void {
    this.#rounds = 1;
    this.#begin('2', this.#leader.resume(prepared.ballot, prepared.value, this.#editor, this.#nextBallot()));
  }

  #begin(phase: '1' | '2', message: Phase1aMessage | Phase2aMessage<V>): void {
    this.#phase = phase;
    this.#message = message;
    this.#refused = 0;
    this.#failed = 0;
    this.#promisedNext = 0;
    this.#testimony.begin(phase === '1' && this.#isCareful);
    this.#port.broadcast(message);
  }

  readonly #editor = (current: V | undefined): V => {
    const edited = this.#edit!(current, this.#uncertain);
    this.#changed = edited !== current;
    return edited as V;
  };

  /** A refusal in this change says that somebody else is at work on the register. */
  #nextBallot(): Ballot | undefined {
    return this.#policy.prepareAhead && this.#nak === undefined ? this.#ballots.next() : undefined;
  }

  /** Asking ahead is for those who are alone: the value they edit is their own, or there is none yet. */
  #isAlone(accepted: Ballot): boolean {
    const found = compareBallots(accepted, this.#leader.found) > 0 ? accepted : this.#leader.found;
    return isZeroBallot(found) || this.#ballots.owns(found);
  }

  #onPromise(acceptor: number, reply: Phase1bMessage<V>): void {
    if (this.#phase !== '1') return;
    const doubt = this.#testimony.doubtOfPromise(reply);
    if (doubt === undefined) {
      if (!this.#testimony.isCareful) return this.#takePromise(reply);
      this.#testimony.hear(reply);
      return this.#judge();
    }
    this.#port.doubt?.(acceptor, doubt);
    if (doubt === 'two values') {
      this.#isCareful = true;
      return this.#lose();
    }
    if (doubt === 'value unreadable') this.#testimony.setAside(acceptor, reply);
    return this.#onNo(acceptor, NOTHING);
  }

  /** In a careful attempt, when nobody is left to be heard. */
  #judge(): void {
    const open = everyone(this.#quorum.size) & ~(this.#refused | this.#failed | this.#testimony.heardFrom);
    if (open !== 0) return;
    const message = this.#message;
    for (const promise of this.#testimony.credible()) {
      if (this.#message === message) this.#takePromise(promise);
    }
    // Those who contradict each other are not believed, and there is no quorum without them.
    if (this.#message === message && this.#phase === '1') this.#lose();
  }

  #takePromise(reply: Phase1bMessage<V>): void {
    const next = this.#isAlone(reply.accepted) ? this.#next : undefined;
    const message = this.#leader.startPhase2(reply, this.#editor, next);
    if (message === undefined) return;
    const mustWrite = this.#changed || this.#uncertain || (this.#force && message.value !== undefined);
    if (!mustWrite && this.#leader.quorumAgreed) {
      // Rule 5: a quorum holds this value under one ballot, so it is chosen, and the edit adds nothing to it. An
      // earlier attempt of this change that may be lying on some acceptor forbids it: only phase 2 buries that.
      this.#finish({ outcome: 'committed', value: message.value, changed: false, rounds: 1 });
      return;
    }
    assert(message.value !== undefined, 'only a register that a quorum agrees is empty can be left empty');
    // Found on acceptors that could not be done without. Its editor has found out too, and changed nothing.
    if (this.#port.isReadable?.(message.value) === false)
      return this.#finish({ outcome: this.#uncertain ? 'unknown' : 'rejected' });
    this.#begin('2', message);
  }

  #onAcknowledged(reply: Phase2bResult<V> & { type: '2b' }): void {
    const message = this.#message as Phase2aMessage<V>;
    if (reply.next !== undefined && message.next !== undefined) this.#notePromise(reply.acceptor, message);
    if (this.#phase !== '2') return;
    const learned = this.#learner.learn(reply);
    if (learned === undefined) return;
    this.#finish({
      outcome: 'committed',
      value: learned.value,
      changed: this.#changed,
      rounds: this.#rounds,
    });
  }

  /** Counts promises of the next ballot; with flexible quorums phase 1 may need more of them than phase 2 does. */
  #notePromise(acceptor: number, message: Phase2aMessage<V>): void {
    if (this.#quorum.isPhase1Quorum(this.#promisedNext)) return;
    this.#promisedNext |= maskOf(acceptor);
    if (!this.#quorum.isPhase1Quorum(this.#promisedNext)) return;
    this.#prepared = { ballot: message.next!, value: message.value };
  }

  #onRefusal(acceptor: number, reply: NakMessage): void {
    const doubt = this.#testimony.doubtOfRefusal(reply);
    if (doubt === undefined) return this.#onNo(acceptor, reply);
    this.#port.doubt?.(acceptor, doubt);
    if (doubt === 'ballot far ahead') this.#testimony.setAside(acceptor, reply);
    return this.#onNo(acceptor, NOTHING);
  }

  #onNo(acceptor: number, reply: NoAnswer | NakMessage | { readonly type: 'alarm' }): void {
    if (reply.type === 'nak') {
      this.#refused |= maskOf(acceptor);
      this.#nak = reply;
    } else {
      this.#failed |= maskOf(acceptor);
    }
    if (this.#phase !== '1' && this.#phase !== '2') return;
    if (reply.type === 'nak' && this.#endsAttempt(acceptor)) return this.#lose();
    if (this.#isPossible) {
      if (this.#testimony.isCareful) this.#judge();
      return;
    }
    const promises = this.#phase === '1' ? this.#testimony.takePromises() : [];
    if (promises.length === 0) return this.#lose();
    for (const promise of promises) this.#failed &= ~maskOf(promise.acceptor);
    const message = this.#message;
    for (const promise of promises) {
      if (this.#message === message && this.#phase === '1') this.#takePromise(promise);
    }
    if (this.#message === message && this.#phase === '1' && !this.#isPossible) this.#lose();
  }

  get #isPossible(): boolean {
    const left = everyone(this.#quorum.size) & ~(this.#refused | this.#failed);
    return this.#phase === '1' ? this.#quorum.isPhase1Quorum(left) : this.#quorum.isPhase2Quorum(left);
  }

  /** By its refusal alone, as the policy has it; but nobody can refuse for ever what all others promise. */
  #endsAttempt(acceptor: number): boolean {
    if (this.#policy.giveUp !== 'first refusal') return false;
    return this.#loner !== maskOf(acceptor) || this.#loneRefusals < LONE_REFUSALS;
  }

  #lose(): void {
    // Some acceptor may have accepted, or may yet: only if every single one has refused is that ruled out.
    if (this.#phase === '2' && this.#refused !== everyone(this.#quorum.size)) this.#uncertain = true;
    for (const nak of this.#testimony.neededRefusals(this.#failed)) {
      this.#ballots.observe(nak.promised);
      this.#nak = nak;
    }
    const isLone = this.#refused !== 0 && this.#refused === this.#loner;
    this.#loneRefusals = isLone ? this.#loneRefusals + 1 : 1;
    this.#loner = this.#refused;
    this.#phase = 'waiting';
    this.#message = undefined;
    this.#prepared = undefined;
    this.#port.wait(this.#attempt, this.#refused !== 0 ? 'conflict' : 'unavailable');
  }

  #finish(result: ProposalResult<V>): void {
    this.#phase = 'idle';
    this.#edit = undefined;
    this.#uncertain = false;
    this.#isCareful = false;
    // After a commit the message stays current: late acknowledgements may still complete the next ballot's promise.
    if (result.outcome !== 'committed') {
      this.#message = undefined;
      this.#prepared = undefined;
    }
    this.#port.finished(result);
  }
}

/** Whether it is something that this acceptor can say to this message. */
function answers<V>(
  reply: Phase1bResult<V> | Phase2bResult<V> | NoAnswer,
  acceptor: number,
  { type, ballot }: Phase1aMessage | Phase2aMessage<V>,
): boolean {
  if (!('ballot' in reply)) return true;
  if (reply.type === (type === '1a' ? '2b' : '1b')) return false;
  if (reply.type === '1b' && !isBallot(reply.accepted)) return false;
  if (reply.type === 'nak' && !isBallot(reply.promised)) return false;
  return reply.acceptor === acceptor && sameBallot(reply.ballot, ballot);
}
