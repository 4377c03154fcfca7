/**
 * Carries registers from the survivors of a lost majority to new acceptors (`recover.ts`). Of each register the survivors promise a
 * ballot under the number of the fence: that tells what they have accepted, and nobody of the old cluster can write there any more,
 * not even a process that remembers a store's document and its version. The accepted proposal with the highest ballot is then accepted by all
 * new acceptors, under its own ballot and as the same text: versions, operations and tombstones stay as they are, every later
 * ballot is higher, and a repetition changes nothing.
 */
import {
  type Ballot,
  BALLOT_ZERO,
  compareBallots,
  type Host,
  isZeroBallot,
  sameBallot,
} from '../../protocol/index.ts';
import { Batcher } from '../batcher.ts';
import {
  BallotSource,
  decodeEnvelope,
  hybrid,
  type ProposerIdentity,
  QUERY,
  type RegisterMessage,
  type RegisterReply,
} from '../core/index.ts';
import { asCasPaxosError, CasPaxosError, isErrorCode } from '../errors.ts';
import { CONFIGURATION_KEY } from '../values.ts';
import { type Participant, type RecoveryPlan, refused } from './plan.ts';

export interface Copied {
  readonly registers: number;
  /** Of these, how many are deleted. */
  readonly tombstones: number;
}

export interface CopyOptions {
  readonly plan: RecoveryPlan;
  readonly host: Host;
  readonly timeoutMs: number;
  readonly onProgress: (registers: number) => void;
}

interface Accepted {
  readonly ballot: Ballot;
  readonly value: string | undefined;
}

const LIST_PAGE = 1000;
/** Each with values of up to a megabyte in every answer. */
const REGISTERS_AT_ONCE = 32;
/** A survivor is asked by nobody else, so the second ballot is higher than what it has promised. */
const MAX_BALLOTS = 8;

export class Copying {
  readonly #options: CopyOptions;
  readonly #survivors: readonly Line[];
  readonly #targets: readonly Line[];
  readonly #identity: ProposerIdentity;
  #registers = 0;
  #tombstones = 0;

  constructor(options: CopyOptions) {
    const { plan, host } = options;
    this.#options = options;
    this.#survivors = plan.survivors.map((one, index) => new Line(one, index, plan.fence.number, options));
    this.#targets = plan.targets.map((one, index) => new Line(one, index, plan.unfinished.number, options));
    this.#identity = { proposer: 'recovery', incarnation: 1 + host.randomInteger(2 ** 48 - 2) };
  }

  async run(): Promise<Copied> {
    // What an earlier attempt took from a survivor that is not there any more counts as well.
    const sources = this.#options.plan.isBegun ? [...this.#survivors, ...this.#targets] : this.#survivors;
    for (const [at, source] of sources.entries())
      for await (const page of source.pages()) await this.#copyAll(page, sources.slice(0, at));
    return { registers: this.#registers, tombstones: this.#tombstones };
  }

  /** `earlier`: their registers have been copied. */
  async #copyAll(page: readonly string[], earlier: readonly Line[]): Promise<void> {
    let next = 0;
    const worker = async (): Promise<void> => {
      while (next < page.length) {
        const key = page[next]!;
        next += 1;
        const known = await Promise.all(earlier.map((line) => line.query(key)));
        if (known.every(({ ballot }) => isZeroBallot(ballot))) await this.#copy(key);
      }
    };
    await Promise.all(Array.from({ length: Math.min(REGISTERS_AT_ONCE, page.length) }, worker));
  }

  async #copy(key: string): Promise<void> {
    const held = await Promise.all(this.#survivors.map((line) => this.#freeze(line, key)));
    // Which acceptors there are is not taken from the old cluster.
    if (key === CONFIGURATION_KEY) return;
    const there = this.#options.plan.isBegun
      ? await Promise.all(this.#targets.map((line) => line.query(key)))
      : [];
    const newest = highest(key, [...held, ...there]);
    // Somebody once asked for a promise, and no value followed.
    if (newest?.value === undefined) return;
    const { ballot, value } = newest;
    const isTombstone = isDeleted(key, value);
    await Promise.all(this.#targets.map((line) => line.accept(key, ballot, value)));
    this.#registers += 1;
    if (isTombstone) this.#tombstones += 1;
    this.#options.onProgress(this.#registers);
  }

  async #freeze(line: Line, key: string): Promise<Accepted> {
    const clock = (): number => this.#options.host.wallClock();
    const ballots = new BallotSource(this.#identity, hybrid(clock), clock);
    for (let attempt = 0; attempt < MAX_BALLOTS; attempt += 1) {
      const reply = await line.ask(key, { type: '1a', ballot: ballots.next() });
      if (reply.type === '1b') return { ballot: reply.accepted, value: reply.value };
      if (reply.type !== 'nak') throw line.unexpected(key, reply);
      ballots.observe(reply.promised);
    }
    throw refused(`Acceptor ${line.url} promises no ballot for register ${key}: does another recovery run?`);
  }
}

/** One acceptor, spoken to in batches. */
class Line {
  readonly url: string;
  readonly #participant: Participant;
  readonly #set: number;
  readonly #batcher: Batcher;

  constructor(participant: Participant, index: number, set: number, { host, timeoutMs }: CopyOptions) {
    this.#participant = participant;
    this.#set = set;
    this.url = participant.acceptor.url;
    this.#batcher = new Batcher(participant.acceptor, index, {
      host,
      timeoutMs,
      maxWaiting: REGISTERS_AT_ONCE,
      isUrgent: () => true,
      onBatch: () => {},
      onFailure: () => {},
      onSuccess: () => {},
    });
  }

  async *pages(): AsyncGenerator<readonly string[]> {
    for (let after = ''; ;) {
      const page = await this.#list(after);
      yield page;
      if (page.length < LIST_PAGE) return;
      after = page.at(-1)!;
    }
  }

  ask(key: string, message: RegisterMessage): Promise<RegisterReply> {
    const request = { key, set: this.#set, message };
    return new Promise((resolve) => this.#batcher.send(request, (_, reply) => resolve(reply)));
  }

  async query(key: string): Promise<Accepted> {
    const reply = await this.ask(key, QUERY);
    if (reply.type !== 'state') throw this.unexpected(key, reply);
    return { ballot: reply.accepted, value: reply.value };
  }

  async accept(key: string, ballot: Ballot, value: string): Promise<void> {
    const reply = await this.ask(key, { type: '2a', ballot, value });
    if (reply.type !== '2b') throw this.unexpected(key, reply);
  }

  unexpected(key: string, reply: RegisterReply): CasPaxosError {
    if (reply.type === 'failed') {
      const code = isErrorCode(reply.code) ? reply.code : 'STORE_FAILED';
      return new CasPaxosError(code, `Register ${key} cannot be recovered: ${reply.message}`);
    }
    if (reply.type === 'alarm') return reused(key);
    return refused(
      `Acceptor ${this.url} refuses register ${key} (${reply.type}): somebody else uses it. Look, and run the recovery again.`,
    );
  }

  async #list(after: string): Promise<readonly string[]> {
    try {
      return await this.#participant.acceptor.list(after, LIST_PAGE);
    } catch (error) {
      throw asCasPaxosError(error, 'UNREACHABLE', `Acceptor ${this.url}`);
    }
  }
}

function highest(key: string, all: readonly Accepted[]): Accepted | undefined {
  let newest: Accepted = { ballot: BALLOT_ZERO, value: undefined };
  for (const one of all) {
    if (sameBallot(one.ballot, newest.ballot) && one.value !== newest.value) throw reused(key);
    if (compareBallots(one.ballot, newest.ballot) > 0) newest = one;
  }
  return newest;
}

function reused(key: string): CasPaxosError {
  return new CasPaxosError('BALLOT_REUSED', `Register ${key} has two values for one ballot.`);
}

function isDeleted(key: string, value: string): boolean {
  try {
    return decodeEnvelope(value).json === undefined;
  } catch (error) {
    throw asCasPaxosError(error, 'CORRUPT_RECORD', `Register ${key}`);
  }
}
