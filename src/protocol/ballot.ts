/**
 * Ballots (DESIGN: CASPaxos rule 1). A ballot is immutable and unique for ever: the counter orders attempts, the
 * proposer's id separates proposers, and the incarnation, drawn at random when a process starts, separates two
 * lives of one proposer that lost its memory in between. Nothing ever reuses or mutates one: a message in flight
 * that shared a mutable ballot with its sender is a classic way to lose an acknowledged write.
 */
export interface Ballot {
  readonly counter: number;
  readonly proposer: string;
  /** A random integer in 1 .. 2^48-1. */
  readonly incarnation: number;
}

/** Lower than every ballot a proposer can make: "nothing promised", "nothing accepted". */
export const BALLOT_ZERO: Ballot = Object.freeze({ counter: 0, proposer: '', incarnation: 0 });

/** What a message or a record can hold. Which counters are believed is another question: `bounds.ts` of `caspaxos`. */
export const MAX_COUNTER = Number.MAX_SAFE_INTEGER;
/** A clock that says more, in 2527, is broken. Counters that follow one stop following it there. */
export const LATEST_CLOCK_MS = 2 ** 44;
export const MAX_INCARNATION = 2 ** 48 - 1;
export const MAX_PROPOSER_LENGTH = 64;

export function compareBallots(a: Ballot, b: Ballot): number {
  if (a.counter !== b.counter) return a.counter < b.counter ? -1 : 1;
  if (a.proposer !== b.proposer) return a.proposer < b.proposer ? -1 : 1;
  if (a.incarnation !== b.incarnation) return a.incarnation < b.incarnation ? -1 : 1;
  return 0;
}

export function sameBallot(a: Ballot, b: Ballot): boolean {
  return a === b || (a.counter === b.counter && a.incarnation === b.incarnation && a.proposer === b.proposer);
}

export function isZeroBallot(ballot: Ballot): boolean {
  return ballot.counter === 0;
}

export function isBallot(value: unknown): value is Ballot {
  if (typeof value !== 'object' || value === null) return false;
  const { counter, proposer, incarnation } = value as Partial<Record<keyof Ballot, unknown>>;
  return (
    Number.isSafeInteger(counter) &&
    (counter as number) >= 0 &&
    (counter as number) <= MAX_COUNTER &&
    typeof proposer === 'string' &&
    proposer.length <= MAX_PROPOSER_LENGTH &&
    Number.isSafeInteger(incarnation) &&
    (incarnation as number) >= 0 &&
    (incarnation as number) <= MAX_INCARNATION
  );
}

/** For people: `7@west/3f2a`. */
export function formatBallot(ballot: Ballot): string {
  if (isZeroBallot(ballot)) return '0';
  return `${ballot.counter}@${ballot.proposer}/${ballot.incarnation.toString(36)}`;
}
