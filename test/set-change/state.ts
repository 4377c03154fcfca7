/** What `model.ts` explores: the settings, and the states. */
import type { RegisterRecord, RegisterReply } from 'baton/caspaxos';

/** What may be taken out, to see that the explorer notices. */
export type Guard =
  | 'new first'
  | 'old quorum must know before it is over'
  | 'set 2 is used when an old acceptor knows'
  | 'acceptors refuse older sets'
  | 'look again after loading'
  | 'record remembers its set'
  | 'list those who know'
  | 'every register rewritten before the old set is forgotten'
  | 'set 2 needs a quorum of the old'
  | 'set 2 needs a quorum of the new'
  | 'back is decided while both are in force';

export type ActorName = 'sleeper' | 'neighbour' | 'mover' | 'settler' | 'returned';
export type End = 'settled' | 'withdrawn';

export interface Setting {
  /** Who proposes, in the order of their ballots. */
  readonly order: readonly ActorName[];
  readonly hasReader?: boolean;
  /** What may become of the change. */
  readonly ends: readonly End[];
  /** Whether the register is there from the beginning, accepted by the first two of the old acceptors. */
  readonly isWritten: boolean;
  readonly old: readonly string[];
  readonly next: readonly string[];
  /** Whether acceptors that would come in may be lost for good. */
  readonly mayLose?: boolean;
  readonly without?: Guard;
}

/** One message to one acceptor: not sent, on its way back (applied, identity not yet looked at), or answered. */
export type Slot = null | { readonly pending: boolean; readonly reply: RegisterReply };

export interface Proposal {
  readonly promises: readonly Slot[];
  readonly value: string | null;
  readonly accepted: readonly Slot[];
  /** The acceptors whose document is as this proposer's process last saw it. */
  readonly known: readonly string[];
}

export interface SetChangeState {
  readonly records: Readonly<Record<string, RegisterRecord>>;
  /** The set that each acceptor's identity document names; 0 before it was told of any. */
  readonly sets: Readonly<Record<string, number>>;
  readonly lost: readonly string[];
  /** By their places in the setting's order. */
  readonly proposals: readonly Proposal[];
  readonly reader: { readonly answers: readonly Slot[]; readonly beganAfter: boolean | null };
  readonly mover: {
    readonly step: 'announcing' | 'listing' | 'rewriting' | 'done';
    readonly listed: readonly string[];
    readonly found: boolean;
  };
  readonly ends: readonly End[];
}

/** A state in as few characters as tell it from every other. */
export function keyOf(state: SetChangeState): string {
  const records = Object.values(state.records).map(
    ({ set, promised, accepted, value }) => `${set}${promised.counter}${accepted.counter}${value ?? '-'}`,
  );
  const { step, listed, found } = state.mover;
  return [
    records.join(),
    Object.values(state.sets).join(''),
    state.lost.join(''),
    ...state.proposals.map(keyOfProposal),
    `${keyOfSlots(state.reader.answers)}${state.reader.beganAfter ?? '-'}`,
    `${step}${listed.join('')}${found}${state.ends.join('')}`,
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
