/**
 * The two forms of everything that the model handles: the real messages and ballots of the role classes, and the
 * canonical JSON of the spec, where a ballot is a number, a value the sequence of the ballots that edited it, and
 * an acceptor's number one more than its index.
 *
 * The real ballots behind the numbers 1 to 6 differ by turns in their counter, only in their proposer, and only in
 * their incarnation: an order that ignored one of these would not be the order of the numbers.
 */
import type { QueryReply } from 'baton/caspaxos';
import {
  type Ballot,
  BALLOT_ZERO,
  type Phase1bMessage,
  type Phase2aMessage,
  type Phase2bMessage,
} from 'baton/protocol';

const BALLOTS: readonly Ballot[] = [
  BALLOT_ZERO,
  { counter: 1, proposer: 'east', incarnation: 7 },
  { counter: 1, proposer: 'west', incarnation: 3 },
  { counter: 1, proposer: 'west', incarnation: 4 },
  { counter: 2, proposer: 'east', incarnation: 5 },
  { counter: 2, proposer: 'west', incarnation: 1 },
  { counter: 2, proposer: 'west', incarnation: 2 },
].map((ballot) => Object.freeze(ballot));

const NUMBERS = new Map<Ballot | string, number>(
  BALLOTS.flatMap((ballot, number) => [
    [ballot, number],
    [nameOf(ballot), number],
  ]),
);

function nameOf({ counter, proposer, incarnation }: Ballot): string {
  return `${counter}@${proposer}/${incarnation}`;
}

export function ballotOf(number: number): Ballot {
  const ballot = BALLOTS[number];
  if (ballot === undefined) throw new Error(`the model has no ballot ${number}`);
  return ballot;
}

export function numberOf(ballot: Ballot): number {
  const number = NUMBERS.get(ballot) ?? NUMBERS.get(nameOf(ballot));
  if (number === undefined) throw new Error(`${nameOf(ballot)} is no ballot of the model`);
  return number;
}

/** Values are texts, so that the roles can compare them; `undefined` is the value of a register never written. */
export const UNWRITTEN = '[]';

export function edited(value: string | undefined, by: number): string {
  return JSON.stringify([...(JSON.parse(value ?? UNWRITTEN) as number[]), by]);
}

export function isPrefix(ancestor: string, descendant: string): boolean {
  const of = JSON.parse(descendant) as number[];
  return (JSON.parse(ancestor) as number[]).every((ballot, index) => of[index] === ballot);
}

/** Parsed forms, with the names of the spec's fields. */
export interface Sent1b {
  readonly abal: number;
  readonly acc: number;
  readonly aval: string;
  readonly bal: number;
  readonly message: Phase1bMessage<string>;
}

export interface Sent2a {
  readonly bal: number;
  readonly next: number;
  readonly val: string;
  readonly message: Phase2aMessage<string>;
}

export interface Sent2b {
  readonly acc: number;
  readonly bal: number;
  readonly next: number;
  readonly val: string;
  readonly message: Phase2bMessage<string>;
}

/** A value under a ballot: what was learned or chosen, or what a read with this ballot returned. */
export interface Reported {
  readonly bal: number;
  readonly val: string;
}

export function text1b(message: Phase1bMessage<string>): string {
  const { acceptor, ballot, accepted, value = UNWRITTEN } = message;
  return `{"abal":${numberOf(accepted)},"acc":${acceptor + 1},"aval":${value},"bal":${numberOf(ballot)}}`;
}

export function textOfAnswer({ acceptor, accepted, value = UNWRITTEN }: QueryReply): string {
  return `{"abal":${numberOf(accepted)},"acc":${acceptor + 1},"aval":${value}}`;
}

export function text2a({ ballot, value, next = BALLOT_ZERO }: Phase2aMessage<string>): string {
  return `{"bal":${numberOf(ballot)},"next":${numberOf(next)},"val":${value}}`;
}

export function text2b(message: Phase2bMessage<string>): string {
  const { acceptor, ballot, value, next = BALLOT_ZERO } = message;
  return `{"acc":${acceptor + 1},"bal":${numberOf(ballot)},"next":${numberOf(next)},"val":${value}}`;
}

export function textOfReport({ bal, val }: Reported): string {
  return `{"bal":${bal},"val":${val}}`;
}

export const parse1b = remembered((text): Sent1b => {
  const { abal, acc, aval: sequence, bal } = JSON.parse(text) as Fields;
  const aval = JSON.stringify(sequence);
  const value = abal === 0 ? undefined : aval;
  const message = { acceptor: acc! - 1, ballot: ballotOf(bal!), accepted: ballotOf(abal!), value };
  return { abal: abal!, acc: acc!, aval, bal: bal!, message: { type: '1b', ...message } };
});

export const parseAnswer = remembered((text): QueryReply => {
  const { abal, acc, aval } = JSON.parse(text) as Fields;
  const value = abal === 0 ? undefined : JSON.stringify(aval);
  return { type: 'state', acceptor: acc! - 1, accepted: ballotOf(abal!), value };
});

export const parse2a = remembered((text): Sent2a => {
  const { bal, next, val: sequence } = JSON.parse(text) as Fields;
  const val = JSON.stringify(sequence);
  const message: Phase2aMessage<string> = { type: '2a', ballot: ballotOf(bal!), value: val };
  return {
    bal: bal!,
    next: next!,
    val,
    message: next === 0 ? message : { ...message, next: ballotOf(next!) },
  };
});

export const parse2b = remembered((text): Sent2b => {
  const { acc, bal, next, val: sequence } = JSON.parse(text) as Fields;
  const val = JSON.stringify(sequence);
  const message = { type: '2b' as const, acceptor: acc! - 1, ballot: ballotOf(bal!), value: val };
  const full = next === 0 ? message : { ...message, next: ballotOf(next!) };
  return { acc: acc!, bal: bal!, next: next!, val, message: full };
});

export const parseReport = remembered((text): Reported => {
  const { bal, val } = JSON.parse(text) as Fields;
  return { bal: bal!, val: JSON.stringify(val) };
});

type Fields = Record<'abal' | 'acc' | 'bal' | 'next', number | undefined> &
  Record<'aval' | 'val', readonly number[] | undefined>;

/** A few hundred messages make up all the soups of an exploration. */
function remembered<T>(parse: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    let parsed = known.get(text);
    if (parsed === undefined) known.set(text, (parsed = parse(text)));
    return parsed;
  };
}
