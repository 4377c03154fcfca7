/**
 * Changing the set of acceptors (DESIGN: CASPaxos rule 9), explored: every interleaving of one change of the set, or of one that is
 * taken back, with those who work on a register meanwhile, over stores that can only compare and swap single documents. The roles,
 * the records, the quorums and the configurations are the library's own code.
 *
 *   sleeper    works with set 1 and its acceptors; changes the register, which may not be there yet
 *   reader     works with set 1; asks for the register (in a run of its own)
 *   neighbour  works with set 2, old and new together, as soon as an old acceptor can tell of it
 *   mover      makes set 2 known, lists the registers of those who know, rewrites what it finds under both sets, and settles
 *   settler    works with set 3, the new acceptors alone, once the mover is done
 *   returner   takes the change back; `returned` works with set 3 then, the old acceptors again
 *
 * What becomes of the change is decided here in one step; `going-back-model.ts` has the configuration's register in full. A step is what a store
 * does atomically: replace one document, read the identity document, list. Messages may be delayed for ever, which covers their loss,
 * and that of whoever sent them. An acceptor that is lost for good only matters to the question who can go on.
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
  type QuorumSystem,
  type RegisterRecord,
  type RegisterReply,
  settled,
  withdrawn,
} from 'baton/caspaxos';
import type { Ballot } from 'baton/protocol';
import type { ActorName, Guard, Proposal, SetChangeState, Setting, Slot } from './state.ts';

interface Actor {
  readonly name: ActorName;
  readonly at: number;
  readonly configuration: Configuration;
  readonly quorum: QuorumSystem;
  readonly ballot: Ballot;
  readonly edit: (value: string | undefined) => string | undefined;
}

type Step = { readonly action: string; readonly state: SetChangeState };

export class SetChangeModel {
  readonly initial: SetChangeState;
  readonly #setting: Setting;
  readonly #first: Configuration;
  readonly #both: Configuration;
  readonly #actors: readonly Actor[];

  constructor(setting: Setting) {
    this.#setting = setting;
    const members = (ids: readonly string[]) => ids.map((id) => ({ id, url: id }));
    this.#first = { cluster: 'c', number: 1, acceptors: members(setting.old) };
    this.#both = joint(this.#first, { acceptors: members(setting.next) });
    this.#actors = setting.order.map((name, at) => this.#actor(name, at));
    this.initial = this.#initial();
  }

  *successors(state: SetChangeState): Generator<Step> {
    yield* this.#move(state);
    yield* this.#end(state);
    for (const actor of this.#actors) if (this.#mayBegin(state, actor)) yield* this.#propose(state, actor);
    if (this.#setting.hasReader) yield* this.#read(state);
    if (this.#setting.mayLose) yield* this.#lose(state);
  }

  /** The value that a proposer has seen accepted by a quorum of the set it works with. */
  committed(state: SetChangeState, name: ActorName): string | undefined {
    const at = this.#setting.order.indexOf(name);
    if (at < 0) return undefined;
    const { accepted, value } = state.proposals[at]!;
    const isLearned = this.#actors[at]!.quorum.isPhase2Quorum(maskOf(accepted, '2b'));
    return isLearned ? (value ?? undefined) : undefined;
  }

  /** What was acknowledged is in all that was acknowledged under a higher ballot, whatever the sets. */
  isOneHistory(state: SetChangeState): boolean {
    const values = this.#setting.order.flatMap((name) => this.committed(state, name) ?? []);
    const before = this.#setting.isWritten ? [WRITTEN.value!] : [];
    return [...before, ...values].every((value, at, all) =>
      all.slice(at + 1).every((later) => later.startsWith(value)),
    );
  }

  /**
   * Whether a process that is told of the old acceptors alone finds a set whose quorums answer, if those acceptors are lost that were lost before
   * they were told of anything. (When there is an end it is told, too, which is not modelled.)
   */
  goesOn(state: SetChangeState): boolean {
    const { old } = this.#setting;
    if (state.ends.length > 0) return true;
    const dead = new Set(state.lost.filter((id) => state.sets[id] === 0));
    return [this.#first, this.#both].some((configuration) => {
      const { number } = configuration;
      if (!old.some((id) => state.sets[id] === number)) return false;
      const members = membersOf(configuration);
      const answering = members.filter(
        ({ id }) => !dead.has(id) && state.sets[id]! <= number && state.records[id]!.set <= number,
      );
      const mask = maskOfMembers(members, new Set(answering.map(({ id }) => id)));
      return quorumsOf(configuration).isPhase2Quorum(mask);
    });
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

  #actor(name: ActorName, at: number): Actor {
    const both = this.#both;
    const ballot: Ballot = { counter: at + 2, proposer: name, incarnation: 1 };
    const append = (value: string | undefined): string => `${value ?? ''}${LETTERS[name]}`;
    const of = (configuration: Configuration, quorum = quorumsOf(configuration)): Actor => {
      const edit = name === 'mover' ? (value: string | undefined) => value : append;
      return { name, at, configuration, quorum, ballot, edit };
    };
    if (name === 'sleeper') return of(this.#first);
    if (name === 'mover') return of(both);
    if (name === 'neighbour') return of(both, this.#quorumOfNeighbour());
    return of(name === 'settler' ? settled(both) : withdrawn(both));
  }

  #quorumOfNeighbour(): QuorumSystem {
    const members = membersOf(this.#both);
    if (this.#is('set 2 needs a quorum of the old')) {
      if (this.#is('set 2 needs a quorum of the new')) return quorumsOf(this.#both);
      return quorumsOfSet(this.#both.previous!, members);
    }
    return quorumsOfSet(this.#both, members);
  }

  #is(guard: Guard): boolean {
    return this.#setting.without !== guard;
  }

  #initial(): SetChangeState {
    const ids = membersOf(this.#both)
      .map(({ id }) => id)
      .sort();
    const each = <T>(value: T): Record<string, T> => Object.fromEntries(ids.map((id) => [id, value]));
    const written = Object.fromEntries(this.#setting.old.slice(0, 2).map((id) => [id, WRITTEN]));
    return {
      records: { ...each(EMPTY_RECORD), ...(this.#setting.isWritten ? written : {}) },
      sets: Object.fromEntries(ids.map((id) => [id, this.#setting.old.includes(id) ? 1 : 0])),
      lost: [],
      proposals: this.#actors.map(({ configuration }) => {
        const none = membersOf(configuration).map(() => null);
        return { promises: none, value: null, accepted: none, known: [] };
      }),
      reader: { answers: this.#first.acceptors.map(() => null), beganAfter: null },
      mover: { step: 'announcing', listed: [], found: false },
      ends: [],
    };
  }

  #mayBegin({ sets, mover, ends }: SetChangeState, { name }: Actor): boolean {
    if (name === 'sleeper') return true;
    if (name === 'mover') return mover.step === 'rewriting';
    if (name === 'settler') return ends.includes('settled');
    if (name === 'returned') return ends.includes('withdrawn');
    const isKnown = this.#setting.old.some((id) => sets[id] === 2);
    return isKnown || !this.#is('set 2 is used when an old acceptor knows');
  }

  /** Steps 2 and 3 of the mover: make the set known, then list. */
  *#move(state: SetChangeState): Generator<Step> {
    const { mover, sets } = state;
    const aware = this.#setting.old.filter((id) => sets[id] === 2);
    if (mover.step === 'announcing') {
      for (const { id } of membersOf(this.#both)) {
        if (sets[id] === 2 || state.lost.includes(id) || !this.#mayTell(state, id)) continue;
        yield { action: `${id} knows set 2`, state: { ...state, sets: { ...sets, [id]: 2 } } };
      }
      if (this.#setting.ends.includes('settled') && this.#enoughKnow(aware))
        yield { action: 'mover lists', state: { ...state, mover: { ...mover, step: 'listing' } } };
    }
    if (mover.step !== 'listing') return;
    const asked = this.#is('list those who know') ? aware : this.#setting.old.slice(0, 2);
    for (const id of asked) {
      if (mover.listed.includes(id)) continue;
      const listed = [...mover.listed, id].sort();
      const found = mover.found || state.records[id]!.promised.counter > 0;
      yield { action: `mover lists ${id}`, state: { ...state, mover: { ...mover, listed, found } } };
    }
    if (asked.some((id) => !mover.listed.includes(id))) return;
    const rewrites = mover.found && this.#is('every register rewritten before the old set is forgotten');
    const step = rewrites ? 'rewriting' : 'done';
    yield { action: `mover goes on: ${step}`, state: { ...state, mover: { ...mover, step } } };
  }

  /** The new acceptors first: the old ones when a quorum of the new set knows it, or is about to. */
  #mayTell({ sets }: SetChangeState, id: string): boolean {
    const { old, next } = this.#setting;
    if (!old.includes(id) || !this.#is('new first')) return true;
    const know = next.filter((other) => sets[other] === 2 || old.includes(other));
    const members = membersOf(this.#both);
    return quorumsOfSet(this.#both, members).isPhase1Quorum(maskOfMembers(members, new Set(know)));
  }

  #enoughKnow(aware: readonly string[]): boolean {
    if (!this.#is('old quorum must know before it is over')) return aware.length > 0;
    const members = membersOf(this.#first);
    const mask = maskOfMembers(members, new Set(aware));
    const old = quorumsOfSet(this.#first, members);
    return old.isPhase1Quorum(mask) && blocks(old, mask);
  }

  /** Both sets settle the change; the old acceptors, which are never lost here, take it back. */
  *#end(state: SetChangeState): Generator<Step> {
    const { ends, mover } = state;
    const isOpen = ends.length === 0;
    const isDone = mover.step === 'done' || (mover.step === 'rewriting' && this.#isRewritten(state));
    for (const end of this.#setting.ends) {
      if (ends.includes(end)) continue;
      if (end === 'settled' && !(isOpen && isDone)) continue;
      if (end === 'withdrawn' && !isOpen && this.#is('back is decided while both are in force')) continue;
      const step = end === 'settled' ? 'done' : mover.step;
      yield { action: end, state: { ...state, ends: [...ends, end].sort(), mover: { ...mover, step } } };
    }
  }

  *#lose(state: SetChangeState): Generator<Step> {
    for (const { id } of this.#both.acceptors) {
      if (this.#setting.old.includes(id) || state.lost.includes(id)) continue;
      yield { action: `${id} is lost`, state: { ...state, lost: [...state.lost, id].sort() } };
    }
  }

  #isRewritten(state: SetChangeState): boolean {
    const at = this.#setting.order.indexOf('mover');
    if (at < 0) return false;
    const { promises, value, accepted } = state.proposals[at]!;
    const quorum = quorumsOf(this.#both);
    if (quorum.isPhase2Quorum(maskOf(accepted, '2b'))) return true;
    // Nothing was ever accepted: there is nothing to rewrite.
    const empty = promises.map((slot) =>
      slot?.reply.type === '1b' && slot.reply.accepted.counter === 0 ? slot : null,
    );
    return value === null && quorum.isPhase1Quorum(maskOf(empty, '1b'));
  }

  *#propose(state: SetChangeState, who: Actor): Generator<Step> {
    const proposal = state.proposals[who.at]!;
    for (const [index, { id }] of membersOf(who.configuration).entries()) {
      if (state.lost.includes(id)) continue;
      // A late 1a could only make its acceptor refuse more: once there is a proposal it is left out.
      const phase = proposal.value === null ? 'promises' : 'accepted';
      const slot = proposal[phase][index]!;
      const action = `${who.name} ${phase === 'promises' ? '1a' : '2a'} ${id}`;
      if (slot === null) yield { action, state: this.#apply(state, who, phase, index, id) };
      else if (slot.pending)
        yield { action: `${action} looks again`, state: this.#lookAgain(state, who, phase, index, id) };
    }
    const value = proposal.value === null ? chosenBy(who, proposal.promises) : undefined;
    if (value !== undefined)
      yield {
        action: `${who.name} proposes ${value}`,
        state: withProposal(state, who, { ...proposal, value }),
      };
  }

  /** The document is replaced. Whether the identity must be looked at again depends on whether it was known. */
  #apply(
    state: SetChangeState,
    who: Actor,
    phase: 'promises' | 'accepted',
    index: number,
    id: string,
  ): SetChangeState {
    const { ballot } = who;
    const before = state.records[id]!;
    const message =
      phase === 'promises'
        ? ({ type: '1a', ballot } as const)
        : ({ type: '2a', ballot, value: state.proposals[who.at]!.value! } as const);
    const answered = answer(before, { key: 'k', set: who.configuration.number, message }, index);
    const remembers = this.#is('record remembers its set') && this.#is('acceptors refuse older sets');
    const record = remembers ? answered.record : { ...answered.record, set: 0 };
    // Nobody is told of a newer set than 2 here: only the sleeper's second look can make a difference.
    const looksAgain =
      who.name === 'sleeper' &&
      this.#is('look again after loading') &&
      this.#is('acceptors refuse older sets');
    const pending = looksAgain && !state.proposals[who.at]!.known.includes(id);
    const after = answered.record === before ? state : forget(state, id);
    const proposal = after.proposals[who.at]!;
    return withProposal({ ...after, records: { ...state.records, [id]: record } }, who, {
      ...proposal,
      [phase]: proposal[phase].with(index, { pending, reply: answered.reply }),
      known: looksAgain ? [...new Set([...proposal.known, id])].sort() : [],
    });
  }

  #lookAgain(
    state: SetChangeState,
    who: Actor,
    phase: 'promises' | 'accepted',
    index: number,
    id: string,
  ): SetChangeState {
    const proposal = state.proposals[who.at]!;
    const set = state.sets[id]!;
    const isStale = set > who.configuration.number;
    const stale: RegisterReply = { type: 'stale-set', acceptor: index, set };
    const reply = isStale ? stale : proposal[phase][index]!.reply;
    const known = isStale ? proposal.known.filter((other) => other !== id) : proposal.known;
    const slots = proposal[phase].with(index, { pending: false, reply });
    return withProposal(state, who, { ...proposal, [phase]: slots, known });
  }

  *#read(state: SetChangeState): Generator<Step> {
    const { reader } = state;
    const began = reader.beganAfter ?? AFTER.some((name) => this.committed(state, name) !== undefined);
    for (const [index, { id }] of this.#first.acceptors.entries()) {
      const slot = reader.answers[index]!;
      if (slot === null) {
        const { reply } = answer(state.records[id]!, { key: 'k', set: 1, message: QUERY }, index);
        const pending = this.#is('look again after loading');
        const answers = reader.answers.with(index, { pending, reply });
        yield {
          action: `reader asks ${id}`,
          state: { ...state, reader: { answers, beganAfter: began } },
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

/** What the real leader makes of the promises that have arrived, or undefined while it waits for more. */
function chosenBy({ quorum, ballot, edit }: Actor, promises: readonly Slot[]): string | undefined {
  const leader = new LeaderStateMachine<string>(
    new BallotSource({ proposer: ballot.proposer, incarnation: 1 }, () => ballot.counter),
    quorum,
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

/** Of those who change the register: what each appends to its value. */
const LETTERS: Readonly<Record<ActorName, string>> = {
  sleeper: 's',
  neighbour: 'n',
  mover: '',
  settler: 't',
  returned: 'r',
};

/** Those of set 3, whose changes everybody sees who begins later. */
const AFTER = ['settler', 'returned'] as const;

function withProposal(state: SetChangeState, { at }: Actor, proposal: Proposal): SetChangeState {
  return { ...state, proposals: state.proposals.with(at, proposal) };
}

/** Somebody has written an acceptor's document: nobody else knows it any more. */
function forget(state: SetChangeState, id: string): SetChangeState {
  const proposals = state.proposals.map((proposal) =>
    proposal.known.includes(id)
      ? { ...proposal, known: proposal.known.filter((other) => other !== id) }
      : proposal,
  );
  return { ...state, proposals };
}
