/**
 * Finishing a change of the set, and taking it back (`change-set.ts`), explored: every interleaving of what one process decides in
 * the configuration's register under both sets with what another decides in it by the old acceptors alone, while acceptors are told
 * of set 2 and new ones are lost. The roles, the records and the quorums are the library's own code.
 *
 *   announcer  tells the new acceptors of set 2, then the old ones
 *   finisher   decides `settled` under both sets, once enough are told
 *   returner   decides `withdrawn` with the quorums of the old set; there may be two of them. One has the number of set 1, another that of
 *              set 2, and begins when an old acceptor was told of it: a process that goes over to set 2 in the middle is first one, then the other
 *
 * The register holds set 2 already: that is where all of it begins. A message may be delayed for ever, which covers its loss; and whoever sends
 * nothing more may have died, so in every state others must be able to go on.
 */
import {
  answer,
  BallotSource,
  blocks,
  type Configuration,
  EMPTY_RECORD,
  joint,
  LeaderStateMachine,
  maskOfMembers,
  membersOf,
  quorumsOf,
  quorumsOfSet,
  type QuorumSystem,
  type RegisterRecord,
  type RegisterReply,
  sameSets,
  settled,
  withdrawn,
} from 'baton/caspaxos';
import type { Ballot } from 'baton/protocol';

export type BackGuard =
  | 'finishing needs the old set'
  | 'going back needs a quorum of the old set'
  | 'going back looks at what was decided'
  | 'going back has a number that somebody can explain'
  | 'new acceptors are told first';

export interface BackSetting {
  readonly old: readonly string[];
  readonly next: readonly string[];
  readonly deciders: readonly DeciderSetting[];
  /** Whether it begins when nobody is told of set 2, or when all are. New acceptors are lost in both, but not while they are told and somebody decides, too. */
  readonly announcing: boolean;
  readonly without?: BackGuard;
}

export interface DeciderSetting {
  readonly role: 'finisher' | 'returner';
  readonly counter: number;
  /** Of the set with which its process works. */
  readonly number: 1 | 2;
}

type Slot = RegisterReply | null;

interface Proposal {
  readonly promises: readonly Slot[];
  readonly value: string | null;
  readonly accepted: readonly Slot[];
}

export interface BackState {
  readonly records: Readonly<Record<string, RegisterRecord>>;
  readonly told: readonly string[];
  readonly lost: readonly string[];
  readonly proposals: readonly Proposal[];
}

interface Decider {
  readonly name: string;
  readonly role: 'finisher' | 'returner';
  readonly number: number;
  readonly ids: readonly string[];
  readonly quorum: QuorumSystem;
  readonly ballot: Ballot;
  readonly edit: (value: string | undefined) => string;
}

const STALE: RegisterReply = { type: 'stale-set', acceptor: 0, set: 2 };
const FIRST_BALLOT: Ballot = { counter: 1, proposer: 'first', incarnation: 1 };

export class GoingBackModel {
  readonly initial: BackState;
  readonly #setting: BackSetting;
  readonly #both: Configuration;
  readonly #deciders: readonly Decider[];

  constructor(setting: BackSetting) {
    this.#setting = setting;
    const members = (ids: readonly string[]) => ids.map((id) => ({ id, url: id }));
    const first: Configuration = { cluster: 'c', number: 1, acceptors: members(setting.old) };
    this.#both = joint(first, { acceptors: members(setting.next) });
    this.#deciders = setting.deciders.map((decider, at) => this.#decider(decider, at));
    const all = membersOf(this.#both).map(({ id }) => id);
    const held = {
      set: 1,
      promised: FIRST_BALLOT,
      accepted: FIRST_BALLOT,
      value: JSON.stringify(this.#both),
    };
    this.initial = {
      // Decided under set 1 by the first two of the old acceptors.
      records: Object.fromEntries(
        all.map((id) => [id, setting.old.slice(0, 2).includes(id) ? held : EMPTY_RECORD]),
      ),
      told: setting.announcing ? [] : all,
      lost: [],
      proposals: this.#deciders.map(({ ids }) => ({
        promises: ids.map(() => null),
        value: null,
        accepted: ids.map(() => null),
      })),
    };
  }

  *successors(state: BackState): Generator<{ action: string; state: BackState }> {
    yield* this.#announce(state);
    const { announcing, deciders } = this.#setting;
    for (const id of announcing && deciders.length > 0 ? [] : this.#setting.next)
      if (!this.#setting.old.includes(id) && !state.lost.includes(id))
        yield { action: `${id} is lost`, state: { ...state, lost: [...state.lost, id].sort() } };
    for (const [at, decider] of this.#deciders.entries())
      if (this.#mayBegin(state, decider)) yield* this.#decide(state, at);
  }

  /**
   * Whether a process that knows the old acceptors alone can decide something in the configuration's register, now or later: with the
   * highest number that one of them can explain to it, a quorum of them does not refuse it.
   */
  canDecide({ records, told }: BackState): boolean {
    const { old } = this.#setting;
    const known = told.some((id) => old.includes(id)) ? this.#both.number : 1;
    const open = new Set(old.filter((id) => records[id]!.set <= known));
    const quorum = quorumsOf(withdrawn(this.#both));
    const mask = maskOfMembers(membersOf(withdrawn(this.#both)), open);
    return quorum.isPhase1Quorum(mask) && quorum.isPhase2Quorum(mask);
  }

  #mayBegin({ told }: BackState, { role, number }: Decider): boolean {
    const { old, without } = this.#setting;
    if (number === 1 || without === 'going back has a number that somebody can explain') return true;
    const mask = maskOfMembers(membersOf(withdrawn(this.#both)), new Set(told));
    if (role === 'returner') return told.some((id) => old.includes(id));
    return this.#newKnow(told) && blocks(quorumsOf(withdrawn(this.#both)), mask);
  }

  /** What that decider has seen accepted by a quorum: settled, withdrawn, or nothing yet. */
  decided(state: BackState, at: number): 'settled' | 'withdrawn' | 'other' | undefined {
    const { quorum } = this.#deciders[at]!;
    const { accepted, value } = state.proposals[at]!;
    if (value === null || !quorum.isPhase2Quorum(maskOf(accepted, '2b'))) return undefined;
    const configuration = JSON.parse(value) as Configuration;
    if (sameSets(configuration, settled(this.#both))) return 'settled';
    return sameSets(configuration, withdrawn(this.#both)) ? 'withdrawn' : 'other';
  }

  /**
   * Whether work goes on, and nobody has to take anything back, if of the new acceptors those are lost that were lost before they were told: whoever
   * never came in must not stop anybody. Set 1 needs a quorum that was not told of set 2, set 2 one of both.
   */
  goesOnWithoutUntold({ told, lost }: BackState): boolean {
    const members = membersOf(this.#both);
    const quorumAmong = (quorum: QuorumSystem, isThere: (id: string) => boolean): boolean => {
      const mask = maskOfMembers(members, new Set(members.map(({ id }) => id).filter(isThere)));
      return quorum.isPhase1Quorum(mask) && quorum.isPhase2Quorum(mask);
    };
    const former = quorumsOfSet(this.#both.previous!, members);
    if (quorumAmong(former, (id) => !told.includes(id))) return true;
    return quorumAmong(quorumsOf(this.#both), (id) => !lost.includes(id) || told.includes(id));
  }

  #newKnow(told: readonly string[]): boolean {
    const members = membersOf(this.#both);
    const { old, next } = this.#setting;
    const know = new Set([...told, ...next.filter((id) => old.includes(id))]);
    return quorumsOfSet(this.#both, members).isPhase1Quorum(maskOfMembers(members, know));
  }

  *#announce(state: BackState): Generator<{ action: string; state: BackState }> {
    const mayTellOld = this.#newKnow(state.told) || this.#setting.without === 'new acceptors are told first';
    for (const { id } of membersOf(this.#both)) {
      if (state.told.includes(id) || state.lost.includes(id)) continue;
      if (this.#setting.old.includes(id) && !mayTellOld) continue;
      yield { action: `${id} is told`, state: { ...state, told: [...state.told, id].sort() } };
    }
  }

  #decider({ role, counter, number }: DeciderSetting, at: number): Decider {
    const { without, old, next } = this.#setting;
    const both = this.#both;
    const to = (end: Configuration, looks: boolean) => (value: string | undefined) => {
      const found = value === undefined ? both : (JSON.parse(value) as Configuration);
      return !looks || sameSets(found, both) ? JSON.stringify(end) : JSON.stringify(found);
    };
    const ballot = { counter, proposer: `${role} ${at}`, incarnation: 1 };
    if (role === 'finisher') {
      const alone = without === 'finishing needs the old set';
      const ids = alone ? next : membersOf(both).map(({ id }) => id);
      const quorum = alone ? quorumsOf(settled(both)) : quorumsOf(both);
      return { name: ballot.proposer, role, number, ids, quorum, ballot, edit: to(settled(both), true) };
    }
    const quorum = quorumsOf(withdrawn(both));
    const any: QuorumSystem = {
      ...quorum,
      isPhase1Quorum: (mask) => mask !== 0,
      isPhase2Quorum: (mask) => mask !== 0,
    };
    return {
      name: ballot.proposer,
      role,
      number,
      ids: old,
      quorum: without === 'going back needs a quorum of the old set' ? any : quorum,
      ballot,
      edit: to(withdrawn(both), without !== 'going back looks at what was decided'),
    };
  }

  *#decide(state: BackState, at: number): Generator<{ action: string; state: BackState }> {
    const decider = this.#deciders[at]!;
    const proposal = state.proposals[at]!;
    const phase = proposal.value === null ? 'promises' : 'accepted';
    for (const [index, id] of decider.ids.entries()) {
      if (proposal[phase][index] !== null || state.lost.includes(id)) continue;
      const { ballot } = decider;
      const message =
        proposal.value === null
          ? ({ type: '1a', ballot } as const)
          : ({ type: '2a', ballot, value: proposal.value } as const);
      const { number: set } = decider;
      const isStale = state.told.includes(id) && set < this.#both.number;
      const { record, reply } = isStale
        ? { record: state.records[id]!, reply: STALE }
        : answer(state.records[id]!, { key: 'k', set, message }, index);
      const next = { ...proposal, [phase]: proposal[phase].with(index, reply) };
      yield {
        action: `${decider.name} ${message.type} ${id}`,
        state: {
          ...state,
          records: { ...state.records, [id]: record },
          proposals: state.proposals.with(at, next),
        },
      };
    }
    const value = proposal.value === null ? chosenBy(decider, proposal.promises) : undefined;
    if (value === undefined) return;
    const proposals = state.proposals.with(at, { ...proposal, value });
    yield { action: `${decider.name} proposes`, state: { ...state, proposals } };
  }
}

/** What the real leader makes of the promises that have arrived, or undefined while it waits for more. */
function chosenBy({ ballot, quorum, edit }: Decider, promises: readonly Slot[]): string | undefined {
  const source = new BallotSource({ proposer: ballot.proposer, incarnation: 1 }, () => ballot.counter);
  const leader = new LeaderStateMachine<string>(source, quorum);
  leader.startPhase1();
  for (const reply of promises) {
    if (reply === null || reply.type !== '1b') continue;
    const message = leader.startPhase2(reply, edit);
    if (message !== undefined) return message.value;
  }
  return undefined;
}

function maskOf(slots: readonly Slot[], type: RegisterReply['type']): number {
  return slots.reduce((mask, slot, index) => (slot?.type === type ? mask | (1 << index) : mask), 0);
}

export function keyOf(state: BackState): string {
  const record = ({ set, promised, accepted, value }: RegisterRecord): unknown => [
    set,
    promised.counter,
    accepted.counter,
    value?.length,
  ];
  const slot = (reply: Slot): unknown =>
    reply === null ? 0 : reply.type === '1b' ? `1b${reply.accepted.counter}` : reply.type;
  return JSON.stringify([
    Object.entries(state.records).map(([id, one]) => [id, record(one)]),
    state.told,
    state.lost,
    state.proposals.map(({ promises, value, accepted }) => [promises.map(slot), value, accepted.map(slot)]),
  ]);
}
