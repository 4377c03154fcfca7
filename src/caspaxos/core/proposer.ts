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
  isZeroBallot,
  type NakMessage,
  type Phase1aMessage,
  type Phase1bResult,
  type Phase2aMessage,
  type Phase2bResult,
} from '../../protocol/index.ts';
import type { BallotSource } from './ballots.ts';
import { LeaderStateMachine } from './leader.ts';
import { LearnerStateMachine } from './learner.ts';
import { type AcceptorMask, everyone, maskOf, type QuorumSystem } from './quorum.ts';

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
    if (reply.type === 'nak') this.#ballots.observe(reply.promised);
    if (message !== this.#message) return;
    if (reply.type === '1b') this.#onPromise(reply);
    else if (reply.type === '2b') this.#onAcknowledged(reply);
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

  #onPromise(reply: Phase1bResult<V> & { type: '1b' }): void {
    if (this.#phase !== '1') return;
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
    this.#begin('2', message);
  }

  #onAcknowledged(reply: Phase2bResult<V> & { type: '2b' }): void {
    const message = this.#message as Phase2aMessage<V>;
    if (reply.next !== undefined) this.#notePromise(reply.acceptor, message);
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

  #onNo(acceptor: number, reply: { readonly type: string }): void {
    if (reply.type === 'nak') {
      this.#refused |= maskOf(acceptor);
      this.#nak = reply as NakMessage;
    } else {
      this.#failed |= maskOf(acceptor);
    }
    if (this.#phase !== '1' && this.#phase !== '2') return;
    const left = everyone(this.#quorum.size) & ~(this.#refused | this.#failed);
    const possible =
      this.#phase === '1' ? this.#quorum.isPhase1Quorum(left) : this.#quorum.isPhase2Quorum(left);
    const giveUp = !possible || (this.#policy.giveUp === 'first refusal' && reply.type === 'nak');
    if (giveUp) this.#lose();
  }

  #lose(): void {
    // Some acceptor may have accepted, or may yet: only if every single one has refused is that ruled out.
    if (this.#phase === '2' && this.#refused !== everyone(this.#quorum.size)) this.#uncertain = true;
    this.#phase = 'waiting';
    this.#message = undefined;
    this.#prepared = undefined;
    this.#port.wait(this.#attempt, this.#refused !== 0 ? 'conflict' : 'unavailable');
  }

  #finish(result: ProposalResult<V>): void {
    this.#phase = 'idle';
    this.#edit = undefined;
    this.#uncertain = false;
    // After a commit the message stays current: late acknowledgements may still complete the next ballot's promise.
    if (result.outcome !== 'committed') {
      this.#message = undefined;
      this.#prepared = undefined;
    }
    this.#port.finished(result);
  }
}
