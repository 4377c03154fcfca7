/**
 * The cheap read (DESIGN: CASPaxos rule 5). If a phase-1 quorum reports the same accepted ballot, nothing newer was chosen
 * before the question was asked; if they are a phase-2 quorum too, the value of that ballot is chosen. Then it is returned,
 * having promised and written nothing. If they disagree, some change is half-way, and only an identity change can tell.
 */
import { type Ballot, sameBallot } from '../../protocol/index.ts';
import { type AcceptorMask, everyone, isProof, maskOf, type QuorumSystem } from './quorum.ts';
import type { QueryReply } from './record.ts';

export type ReadVerdict<V = string> =
  | { readonly verdict: 'agreed'; readonly ballot: Ballot; readonly value: V | undefined }
  | { readonly verdict: 'disagreed' }
  | { readonly verdict: 'unavailable' };

interface Group<V> {
  readonly ballot: Ballot;
  readonly value: V | undefined;
  readonly mask: AcceptorMask;
}

export class QuorumReader<V = string> {
  readonly #quorum: QuorumSystem;
  #groups: readonly Group<V>[] = [];
  #missing: AcceptorMask = 0;

  constructor(quorum: QuorumSystem) {
    this.#quorum = quorum;
  }

  /** Empty until the question is decided. */
  onState(reply: QueryReply<V>): ReadVerdict<V> | undefined {
    // One ballot has one value; who says otherwise does not speak for the others (rule 11).
    const known = this.#groups.find(
      (group) => sameBallot(group.ballot, reply.accepted) && group.value === reply.value,
    );
    const mask = (known?.mask ?? 0) | maskOf(reply.acceptor);
    const group: Group<V> = known ? { ...known, mask } : { ballot: reply.accepted, value: reply.value, mask };
    this.#groups = [...this.#groups.filter((other) => other !== known), group];
    if (isProof(this.#quorum, group.ballot, mask))
      return { verdict: 'agreed', ballot: group.ballot, value: group.value };
    return this.#hopeless();
  }

  onMissing(acceptor: number): ReadVerdict<V> | undefined {
    this.#missing |= maskOf(acceptor);
    return this.#hopeless();
  }

  #hopeless(): ReadVerdict<V> | undefined {
    let answered = 0;
    for (const group of this.#groups) answered |= group.mask;
    const open = everyone(this.#quorum.size) & ~(answered | this.#missing);
    if (!this.#quorum.isPhase1Quorum(answered | open)) return { verdict: 'unavailable' };
    const hope =
      this.#groups.length === 0 ||
      this.#groups.some((group) => isProof(this.#quorum, group.ballot, group.mask | open));
    return hope ? undefined : { verdict: 'disagreed' };
  }
}
