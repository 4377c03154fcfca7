/** The invariants of `spec/caspaxos.tla` under their names, over the states of the roles' model. */
import type { StatePredicate } from 'baton/check';
import type { Bounds } from './bounds.ts';
import { chosenIn, type ModelState } from './roles-model.ts';
import { isPrefix, parse1b, parse2a, parse2b, parseReport, type Reported, UNWRITTEN } from './wire.ts';

export type Invariants = Record<string, StatePredicate<ModelState>>;

export function invariantsFor(bounds: Bounds): Invariants {
  const chosen = (state: ModelState): Reported[] => chosenIn(state.sent2b, bounds.quorum2).map(parseReport);
  return {
    TypeOK: (state) => typeOk(state, bounds),
    PromisedCoversAccepted: ({ promised, accepted }) =>
      accepted.every((ballot, index) => ballot <= promised[index]!),
    NoStepBack: noStepBack,
    OneVotePerAcceptor: ({ sent2b }) => oneValuePer(sent2b, ({ acc, bal }) => `${acc} ${bal}`),
    OneValuePerBallot: ({ sent2b }) => oneValuePer(sent2b, ({ bal }) => `${bal}`),
    ChosenDescends: (state) => descends(chosen(state)),
    LearnedIsChosen: (state) => {
      const all = chosenIn(state.sent2b, bounds.quorum2);
      return state.learned.every((report) => all.includes(report));
    },
    ReadIsChosen: (state) =>
      state.reads.length === 0 ||
      state.reads.every((read) => {
        const { val } = parseReport(read);
        return val === UNWRITTEN || chosen(state).some((choice) => choice.val === val);
      }),
    RealTimeOrder: (state) => !bounds.trackTime || inRealTimeOrder(state, chosen(state)),
  };
}

function oneValuePer(
  sent2b: readonly string[],
  slot: (sent: { acc: number; bal: number }) => string,
): boolean {
  const values = new Map<string, string>();
  return sent2b.every((text) => {
    const sent = parse2b(text);
    const first = values.get(slot(sent)) ?? sent.val;
    values.set(slot(sent), first);
    return sent.val === first;
  });
}

function descends(chosen: readonly Reported[]): boolean {
  return chosen.every((early) =>
    chosen.every((late) => early.bal >= late.bal || isPrefix(early.val, late.val)),
  );
}

function inRealTimeOrder({ asked, began, reads }: ModelState, chosen: readonly Reported[]): boolean {
  const changesInOrder = chosen.every(({ bal }) => began[bal - 1]! <= bal);
  return (
    changesInOrder &&
    reads.map(parseReport).every((read) => {
      const since = read.bal === 0 ? asked - 1 : began[read.bal - 1]!;
      const known = chosen.filter(({ bal }) => bal <= since);
      return known.every(({ val }) => isPrefix(val, read.val));
    })
  );
}

function noStepBack({ promised, accepted, sent1b, sent2b }: ModelState): boolean {
  const promisesKept = sent1b.map(parse1b).every(({ acc, bal, abal }) => {
    return bal <= promised[acc - 1]! && abal <= accepted[acc - 1]!;
  });
  const acceptsKept = sent2b.map(parse2b).every(({ acc, bal, next }) => {
    return bal <= accepted[acc - 1]! && next <= promised[acc - 1]!;
  });
  return promisesKept && acceptsKept;
}

function typeOk(state: ModelState, { ballots, readers, query, maxAmnesia }: Bounds): boolean {
  const isBallot = (number: number): boolean => number >= 1 && number <= ballots;
  const isBallotOrZero = (number: number): boolean => number === 0 || isBallot(number);
  const proposals = state.sent2a.map(parse2a);
  return (
    state.promised.every(isBallotOrZero) &&
    state.accepted.every(isBallotOrZero) &&
    state.accepted.every((ballot, index) => (ballot === 0) === (state.value[index] === UNWRITTEN)) &&
    state.sent1a.map(Number).every(isBallot) &&
    state.sent1b
      .map(parse1b)
      .every(({ bal, abal }) => state.sent1a.includes(`${bal}`) && isBallotOrZero(abal)) &&
    proposals.every(({ bal, next }) => isBallot(bal) && isBallotOrZero(next) && (next === 0 || next > bal)) &&
    state.sent2b.map(parse2b).every(({ bal, val, next }) => {
      return proposals.some((from) => from.bal === bal && from.val === val && [0, from.next].includes(next));
    }) &&
    state.reads.map(parseReport).every(({ bal }) => readers.has(bal) || (bal === 0 && query)) &&
    state.asked <= ballots + 1 &&
    state.forgotten <= maxAmnesia
  );
}
