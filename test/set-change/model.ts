/**
 * Changing the set of acceptors (DESIGN: CASPaxos rule 9), explored: every interleaving of one change of the set with
 * somebody who slept through it and a proposer of the new set, over stores that can only compare and swap single
 * documents. The roles, the records, the quorums and the configurations are the library's own code.
 *
 *   sleeper   works with set 1 and its acceptors; changes the register, which may not be there yet
 *   reader    works with set 1; asks for the register (in a run of its own)
 *   mover     makes set 2 known, lists the registers of those who know, rewrites what it finds under both sets
 *   settler   works with set 3, the new acceptors alone, once the mover is done
 *
 * A step is what a store does atomically: replace one document, read the identity document, list. Messages may be delayed for
 * ever, which covers their loss.
 */
import {
  answer,
  BallotSource,
  blocks,
  type Configuration,
  EMPTY_RECORD,
  isProof,
  joint,
  LeaderStateMachine,
  maskOfMembers,
  membersOf,
  QUERY,
  quorumsOf,
  quorumsOfSet,
  type RegisterRecord,
  type RegisterReply,
  settled,
} from 'baton/caspaxos';
import type { Ballot } from 'baton/protocol';

/** What may be taken out, to see that the explorer notices. */
export type Guard =
  | 'look again after loading'
  | 'rewrite'
  | 'list those who know'
  | 'record remembers its set'
  | 'enough must know';

export interface Setting {
  readonly asleep: 'sleeper' | 'reader';
  /** Whether the register is there from the beginning, accepted by the first two of the old acceptors. */
  readonly isWritten: boolean;
  readonly old: readonly string[];
  readonly next: readonly string[];
  /** Ballot counters: which of the proposers comes first. */
  readonly ballots: { readonly sleeper: number; readonly mover: number; readonly settler: number };
  readonly without?: Guard;
}

/** One message to one acceptor: not sent, on its way back (applied, identity not yet looked at), or answered. */
type Slot = null | { readonly pending: boolean; readonly reply: RegisterReply };

export interface Proposal {
  readonly promises: readonly Slot[];
  readonly value: string | null;
  readonly accepted: readonly Slot[];
  /** The acceptors whose document is as this proposer's process last saw it. */
  readonly known: readonly string[];
}

export interface SetChangeState {
  readonly records: Readonly<Record<string, RegisterRecord>>;
  /** The set that each acceptor's identity document names. */
  readonly sets: Readonly<Record<string, number>>;
  readonly sleeper: Proposal;
  readonly reader: { readonly answers: readonly Slot[]; readonly beganAfterSettler: boolean | null };
  readonly mover: Proposal & {
    readonly step: 'announcing' | 'listing' | 'rewriting' | 'done';
    readonly aware: readonly string[];
    readonly listed: readonly string[];
    readonly found: boolean;
  };
  readonly settler: Proposal;
}

interface Actor {
  readonly name: 'sleeper' | 'mover' | 'settler';
  readonly configuration: Configuration;
  readonly ballot: Ballot;
  readonly edit: (value: string | undefined) => string | undefined;
}

export class SetChangeModel {
  readonly initial: SetChangeState;
  readonly #setting: Setting;
  readonly #first: Configuration;
  readonly #both: Configuration;
  readonly #sleeper: Actor;
  readonly #mover: Actor;
  readonly #settler: Actor;

  constructor(setting: Setting) {
    this.#setting = setting;
    const members = (ids: readonly string[]) => ids.map((id) => ({ id, url: id }));
    this.#first = { cluster: 'c', number: 1, acceptors: members(setting.old) };
    this.#both = joint(this.#first, { acceptors: members(setting.next) });
    const append = (who: string) => (value: string | undefined) => `${value ?? ''}${who}`;
    const { ballots } = setting;
    this.#sleeper = actor('sleeper', this.#first, ballots.sleeper, append('s'));
    this.#mover = actor('mover', this.#both, ballots.mover, (value) => value);
    this.#settler = actor('settler', settled(this.#both), ballots.settler, append('t'));
    this.initial = this.#initial();
  }

  *successors(state: SetChangeState): Generator<{ action: string; state: SetChangeState }> {
    if (this.#setting.asleep === 'sleeper') yield* this.#propose(state, this.#sleeper);
    else yield* this.#read(state);
    if (state.mover.step === 'rewriting') yield* this.#propose(state, this.#mover);
    else if (state.mover.step !== 'done') yield* this.#move(state);
    if (state.mover.step === 'rewriting' && this.#isRewritten(state)) {
      yield { action: 'mover settles', state: { ...state, mover: { ...state.mover, step: 'done' } } };
    }
    if (state.mover.step === 'done') yield* this.#propose(state, this.#settler);
  }

  /** The value that a proposer has seen accepted by a quorum of the set it works with. */
  committed(state: SetChangeState, name: 'sleeper' | 'settler'): string | undefined {
    const { configuration } = name === 'sleeper' ? this.#sleeper : this.#settler;
    const { accepted, value } = state[name];
    const isLearned = quorumsOf(configuration).isPhase2Quorum(maskOf(accepted, '2b'));
    return isLearned ? (value ?? undefined) : undefined;
  }

  /** What the reader returned: undefined while it has nothing to return. */
  read(state: SetChangeState): { readonly value: string } | undefined {
    const { answers } = state.reader;
    const quorum = quorumsOf(this.#first);
    for (const slot of answers) {
      if (slot === null || slot.pending || slot.reply.type !== 'state') continue;
      const { accepted, value } = slot.reply;
      const agreeing = answers.map((other) =>
        other?.reply.type === 'state' && other.reply.accepted.counter === accepted.counter ? other : null,
      );
      if (isProof(quorum, accepted, maskOf(agreeing, 'state'))) return { value: value ?? '' };
    }
    return undefined;
  }

  #initial(): SetChangeState {
    const ids = [...new Set([...this.#setting.old, ...this.#setting.next])];
    const each = <T>(value: T): Record<string, T> => Object.fromEntries(ids.map((id) => [id, value]));
    const sets = Object.fromEntries(ids.map((id) => [id, this.#setting.old.includes(id) ? 1 : 0]));
    const written = Object.fromEntries(this.#setting.old.slice(0, 2).map((id) => [id, WRITTEN]));
    return {
      records: { ...each(EMPTY_RECORD), ...(this.#setting.isWritten ? written : {}) },
      sets,
      sleeper: emptyProposal(this.#first),
      reader: { answers: this.#first.acceptors.map(() => null), beganAfterSettler: null },
      mover: { ...emptyProposal(this.#both), step: 'announcing', aware: [], listed: [], found: false },
      settler: emptyProposal(this.#settler.configuration),
    };
  }

  /** Steps 2 and 3 of the mover: make the set known, then list. */
  *#move(state: SetChangeState): Generator<{ action: string; state: SetChangeState }> {
    const { mover } = state;
    if (mover.step === 'announcing') {
      for (const id of this.#setting.old) {
        if (mover.aware.includes(id)) continue;
        const aware = [...mover.aware, id].sort();
        yield {
          action: `${id} knows set 2`,
          state: { ...state, sets: { ...state.sets, [id]: 2 }, mover: { ...mover, aware } },
        };
      }
      if (this.#enoughKnow(mover.aware))
        yield { action: 'mover lists', state: { ...state, mover: { ...mover, step: 'listing' } } };
      return;
    }
    const asked =
      this.#setting.without === 'list those who know' ? this.#setting.old.slice(0, 2) : mover.aware;
    for (const id of asked) {
      if (mover.listed.includes(id)) continue;
      const listed = [...mover.listed, id].sort();
      const found = mover.found || state.records[id]!.promised.counter > 0;
      yield { action: `mover lists ${id}`, state: { ...state, mover: { ...mover, listed, found } } };
    }
    if (mover.listed.length < asked.length) return;
    const step = mover.found && this.#setting.without !== 'rewrite' ? 'rewriting' : 'done';
    yield { action: `mover goes on: ${step}`, state: { ...state, mover: { ...mover, step } } };
  }

  #enoughKnow(aware: readonly string[]): boolean {
    if (this.#setting.without === 'enough must know') return aware.length > 0;
    const members = membersOf(this.#first);
    const mask = maskOfMembers(members, new Set(aware));
    const old = quorumsOfSet(this.#first, members);
    return old.isPhase1Quorum(mask) && blocks(old, mask);
  }

  #isRewritten(state: SetChangeState): boolean {
    const quorum = quorumsOf(this.#both);
    if (quorum.isPhase2Quorum(maskOf(state.mover.accepted, '2b'))) return true;
    // Nothing was ever accepted: there is nothing to rewrite.
    const empty = state.mover.promises.map((slot) =>
      slot?.reply.type === '1b' && slot.reply.accepted.counter === 0 ? slot : null,
    );
    return state.mover.value === null && quorum.isPhase1Quorum(maskOf(empty, '1b'));
  }

  *#propose(state: SetChangeState, who: Actor): Generator<{ action: string; state: SetChangeState }> {
    const proposal = state[who.name];
    for (const [index, { id }] of membersOf(who.configuration).entries()) {
      for (const phase of ['promises', 'accepted'] as const) {
        // A late 1a could only make its acceptor refuse more: once there is a proposal it is left out.
        if ((phase === 'accepted') === (proposal.value === null)) continue;
        const slot = proposal[phase][index]!;
        const action = `${who.name} ${phase === 'promises' ? '1a' : '2a'} ${id}`;
        if (slot === null) yield { action, state: this.#apply(state, who, phase, index, id) };
        else if (slot.pending)
          yield { action: `${action} looks again`, state: this.#lookAgain(state, who, phase, index, id) };
      }
    }
    if (proposal.value === null) {
      const value = chosenBy(who, proposal.promises);
      if (value !== undefined)
        yield {
          action: `${who.name} proposes ${value}`,
          state: { ...state, [who.name]: { ...proposal, value } },
        };
    }
  }

  /** The document is replaced. Whether the identity must be looked at again depends on whether it was known. */
  #apply(
    state: SetChangeState,
    who: Actor,
    phase: 'promises' | 'accepted',
    index: number,
    id: string,
  ): SetChangeState {
    const proposal = state[who.name];
    const message =
      phase === 'promises'
        ? ({ type: '1a', ballot: who.ballot } as const)
        : ({ type: '2a', ballot: who.ballot, value: proposal.value! } as const);
    const before = state.records[id]!;
    const answered = answer(before, { key: 'k', set: who.configuration.number, message }, index);
    const forgets = this.#setting.without === 'record remembers its set';
    const record = forgets ? { ...answered.record, set: 0 } : answered.record;
    // Nobody knows a newer set than the mover and the settler: only the sleeper's second look can make a difference.
    const looksAgain = who.name === 'sleeper' && this.#setting.without !== 'look again after loading';
    const pending = looksAgain && !proposal.known.includes(id);
    const slot: Slot = { pending, reply: answered.reply };
    const others = answered.record === before ? state : forget(state, id);
    return {
      ...others,
      records: { ...state.records, [id]: record },
      [who.name]: {
        ...others[who.name],
        [phase]: proposal[phase].with(index, slot),
        known: looksAgain ? [...new Set([...proposal.known, id])].sort() : [],
      },
    };
  }

  #lookAgain(
    state: SetChangeState,
    who: Actor,
    phase: 'promises' | 'accepted',
    index: number,
    id: string,
  ): SetChangeState {
    const proposal = state[who.name];
    const slot = proposal[phase][index]!;
    const isStale = state.sets[id]! > who.configuration.number;
    const reply: RegisterReply = isStale
      ? { type: 'stale-set', acceptor: index, set: state.sets[id]! }
      : slot.reply;
    const known = isStale ? proposal.known.filter((other) => other !== id) : proposal.known;
    return {
      ...state,
      [who.name]: { ...proposal, [phase]: proposal[phase].with(index, { pending: false, reply }), known },
    };
  }

  *#read(state: SetChangeState): Generator<{ action: string; state: SetChangeState }> {
    const { reader } = state;
    const began = reader.beganAfterSettler ?? this.committed(state, 'settler') !== undefined;
    for (const [index, { id }] of this.#first.acceptors.entries()) {
      const slot = reader.answers[index]!;
      if (slot === null) {
        const { reply } = answer(state.records[id]!, { key: 'k', set: 1, message: QUERY }, index);
        const pending = this.#setting.without !== 'look again after loading';
        const answers = reader.answers.with(index, { pending, reply });
        yield {
          action: `reader asks ${id}`,
          state: { ...state, reader: { answers, beganAfterSettler: began } },
        };
      } else if (slot.pending) {
        const isStale = state.sets[id]! > 1;
        const reply: RegisterReply = isStale ? { type: 'stale-set', acceptor: index, set: 2 } : slot.reply;
        const answers = reader.answers.with(index, { pending: false, reply });
        yield { action: `reader looks again at ${id}`, state: { ...state, reader: { ...reader, answers } } };
      }
    }
  }
}

function actor(
  name: Actor['name'],
  configuration: Configuration,
  counter: number,
  edit: Actor['edit'],
): Actor {
  return { name, configuration, ballot: { counter, proposer: name, incarnation: 1 }, edit };
}

function emptyProposal(configuration: Configuration): Proposal {
  const none = membersOf(configuration).map(() => null);
  return { promises: none, value: null, accepted: none, known: [] };
}

/** What the real leader makes of the promises that have arrived, or undefined while it waits for more. */
function chosenBy({ configuration, ballot, edit }: Actor, promises: readonly Slot[]): string | undefined {
  const leader = new LeaderStateMachine<string>(
    new BallotSource({ proposer: ballot.proposer, incarnation: 1 }, () => ballot.counter),
    quorumsOf(configuration),
  );
  leader.startPhase1();
  for (const slot of promises) {
    if (slot === null || slot.pending || slot.reply.type !== '1b') continue;
    const message = leader.startPhase2(slot.reply, (value) => edit(value) as string);
    if (message !== undefined) return message.value;
  }
  return undefined;
}

function maskOf(slots: readonly Slot[], type: RegisterReply['type']): number {
  return slots.reduce(
    (mask, slot, index) =>
      slot !== null && !slot.pending && slot.reply.type === type ? mask | (1 << index) : mask,
    0,
  );
}

const WRITTEN: RegisterRecord = {
  set: 1,
  promised: { counter: 1, proposer: 'first', incarnation: 1 },
  accepted: { counter: 1, proposer: 'first', incarnation: 1 },
  value: 'i',
};

/** Somebody has written an acceptor's document: nobody else knows it any more. */
function forget(state: SetChangeState, id: string): SetChangeState {
  const without = <P extends Proposal>(proposal: P): P =>
    proposal.known.includes(id)
      ? { ...proposal, known: proposal.known.filter((other) => other !== id) }
      : proposal;
  return {
    ...state,
    sleeper: without(state.sleeper),
    mover: without(state.mover),
    settler: without(state.settler),
  };
}

/** A state in as few characters as tell it from every other. */
export function keyOf(state: SetChangeState): string {
  const records = Object.values(state.records).map(
    ({ set, promised, accepted, value }) => `${set}${promised.counter}${accepted.counter}${value ?? '-'}`,
  );
  const { step, aware, listed, found } = state.mover;
  return [
    records.join(),
    Object.values(state.sets).join(''),
    keyOfProposal(state.sleeper),
    `${keyOfSlots(state.reader.answers)}${state.reader.beganAfterSettler ?? '-'}`,
    `${step}${aware.join('')};${listed.join('')};${found};${keyOfProposal(state.mover)}`,
    keyOfProposal(state.settler),
  ].join('|');
}

function keyOfProposal({ promises, value, accepted, known }: Proposal): string {
  return `${keyOfSlots(promises)};${value ?? '-'};${keyOfSlots(accepted)};${known.join('')}`;
}

function keyOfSlots(slots: readonly Slot[]): string {
  return slots
    .map((slot) => (slot === null ? '-' : `${slot.pending ? '?' : '!'}${keyOfReply(slot.reply)}`))
    .join('');
}

function keyOfReply(reply: RegisterReply): string {
  if (reply.type === '1b' || reply.type === 'state') return `p${reply.accepted.counter}${reply.value ?? '-'}`;
  return reply.type.charAt(0);
}
