/**
 * Deliberate defects of the role classes. Each is a patch, one text replaced by another, applied to a copy of the
 * sources; a text that does not occur exactly once is an error, so a mutant cannot fall silent when the source moves.
 * Some defects are not in a role class but in how it is used: those are parameters of the model.
 *
 * The first group are the guards that the spec can take out (`Without` and the other constants of the `fail-`
 * configurations): the explorer must see the same invariant fail, after a trace of the same length. The second group
 * have no counterpart in the spec: some invariant, the set of reachable states, or the roles' contract gives them away.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Bounds } from './bounds.ts';
import { SPEC_FOLDER } from './tla.ts';

export interface Patch {
  /** Below `src`. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export interface GuardMutant {
  readonly id: string;
  /** The configuration of the spec that takes out the same guard, and gives the bounds and the invariants. */
  readonly configuration: string;
  /** Without a patch the defect is a parameter of the model, which `where` names. */
  readonly patch?: Patch;
  readonly where?: string;
  /** Where the patched class has the defect that the configuration has by a constant. */
  readonly bounds?: Partial<Bounds>;
}

export interface OtherMutant {
  readonly id: string;
  readonly about: string;
  /** A configuration that the unpatched classes pass. */
  readonly configuration: string;
  readonly patch: Patch;
  /** The invariant that fails; or `states`, the set of states differs; or `contract`, an answer is wrong in itself. */
  readonly caughtBy: string;
}

const acceptor = (find: string, replace: string): Patch => ({
  file: 'caspaxos/core/acceptor.ts',
  find,
  replace,
});
const leader = (find: string, replace: string): Patch => ({ file: 'caspaxos/core/leader.ts', find, replace });
const learner = (find: string, replace: string): Patch => ({
  file: 'caspaxos/core/learner.ts',
  find,
  replace,
});
const quorum = (find: string, replace: string): Patch => ({ file: 'caspaxos/core/quorum.ts', find, replace });
const reader = (find: string, replace: string): Patch => ({ file: 'caspaxos/core/reader.ts', find, replace });
const ballot = (find: string, replace: string): Patch => ({ file: 'protocol/ballot.ts', find, replace });

export const GUARD_MUTANTS: readonly GuardMutant[] = [
  {
    id: 'promise-steps-back',
    configuration: 'fail-phase1-promise',
    patch: acceptor('const order = compareBallots(message.ballot, promised);', 'const order = 1 as number;'),
  },
  {
    id: 'accept-below-promise',
    configuration: 'fail-phase2-promise',
    patch: acceptor(
      'if (compareBallots(message.ballot, promised) < 0) return this.#nak(message.ballot);',
      '',
    ),
  },
  {
    id: 'promise-not-stored',
    configuration: 'fail-persist-promise',
    patch: acceptor('if (order > 0) this.#state = { promised: message.ballot, accepted, value };', ''),
  },
  {
    id: 'accept-not-stored',
    configuration: 'fail-persist-accept',
    patch: acceptor('accepted: message.ballot,\n      value: message.value,', 'accepted,\n      value,'),
  },
  {
    id: 'next-promise-not-stored',
    configuration: 'fail-persist-next',
    patch: acceptor('promised: message.next ?? message.ballot,', 'promised: message.ballot,'),
  },
  {
    id: 'no-alarm',
    configuration: 'fail-refuse-other-value',
    patch: acceptor('if (!this.#sameValue(message.value, value as V)) {', 'if (1 > 2) {'),
  },
  {
    id: 'any-value',
    configuration: 'fail-take-highest',
    patch: leader('if (order > 0 || this.#promises === 0) {', 'if (this.#promises === 0) {'),
  },
  { id: 'proposes-again', configuration: 'fail-one-proposal', patch: leader("this.#phase = '2';", '') },
  {
    id: 'prepared-ballot-reused',
    configuration: 'fail-single-use',
    where: 'whoever calls resume: the model does it twice',
  },
  {
    id: 'read-of-a-divided-quorum',
    configuration: 'fail-same-ballot-read',
    patch: leader('if (this.#promises !== 0 && order !== 0) this.#agreed = false;', ''),
  },
  {
    id: 'read-of-too-few',
    configuration: 'fail-chosen-read',
    patch: quorum(' && (isZeroBallot(ballot) || system.isPhase2Quorum(mask))', ''),
  },
  {
    id: 'query-of-a-divided-quorum',
    configuration: 'fail-same-ballot-query',
    patch: reader('sameBallot(group.ballot, reply.accepted) && group.value === reply.value', '1 > 0'),
  },
  {
    id: 'query-of-too-few',
    configuration: 'fail-chosen-query',
    patch: quorum(' && (isZeroBallot(ballot) || system.isPhase2Quorum(mask))', ''),
  },
  {
    id: 'query-of-the-past',
    configuration: 'fail-fresh-query',
    patch: quorum('system.isPhase1Quorum(mask) && (isZeroBallot(ballot)', '(isZeroBallot(ballot)'),
  },
  {
    id: 'ballots-added-up',
    configuration: 'fail-one-ballot-learner',
    patch: learner('(order === 0 ? this.#state.acknowledged : 0)', 'this.#state.acknowledged'),
  },
  {
    id: 'phase-1-quorum-too-small',
    configuration: 'fail-quorum1',
    patch: quorum('countOf(mask) >= phase1', 'countOf(mask) >= phase1 - 1'),
    bounds: { quorum1: 2 },
  },
  {
    id: 'phase-2-quorum-too-small',
    configuration: 'fail-quorum2',
    where: 'the injected quorum system: the model makes one that `flexible` refuses to make',
  },
  { id: 'amnesia', configuration: 'fail-amnesia', where: "the acceptor's store: the model empties it" },
];

export const OTHER_MUTANTS: readonly OtherMutant[] = [
  {
    id: 'low-promise-answered',
    about: 'the acceptor answers a ballot below its promise, though it does not lower the promise',
    configuration: 'pass-3x2',
    patch: acceptor('if (order < 0) return this.#nak(message.ballot);', ''),
    caughtBy: 'states',
  },
  {
    id: 'used-ballot-promised',
    about: 'the acceptor promises again a ballot that was used to accept',
    configuration: 'pass-3x2',
    patch: acceptor(
      'if (order === 0 && sameBallot(accepted, message.ballot)) return this.#nak(message.ballot);',
      '',
    ),
    caughtBy: 'states',
  },
  {
    id: 'lapsed-promise-claimed',
    about: 'a repeated acknowledgement claims a further promise that has lapsed',
    configuration: 'pass-all',
    patch: acceptor(
      'message.next !== undefined && sameBallot(message.next, promised)',
      'message.next !== undefined',
    ),
    caughtBy: 'states',
  },
  {
    id: 'refusal-names-the-asker',
    about: 'a NAK names the refused ballot instead of the promised one',
    configuration: 'pass-3x2',
    patch: acceptor('promised: this.#state.promised };', 'promised: ballot };'),
    caughtBy: 'contract',
  },
  {
    id: 'refusal-ignored',
    about: 'the leader does not climb above the ballot that a NAK names',
    configuration: 'pass-3x2',
    patch: leader('if (nak !== undefined) this.#ballots.observe(nak.promised);', ''),
    caughtBy: 'contract',
  },
  {
    id: 'promise-for-another-ballot',
    about: 'the leader counts a promise that answers another ballot',
    configuration: 'pass-3x2',
    patch: leader(' || !sameBallot(message.ballot, this.#ballot)', ''),
    caughtBy: 'ChosenDescends',
  },
  {
    id: 'resume-forgets-the-value',
    about: 'the one-round-trip path edits an empty value',
    configuration: 'pass-one-round',
    patch: leader('this.#value = value;\n    this.#agreed', 'this.#agreed'),
    caughtBy: 'ChosenDescends',
  },
  {
    id: 'query-without-end',
    about: 'a query that everybody answered, and that can prove nothing, gives no verdict',
    configuration: 'pass-query-few',
    patch: reader(
      'isProof(this.#quorum, group.ballot, group.mask | open)',
      'this.#quorum.isPhase1Quorum(group.mask | open)',
    ),
    caughtBy: 'contract',
  },
  {
    id: 'learns-too-early',
    about: 'the learner is content with one acknowledgement less than a quorum',
    configuration: 'pass-3x2',
    patch: quorum('countOf(mask) >= phase2', 'countOf(mask) >= phase2 - 1'),
    caughtBy: 'LearnedIsChosen',
  },
  {
    id: 'proposer-ignored',
    about: "rule 1: the order of ballots ignores the proposer's name",
    configuration: 'pass-3x2',
    patch: ballot('if (a.proposer !== b.proposer) return a.proposer < b.proposer ? -1 : 1;', ''),
    caughtBy: 'NoStepBack',
  },
  {
    id: 'incarnation-ignored',
    about: 'rule 1: the order of ballots ignores the incarnation',
    configuration: 'pass-all',
    patch: ballot('if (a.incarnation !== b.incarnation) return a.incarnation < b.incarnation ? -1 : 1;', ''),
    caughtBy: 'NoStepBack',
  },
  {
    id: 'lives-confused',
    about: 'rule 1: two lives of one proposer are taken for one',
    configuration: 'pass-all',
    patch: ballot('a.incarnation === b.incarnation && ', ''),
    caughtBy: 'RealTimeOrder',
  },
];

const ROOMS = ['protocol', 'caspaxos/core'] as const;

/** A copied tsconfig.json would extend one that is not there. */
const isNoSetting = (path: string): boolean => !path.endsWith('.json') && !path.endsWith('.test.ts');

/** Writes a patched copy of the sources, and gives the path of its index of the role classes. */
export function writeMutant(id: string, { file, find, replace }: Patch): string {
  const root = dirname(SPEC_FOLDER);
  const copy = join(root, 'build', 'mutants', id, 'src');
  rmSync(copy, { recursive: true, force: true });
  mkdirSync(copy, { recursive: true });
  for (const room of ROOMS) {
    cpSync(join(root, 'src', room), join(copy, room), { recursive: true, filter: isNoSetting });
  }
  const source = readFileSync(join(copy, file), 'utf8');
  const occurrences = source.split(find).length - 1;
  if (occurrences !== 1) throw new Error(`mutant ${id}: its text occurs ${occurrences} times in ${file}`);
  writeFileSync(
    join(copy, file),
    source.replace(find, () => replace),
  );
  return join(copy, 'caspaxos', 'core', 'index.ts');
}
