/**
 * Lives of acceptors (`core/life.ts`), explored: three acceptors that are started again in any moment, a copy of the directory of one
 * of them, and two processes that record lives and change a register. Where the third acceptor was copied, one process reaches the
 * original (c1) and the other the copy (c2), as if a name led elsewhere.
 *
 * A change of a register, and an edit of the configuration's, is one step at a quorum: that both are linearizable is shown elsewhere.
 * What is looked at here is whose answers make up a quorum. Who follows whom is decided by the library's own functions.
 */
import { type Life, lifeStanding, nextLife, settledLife, type ToldLife } from 'baton/caspaxos';

/** What may be taken out, to see that the explorer notices. */
export type LifeGuard =
  | 'only the recorded life is used'
  | 'the new life follows the recorded one'
  | 'the others know before it is used'
  | 'the others decide while they are enough'
  | 'its own vote counts when they are not'
  | 'a start names all lives since the recorded one';

export interface LifeSetting {
  /** Taken while c1 is down, or while it runs. */
  readonly copy?: 'cold' | 'hot';
  /** Acceptors that may stop, and start again. */
  readonly mayStop: readonly Place[];
  readonly starts: number;
  /** Of the register. */
  readonly changes: number;
  readonly without?: LifeGuard;
}

type Place = 'a' | 'b' | 'c1' | 'c2';
type Member = 'a' | 'b' | 'c';
const MEMBERS: readonly Member[] = ['a', 'b', 'c'];
const QUORUM = 2;

interface Recorded {
  readonly number: number;
  readonly lives: Readonly<Record<Member, Life>>;
}

interface Acceptor {
  readonly isUp: boolean;
  readonly life: ToldLife;
  /** Installed. */
  readonly knows: Recorded;
  /** Accepted in the configuration's register. */
  readonly decided: Recorded;
  /** Of the register. */
  readonly value: number;
}

interface Process {
  readonly name: 'P' | 'Q';
  readonly uses: Recorded;
}

export interface LifeState {
  readonly acceptors: Readonly<Record<Place, Acceptor | null>>;
  readonly processes: readonly Process[];
  readonly starts: number;
  readonly changes: number;
  /** A change did not see the one before it. */
  readonly isLost: boolean;
  /** The life of c that counted last, and those that counted before it. */
  readonly counted: readonly string[];
  /** Two lives of c took turns. */
  readonly isDouble: boolean;
  /** The only directory of a member was taken for a stranger by a process that had asked the configuration's register. */
  readonly isFalseAlarm: boolean;
}

type Step = { readonly action: string; readonly state: LifeState };

export class LifeModel {
  readonly initial: LifeState;
  readonly #setting: LifeSetting;

  constructor(setting: LifeSetting) {
    this.#setting = setting;
    const life = (member: Member): Life => ({ id: `${member}0`, from: 0 });
    const recorded: Recorded = { number: 1, lives: { a: life('a'), b: life('b'), c: life('c') } };
    const born = (member: Member): Acceptor => ({
      isUp: true,
      life: { ...life(member), after: [] },
      knows: recorded,
      decided: recorded,
      value: 0,
    });
    const process = (name: 'P' | 'Q'): Process => ({ name, uses: recorded });
    this.initial = {
      acceptors: { a: born('a'), b: born('b'), c1: born('c'), c2: null },
      processes: [process('P'), process('Q')],
      starts: 0,
      changes: 0,
      isLost: false,
      counted: [],
      isDouble: false,
      isFalseAlarm: false,
    };
  }

  *successors(state: LifeState): Generator<Step> {
    yield* this.#operate(state);
    for (const process of state.processes) {
      yield* this.#change(state, process);
      yield* this.#refresh(state, process);
      yield* this.#decide(state, process);
    }
  }

  /** Whether somebody can have the lives that are told now recorded, and use them: nobody waits for ever. */
  canGoOn(state: LifeState): boolean {
    return state.processes.some((process) => {
      const up = MEMBERS.filter((member) => this.#at(state, process, member)?.isUp);
      if (up.length < QUORUM) return true;
      const isAtWork = [...this.#change({ ...state, changes: -1 }, process)].length > 0;
      return isAtWork || [...this.#refresh(state, process), ...this.#decide(state, process)].length > 0;
    });
  }

  *#operate(state: LifeState): Generator<Step> {
    const { copy, mayStop, starts } = this.#setting;
    for (const place of ['a', 'b', 'c1', 'c2'] as const) {
      const acceptor = state.acceptors[place];
      if (acceptor === null) continue;
      if (acceptor.isUp && mayStop.includes(place))
        yield { action: `${place} stops`, state: withAcceptor(state, place, { ...acceptor, isUp: false }) };
      if (!acceptor.isUp && state.starts < starts)
        yield { action: `${place} starts`, state: this.#start(state, place, acceptor) };
    }
    const { c1, c2 } = state.acceptors;
    if (c2 === null && copy !== undefined && c1!.isUp === (copy === 'hot'))
      yield { action: 'c1 is copied', state: withAcceptor(state, 'c2', { ...c1!, isUp: false }) };
  }

  #start(state: LifeState, place: Place, acceptor: Acceptor): LifeState {
    const member = memberAt(place);
    const life = { id: `${place}${state.starts + 1}`, from: 0 };
    const next = nextLife(life, acceptor.life, acceptor.knows.lives[member]);
    const isShort = this.#setting.without === 'a start names all lives since the recorded one';
    const told = isShort ? { ...next, after: next.after.slice(0, 1) } : next;
    return {
      ...withAcceptor(state, place, { ...acceptor, isUp: true, life: told }),
      starts: state.starts + 1,
    };
  }

  /** One process reaches the original, the other the copy. */
  #placeOf(state: LifeState, { name }: Process, member: Member): Place {
    if (member !== 'c') return member;
    return name === 'Q' && state.acceptors.c2 !== null ? 'c2' : 'c1';
  }

  #at(state: LifeState, process: Process, member: Member): Acceptor | null {
    return state.acceptors[this.#placeOf(state, process, member)];
  }

  /** Whom a process with that configuration may count. */
  #voters(
    state: LifeState,
    process: Process,
    may: (standing: string) => boolean,
    number = process.uses.number,
  ): readonly Member[] {
    return MEMBERS.filter((member) => {
      const acceptor = this.#at(state, process, member);
      if (acceptor === null || !acceptor.isUp || acceptor.knows.number > number) return false;
      return may(lifeStanding(acceptor.life, process.uses.lives[member]));
    });
  }

  *#change(state: LifeState, process: Process): Generator<Step> {
    if (state.changes >= this.#setting.changes) return;
    const isOpen = this.#setting.without === 'only the recorded life is used';
    const voters = this.#voters(state, process, (standing) => isOpen || standing === 'in use');
    for (const quorum of pairsOf(voters)) {
      const places = quorum.map((member) => this.#placeOf(state, process, member));
      const read = Math.max(...places.map((place) => state.acceptors[place]!.value));
      let next: LifeState = {
        ...state,
        changes: state.changes + 1,
        isLost: state.isLost || read < state.changes,
      };
      for (const place of places)
        next = withAcceptor(next, place, { ...next.acceptors[place]!, value: state.changes + 1 });
      if (quorum.includes('c')) next = count(next, this.#at(state, process, 'c')!.life.id);
      yield { action: `${process.name} changes the register at ${places.join()}`, state: next };
    }
  }

  /** Somebody refuses the older number; or the process starts anew, and asks. */
  *#refresh(state: LifeState, process: Process): Generator<Step> {
    let newest = process.uses;
    for (const member of MEMBERS) {
      const acceptor = this.#at(state, process, member);
      if (acceptor?.isUp && acceptor.knows.number > newest.number) newest = acceptor.knows;
    }
    if (newest === process.uses) return;
    let next = state;
    for (const member of MEMBERS) next = this.#install(next, process, member, newest);
    yield {
      action: `${process.name} finds number ${newest.number}`,
      state: withProcess(next, { ...process, uses: newest }),
    };
  }

  *#decide(state: LifeState, process: Process): Generator<Step> {
    const { without } = this.#setting;
    const sound = this.#voters(state, process, (standing) => standing === 'in use');
    const all = this.#voters(state, process, (standing) => standing !== 'stranger');
    const isStrict = sound.length >= QUORUM && without !== 'the others decide while they are enough';
    if (!isStrict && without === 'its own vote counts when they are not') return;
    const told = MEMBERS.filter((member) => {
      const acceptor = this.#at(state, process, member);
      return acceptor?.isUp && lifeStanding(acceptor.life, process.uses.lives[member]) !== 'in use';
    });
    if (told.length === 0) return;
    for (const quorum of pairsOf(isStrict ? sound : all)) {
      const places = quorum.map((member) => this.#placeOf(state, process, member));
      let found = process.uses;
      for (const place of places) {
        const { decided } = state.acceptors[place]!;
        if (decided.number > found.number) found = decided;
      }
      const edited = this.#edited(state, process, told, found);
      let next = edited.state;
      for (const place of places)
        next = withAcceptor(next, place, { ...next.acceptors[place]!, decided: edited.recorded });
      if (edited.recorded.number === process.uses.number) {
        if (next.isFalseAlarm !== state.isFalseAlarm) yield { action: 'alarm', state: next };
        continue;
      }
      const by = `${process.name} decides ${edited.recorded.number} at ${places.join()}`;
      yield* this.#makeKnown(next, process, edited.recorded, by);
    }
  }

  #edited(
    state: LifeState,
    process: Process,
    told: readonly Member[],
    found: Recorded,
  ): { readonly recorded: Recorded; readonly state: LifeState } {
    const lives: Record<Member, Life> = { ...found.lives };
    let isNews = false;
    let isFalseAlarm = false;
    for (const member of told) {
      const { life } = this.#at(state, process, member)!;
      const standing = lifeStanding(life, lives[member]);
      const isAny = this.#setting.without === 'the new life follows the recorded one';
      if (standing === 'successor' || (isAny && standing === 'stranger')) {
        lives[member] = { id: life.id, from: life.from };
        isNews = true;
      } else if (standing === 'stranger' && (member !== 'c' || state.acceptors.c2 === null))
        isFalseAlarm = true;
    }
    const next = isFalseAlarm ? { ...state, isFalseAlarm } : state;
    return { recorded: isNews ? { number: found.number + 1, lives } : found, state: next };
  }

  /** It dies at once, or when it has told one of them, and somebody may decide the same again; or it tells all. */
  *#makeKnown(state: LifeState, process: Process, recorded: Recorded, by: string): Generator<Step> {
    yield { action: by, state };
    const up = MEMBERS.filter((member) => this.#at(state, process, member)?.isUp);
    for (const member of up)
      yield { action: `${by}, tells ${member}`, state: this.#install(state, process, member, recorded) };
    const isHasty = this.#setting.without === 'the others know before it is used';
    const others = MEMBERS.filter((member) => recorded.lives[member].id === process.uses.lives[member].id);
    const relied = others.length >= QUORUM ? up.filter((member) => others.includes(member)) : up;
    if (relied.length < QUORUM && !isHasty) return;
    let next = withProcess(state, { ...process, uses: recorded });
    if (!isHasty) for (const member of up) next = this.#install(next, process, member, recorded);
    yield { action: `${by}, tells all`, state: next };
  }

  #install(state: LifeState, process: Process, member: Member, recorded: Recorded): LifeState {
    const acceptor = this.#at(state, process, member);
    if (acceptor === null || !acceptor.isUp || acceptor.knows.number >= recorded.number) return state;
    const life = settledLife(acceptor.life, recorded.lives[member]);
    return withAcceptor(state, this.#placeOf(state, process, member), { ...acceptor, life, knows: recorded });
  }
}

function memberAt(place: Place): Member {
  return place === 'c1' || place === 'c2' ? 'c' : place;
}

function pairsOf(members: readonly Member[]): readonly (readonly [Member, Member])[] {
  return members.flatMap((one, at) => members.slice(at + 1).map((other) => [one, other] as const));
}

function count(state: LifeState, life: string): LifeState {
  if (state.counted.at(-1) === life) return state;
  return {
    ...state,
    counted: [...state.counted, life],
    isDouble: state.isDouble || state.counted.includes(life),
  };
}

function withAcceptor(state: LifeState, place: Place, acceptor: Acceptor): LifeState {
  return { ...state, acceptors: { ...state.acceptors, [place]: acceptor } };
}

function withProcess(state: LifeState, process: Process): LifeState {
  const processes = state.processes.map((other) => (other.name === process.name ? process : other));
  return { ...state, processes };
}
