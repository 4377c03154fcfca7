/**
 * First starts that share an acceptor (`core/claim.ts`), explored: two processes begin a cluster each, of [a c] and of [c b], take
 * over what the other left, die in any moment, are started again, and ask for registers when they are open. An acceptor is a
 * store: its identity document is replaced on the condition that nobody else did, and a register may be written some time after
 * the identity document was looked at. Who may do what is decided by the library's own functions.
 */
import { type Claimed, type Configuration, mayInstall, mayReserve, serves } from 'baton/caspaxos';

/** What may be taken out, to see that the explorer notices. */
export type StartGuard =
  | 'requests name their cluster'
  | 'only members answer'
  | 'installing looks at the cluster'
  | 'refused anywhere, not open'
  | 'reservations are taken over';

export const STARTERS = ['A', 'B'] as const;
export type Starter = (typeof STARTERS)[number];
const ACCEPTORS: Readonly<Record<Starter, readonly string[]>> = { A: ['a', 'c'], B: ['c', 'b'] };

interface Identity extends Claimed {
  /** Grows when the document is replaced. */
  readonly version: number;
  /** The clusters that have written registers here. */
  readonly wrote: readonly Starter[];
}

interface Life {
  /** Reserving and installing in their order; then open. `refused`: it was not let in, and does not open. */
  readonly step: number | 'open' | 'refused';
  readonly lives: number;
  /** It began without knowing a configuration. */
  readonly isFirst: boolean;
  /** To be written, if the document still has that version. */
  readonly reserving: { readonly at: string; readonly version: number } | undefined;
  /** A request that was let in, and has not written yet. */
  readonly asking: string | undefined;
}

export interface StartState {
  readonly acceptors: Readonly<Record<string, Identity>>;
  readonly processes: Readonly<Record<Starter, Life>>;
}

const MAX_LIVES = 3;
const BORN: Life = { step: 0, lives: 1, isFirst: true, reserving: undefined, asking: undefined };

export class FirstStartModel {
  readonly initial: StartState = {
    acceptors: Object.fromEntries(['a', 'b', 'c'].map((id) => [id, { version: 0, wrote: [] }])),
    processes: { A: BORN, B: BORN },
  };
  readonly #without: StartGuard | undefined;

  constructor(without?: StartGuard) {
    this.#without = without;
  }

  *successors(state: StartState): Generator<{ action: string; state: StartState }> {
    for (const who of STARTERS) {
      yield* this.#work(state, who);
      const { lives } = state.processes[who];
      if (lives < MAX_LIVES)
        yield { action: `${who} dies and starts again`, state: this.#restart(state, who, lives + 1) };
    }
  }

  /** What the process does next, whatever the other one does meanwhile. */
  *#work(state: StartState, who: Starter): Generator<{ action: string; state: StartState }> {
    const life = state.processes[who];
    if (life.step === 'refused') return;
    if (life.step === 'open') return yield* this.#ask(state, who);
    const ids = ACCEPTORS[who];
    const id = ids[life.step % ids.length]!;
    if (life.step < ids.length) yield* this.#reserve(state, who, id);
    else yield* this.#install(state, who, id);
  }

  *#reserve(state: StartState, who: Starter, id: string): Generator<{ action: string; state: StartState }> {
    const identity = state.acceptors[id]!;
    const life = state.processes[who];
    if (life.reserving === undefined) {
      const next: Life = this.#mayReserve(identity, who)
        ? { ...life, reserving: { at: id, version: identity.version } }
        : this.#refused(life);
      return yield { action: `${who} looks at ${id}`, state: withLife(state, who, next) };
    }
    const isSame = identity.version === life.reserving.version;
    const after = withLife(state, who, {
      ...life,
      reserving: undefined,
      step: isSame ? (life.step as number) + 1 : life.step,
    });
    const action = `${who} reserves ${id}`;
    yield { action, state: isSame ? withIdentity(after, id, { cluster: who }) : after };
  }

  /** Whether a first start that began now, alone, would be let in everywhere. */
  mayBegin(state: StartState, who: Starter): boolean {
    return ACCEPTORS[who].every((id) => this.#mayReserve(state.acceptors[id]!, who));
  }

  #mayReserve(identity: Identity, who: Starter): boolean {
    const isTaken = identity.cluster !== undefined && identity.cluster !== who;
    if (isTaken && this.#without === 'reservations are taken over') return false;
    return mayReserve(identity, identity.wrote.length > 0, who);
  }

  *#install(state: StartState, who: Starter, id: string): Generator<{ action: string; state: StartState }> {
    const identity = state.acceptors[id]!;
    const life = state.processes[who];
    const configuration = configurationOf(who);
    const isAllowed =
      this.#without === 'installing looks at the cluster' || mayInstall(identity, configuration);
    const step = (life.step as number) + 1;
    const next = { ...life, step: step === 2 * ACCEPTORS[who].length ? ('open' as const) : step };
    const action = `${who} installs on ${id}`;
    if (!isAllowed) return yield { action, state: withLife(state, who, this.#refused(life, next)) };
    yield { action, state: withIdentity(withLife(state, who, next), id, { cluster: who, configuration }) };
  }

  /** A later start goes on without those that refuse it: it found a configuration on the others. */
  #refused(life: Life, next: Life = life): Life {
    const mayGoOn = !life.isFirst || this.#without === 'refused anywhere, not open';
    return mayGoOn ? next : { ...life, step: 'refused' };
  }

  *#ask(state: StartState, who: Starter): Generator<{ action: string; state: StartState }> {
    const life = state.processes[who];
    if (life.asking !== undefined) {
      const { wrote } = state.acceptors[life.asking]!;
      const acceptors = {
        ...state.acceptors,
        [life.asking]: { ...state.acceptors[life.asking]!, wrote: [...new Set([...wrote, who])].sort() },
      };
      const after = withLife({ ...state, acceptors }, who, { ...life, asking: undefined });
      return yield { action: `${who} writes to ${life.asking}`, state: after };
    }
    for (const id of ACCEPTORS[who]) {
      const identity = state.acceptors[id]!;
      const isReserved = identity.configuration === undefined && identity.cluster === who;
      const isServed =
        this.#without === 'requests name their cluster' ||
        (this.#without === 'only members answer' && isReserved) ||
        serves(identity, who);
      if (isServed && !identity.wrote.includes(who))
        yield { action: `${who} asks ${id}`, state: withLife(state, who, { ...life, asking: id }) };
    }
    // A later start finds those that know nothing, and tells them.
    if (life.isFirst) return;
    for (const id of ACCEPTORS[who]) {
      const identity = state.acceptors[id]!;
      if (identity.configuration === undefined && mayReserve(identity, identity.wrote.length > 0, who))
        yield {
          action: `${who} claims ${id}`,
          state: withIdentity(state, id, { cluster: who, configuration: configurationOf(who) }),
        };
    }
  }

  #restart(state: StartState, who: Starter, lives: number): StartState {
    const knows = ACCEPTORS[who].some((id) => state.acceptors[id]!.configuration?.cluster === who);
    return withLife(state, who, { ...BORN, lives, isFirst: !knows, step: knows ? 'open' : 0 });
  }
}

function configurationOf(who: Starter): Configuration {
  return { cluster: who, number: 1, acceptors: ACCEPTORS[who].map((id) => ({ id, url: id })) };
}

function withLife(state: StartState, who: Starter, life: Life): StartState {
  return { ...state, processes: { ...state.processes, [who]: life } };
}

function withIdentity(state: StartState, id: string, claimed: Claimed): StartState {
  const identity = state.acceptors[id]!;
  const next = { ...identity, ...claimed, version: identity.version + 1 };
  return { ...state, acceptors: { ...state.acceptors, [id]: next } };
}
