/**
 * The promise of CASPaxos itself, read off the disks: under one ballot there is one value, and every value that was chosen
 * descends from every value chosen under a lower ballot, possibly through values that never were. Chosen means: durably
 * accepted, under one ballot, by a phase-2 quorum. A value is the list of the operations that made it and every change
 * appends one, so "descends from" is "begins with".
 *
 * (In the one register that is put and deleted, only the versions tell.)
 *
 * It is stricter than what clients can see: two values that were both chosen and that nobody happened to read are caught.
 */
import {
  type Configuration,
  decodeEnvelope,
  membersOf,
  quorumsOf,
  sameConfiguration,
} from '../../caspaxos/index.ts';
import { type Ballot, compareBallots, formatBallot } from '../../protocol/index.ts';
import { ERASABLE_KEY } from './history.ts';
import { IDENTITY_KEY, REGISTER_KEYS } from './store-server.ts';

interface Accepted {
  readonly ballot: Ballot;
  /** The number of the set of acceptors that it was proposed to. */
  readonly set: number;
  readonly value: string;
  /** Which acceptors have it, one bit each. */
  mask: number;
}

/** What became durable in an acceptor's document of a register: a part of what `documents.ts` writes. */
interface DurableRecord {
  readonly set: number;
  readonly accepted: readonly [number, string, number];
  readonly value: string | null;
}

export interface Chosen {
  readonly key: string;
  readonly ballot: Ballot;
  readonly version: number;
  readonly operations: readonly string[];
}

export class Ancestry {
  readonly #urls: readonly string[];
  readonly #isOurs: (key: string) => boolean;
  /** The sets of acceptors by their numbers, as the acceptors know them. */
  readonly #sets = new Map<number, Configuration>();
  /** By register, then by ballot. */
  readonly #accepted = new Map<string, Map<string, Accepted>>();
  #conflict: string | undefined;

  /** `urls`: of the acceptors, by their indices. `isOurs`: whether a register's values are lists of operations. */
  constructor(urls: readonly string[], isOurs: (key: string) => boolean) {
    this.#urls = urls;
    this.#isOurs = isOurs;
  }

  /** A document became durable on that acceptor's disk. */
  onDurable(acceptor: number, document: string, text: string): void {
    if (document === IDENTITY_KEY)
      this.#noteSet(contentOf<{ configuration?: Configuration }>(text)?.configuration);
    const key = document.slice(REGISTER_KEYS.length);
    if (!document.startsWith(REGISTER_KEYS) || !this.#isOurs(key)) return;
    const record = contentOf<DurableRecord>(text);
    if (record === undefined || record.value === null) return;
    const [counter, proposer, incarnation] = record.accepted;
    const ballot = { counter, proposer, incarnation };
    const ofKey = this.#accepted.get(key) ?? new Map<string, Accepted>();
    this.#accepted.set(key, ofKey);
    const name = formatBallot(ballot);
    const known = ofKey.get(name);
    if (known === undefined) {
      ofKey.set(name, { ballot, set: record.set, value: record.value, mask: 2 ** acceptor });
    } else {
      if (known.value !== record.value) this.#conflict ??= `two values of ${key} were accepted under ${name}`;
      known.mask |= 2 ** acceptor;
    }
  }

  /**
   * The acceptor's disk was replaced by an older copy. What it lost and nobody was told of was never accepted as far as
   * anybody will ever know, so it must not count; what somebody was told of is looked after by the other checks.
   */
  onRolledBack(acceptor: number, copy: ReadonlyMap<string, string>): void {
    for (const [key, ofKey] of this.#accepted) {
      const stored = copy.get(REGISTER_KEYS + key);
      const record =
        stored === undefined ? undefined : contentOf<DurableRecord>(stored.slice(stored.indexOf(' ') + 1));
      const [counter, proposer, incarnation] = record?.accepted ?? [0, '', 0];
      const kept = { counter, proposer, incarnation };
      for (const accepted of ofKey.values()) {
        if (compareBallots(accepted.ballot, kept) > 0) accepted.mask &= ~(2 ** acceptor);
      }
    }
  }

  /** What was chosen, by register, in the order of ballots. */
  chosen(): readonly Chosen[] {
    return [...this.#accepted].flatMap(([key, ofKey]) =>
      [...ofKey.values()]
        .filter((accepted) => this.#isChosen(accepted))
        .sort((a, b) => compareBallots(a.ballot, b.ballot))
        .map(({ ballot, value }) => {
          return { key, ballot, ...operationsIn(value) };
        }),
    );
  }

  /** All that is in any value that any acceptor has accepted. */
  operations(): Set<string> {
    const values = [...this.#accepted.values()].flatMap((ofKey) => [...ofKey.values()]);
    return new Set(values.flatMap(({ value }) => operationsIn(value).operations));
  }

  #isChosen({ set, mask }: Accepted): boolean {
    const configuration = this.#sets.get(set);
    if (configuration === undefined) return false;
    const ofMembers = membersOf(configuration).map(({ url }) => (mask >> this.#urls.indexOf(url)) & 1);
    return quorumsOf(configuration).isPhase2Quorum(ofMembers.reduce((sum, bit, at) => sum | (bit << at), 0));
  }

  #noteSet(configuration: Configuration | undefined): void {
    if (configuration === undefined) return;
    const known = this.#sets.get(configuration.number);
    if (known === undefined) this.#sets.set(configuration.number, configuration);
    else if (!sameConfiguration(known, configuration)) {
      this.#conflict ??= `there are two sets of acceptors with the number ${configuration.number}`;
    }
  }

  /** In words, what is wrong. */
  violation(chosen: readonly Chosen[]): string | undefined {
    if (this.#conflict !== undefined) return this.#conflict;
    for (const [at, later] of chosen.entries()) {
      const earlier = chosen[at - 1];
      if (earlier === undefined || earlier.key !== later.key) continue;
      if (!descends(earlier, later)) {
        const names = [later, earlier]
          .map(({ ballot }) => formatBallot(ballot))
          .join(', which does not descend from ');
        return `register ${later.key}: chosen under ${names}`;
      }
    }
    return undefined;
  }
}

function operationsIn(value: string): Pick<Chosen, 'version' | 'operations'> {
  const { version, json } = decodeEnvelope(value);
  return { version, operations: json === undefined ? [] : (JSON.parse(json) as string[]) };
}

function descends(earlier: Chosen, later: Chosen): boolean {
  const same = earlier.operations.every((operation, at) => operation === later.operations[at]);
  if (earlier.version === later.version) return same && earlier.operations.length === later.operations.length;
  return earlier.version < later.version && (same || later.key === ERASABLE_KEY);
}

/** Undefined for a document that was garbled. */
export function contentOf<T>(text: string): T | undefined {
  return text.includes('\u0000') ? undefined : (JSON.parse(text.slice(text.indexOf('{'))) as T);
}
