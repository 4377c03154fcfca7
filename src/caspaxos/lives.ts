/**
 * Recording the lives of acceptors (`core/life.ts`). An acceptor that was started again answers for registers only when the configuration
 * names its new life; whoever comes across it first sees to that, by an edit of the configuration's register.
 *
 * Those in a recorded life decide it, and all know of it before the new life is used, as long as they are enough: then two copies never
 * count side by side, however names are resolved. Where they are not enough (one is gone and another restarts; all restart) those that follow
 * the recorded life have a vote in this, or nobody would ever go on. What that leaves open is in docs/design.md.
 *
 * One that does not follow the recorded life is a copy that was superseded, or an older one: the register has said so, and its next
 * lives follow it. It is told of the configuration over its own stream, and refuses everybody from then on.
 */
import type { Host, Timer } from '../protocol/index.ts';
import type { Acceptor } from './acceptors.ts';
import type { Announcing } from './announce.ts';
import {
  type AcceptorMember,
  blocks,
  type Configuration,
  lifeStanding,
  maskOfMembers,
  membersOf,
  quorumsOf,
  recordedLife,
  revised,
  sameSets,
  type ToldLife,
} from './core/index.ts';
import { CasPaxosError } from './errors.ts';
import { describe, type Named } from './named.ts';
import type { View } from './register.ts';
import { bringIntoForce, type EditConfiguration, newer } from './revisions.ts';

export interface LivesOptions extends Announcing {
  readonly host: Host;
  /** How long one acceptor may take to answer. */
  readonly requestTimeoutMs: number;
  readonly editConfiguration: EditConfiguration;
  readonly configuration: () => Configuration;
  readonly acceptorOf: (member: AcceptorMember) => Acceptor | undefined;
  /** In which those that follow the recorded life have a vote. */
  readonly viewOfAll: () => View;
  /** Looks for a newer configuration, and goes over to it. */
  readonly refresh: () => Promise<void>;
  readonly onWarning: (error: CasPaxosError) => void;
  /** Two lives of it were in use at the same time. */
  readonly onCopied: (member: AcceptorMember, error: CasPaxosError) => void;
}

/** Several processes come across the same restart: one of them should be first. */
const FIRST_WITHIN_MS = 20;
/** As long as somebody asks for the acceptor. */
const AGAIN_AFTER_MS = 200;

/** What the members told, all at one time. */
interface Look {
  readonly current: Configuration;
  readonly told: ReadonlyMap<string, ToldLife>;
  /** In the recorded life. */
  readonly sound: ReadonlySet<string>;
  /** These and those that follow the recorded life. */
  readonly inLine: ReadonlySet<string>;
  readonly knowsNewer: boolean;
}

export class Lives {
  readonly #options: LivesOptions;
  /** Lives of which the register said that they are not in line. They never will be. */
  readonly #strangers = new Set<string>();
  readonly #meeting = new Set<string>();
  #timer: Timer | undefined;
  #isRunning = false;
  #hasFailed = false;
  /** They seemed to be enough, and were not: their disks may be full. The next attempt is one with all. */
  #haveOthersFailed = false;
  #isClosed = false;

  constructor(options: LivesOptions) {
    this.#options = options;
  }

  /** Somebody is in a life that is not recorded. */
  look(): void {
    if (this.#timer !== undefined || this.#isRunning || this.#isClosed) return;
    const { host } = this.#options;
    const random = host.random();
    const delayMs = this.#hasFailed ? AGAIN_AFTER_MS * (0.5 + random) : FIRST_WITHIN_MS * random;
    this.#timer = host.after(delayMs, () => {
      this.#timer = undefined;
      void this.#run();
    });
  }

  /** What a process found when it began is recorded before it begins to work; it does not wait for long. */
  async begin(named: readonly Named[]): Promise<void> {
    const members = membersOf(this.#options.configuration());
    const isNews = ({ description }: Named): boolean =>
      members.some(
        ({ id, life }) =>
          id === description?.id && description.life !== undefined && description.life.id !== life?.id,
      );
    if (!named.some(isNews)) return;
    const { host, requestTimeoutMs } = this.#options;
    await new Promise<void>((resolve) => {
      const timer = host.after(requestTimeoutMs, resolve);
      void this.#run().finally(() => {
        host.cancel(timer);
        resolve();
      });
    });
  }

  /** Why that life is not used, and never will be. */
  refusal(acceptor: Acceptor | undefined): CasPaxosError | undefined {
    const { url, life } = acceptor ?? {};
    return life !== undefined && this.#strangers.has(life.id) ? superseded(url!) : undefined;
  }

  /** It was away: it may have missed a configuration, or have been where another one was decided under the same number. */
  async metAgain(member: AcceptorMember): Promise<void> {
    const { acceptorOf, configuration, onCopied } = this.#options;
    const acceptor = acceptorOf(member);
    if (acceptor?.life === undefined || this.#meeting.has(member.id)) return;
    this.#meeting.add(member.id);
    const known = (await describe(acceptor)).description?.configuration;
    this.#meeting.delete(member.id);
    const current = configuration();
    if (this.#isClosed || known?.cluster !== current.cluster) return;
    if (known.number < current.number) await this.#options.install(current, [member]);
    // The first one is not decided, but the same for all: those who begin with another are refused.
    if (known.number !== current.number || known.number === 1 || !sameSets(known, current)) return;
    for (const one of membersOf(current))
      if (recordedLife(known, one.id)?.id !== one.life?.id) onCopied(one, copied(one.url));
  }

  close(): void {
    this.#isClosed = true;
    this.#options.host.cancel(this.#timer);
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    this.#hasFailed = true;
    try {
      this.#hasFailed = !(await this.#record());
    } catch {
      // No quorum, or none in time. What became of it is found by the next attempt.
    }
    this.#isRunning = false;
  }

  async #record(): Promise<boolean> {
    const { configuration, refresh } = this.#options;
    let look = await this.#lookAtAll();
    if (look.knowsNewer) {
      await refresh();
      if (configuration() !== look.current) look = await this.#lookAtAll();
    }
    const { current, told, sound, inLine } = look;
    const isNews = (member: AcceptorMember): boolean => this.#isNews(member, told.get(member.id));
    if (this.#isClosed || !membersOf(current).some(isNews)) return true;
    const isDecidedByOthers = areEnough(current, sound) && !this.#haveOthersFailed;
    if (!isDecidedByOthers && !areEnough(current, inLine)) return false;
    this.#haveOthersFailed = isDecidedByOthers;
    const decided = await this.#decide(look, isDecidedByOthers);
    const strangers = this.#strangersIn(decided, told);
    const voters = isDecidedByOthers ? sound : inLine;
    const counts = (id: string): boolean => voters.has(id) && !strangers.some((member) => member.id === id);
    const isInForce =
      !this.#isClosed && (await bringIntoForce(this.#options, decided, configuration(), counts));
    // The others are told what they are, too; nobody waits for that.
    const others = membersOf(decided).filter(({ id }) => told.has(id) && !counts(id));
    if (!this.#isClosed) void this.#options.install(decided, others);
    if (isInForce) this.#haveOthersFailed = false;
    return isInForce;
  }

  #decide({ current, told }: Look, byOthers: boolean): Promise<Configuration> {
    const { editConfiguration, viewOfAll, requestTimeoutMs } = this.#options;
    const record = (member: AcceptorMember): AcceptorMember => withLife(member, told.get(member.id));
    const all = byOthers ? undefined : viewOfAll();
    return editConfiguration((known) => revised(newer(known, current), record), {
      view: all && (() => all),
      timeoutMs: 2 * requestTimeoutMs,
    });
  }

  #strangersIn(decided: Configuration, told: ReadonlyMap<string, ToldLife>): readonly AcceptorMember[] {
    const strangers = membersOf(decided).filter(
      ({ id, life }) => lifeStanding(told.get(id), life) === 'stranger',
    );
    for (const { id, url } of strangers) {
      const life = told.get(id)!.id;
      if (!this.#strangers.has(life)) this.#options.onWarning(superseded(url));
      this.#strangers.add(life);
    }
    return strangers;
  }

  #isNews(member: AcceptorMember, told: ToldLife | undefined): boolean {
    if (told === undefined || this.#strangers.has(told.id)) return false;
    return member.life === undefined || lifeStanding(told, member.life) !== 'in use';
  }

  async #lookAtAll(): Promise<Look> {
    const { configuration, acceptorOf } = this.#options;
    const current = configuration();
    const members = membersOf(current).filter(({ retired }) => retired === undefined);
    const told = new Map<string, ToldLife>();
    const [sound, inLine] = [new Set<string>(), new Set<string>()];
    let knowsNewer = false;
    const lookAt = (member: AcceptorMember, { description }: Named): void => {
      if (description?.id !== member.id) return;
      if (description.life !== undefined) told.set(member.id, description.life);
      const isNewer = (description.configuration?.number ?? 0) > current.number;
      knowsNewer ||= isNewer;
      // It answers nobody of this number any more.
      if (isNewer) return;
      const standing = lifeStanding(description.life, member.life);
      if (standing === 'in use') sound.add(member.id);
      if (standing !== 'stranger') inLine.add(member.id);
    };
    await Promise.all(
      members.map(async (member) => {
        const acceptor = acceptorOf(member);
        if (acceptor !== undefined) lookAt(member, await describe(acceptor));
      }),
    );
    return { current, told, sound, inLine, knowsNewer };
  }
}

function withLife(member: AcceptorMember, told: ToldLife | undefined): AcceptorMember {
  if (told === undefined || member.retired !== undefined) return member;
  const isNews = member.life === undefined || lifeStanding(told, member.life) === 'successor';
  return isNews ? { ...member, life: { id: told.id, from: told.from } } : member;
}

/** To decide something, and to leave no quorum to those who have not heard of it. */
function areEnough(configuration: Configuration, ids: ReadonlySet<string>): boolean {
  const quorums = quorumsOf(configuration);
  const mask = maskOfMembers(membersOf(configuration), ids);
  return quorums.isPhase1Quorum(mask) && quorums.isPhase2Quorum(mask) && blocks(quorums, mask);
}

function copied(url: string): CasPaxosError {
  return new CasPaxosError(
    'ACCEPTOR_COPIED',
    `Two copies of acceptor ${url} were in use at the same time, each with other acceptors: what was committed on one side may be lost. Replace it.`,
  );
}

function superseded(url: string): CasPaxosError {
  return new CasPaxosError(
    'ACCEPTOR_SUPERSEDED',
    `Behind ${url} is a copy of an acceptor, and the configuration names another life of it: it is not used. Stop it; if there is no other, replace the acceptor.`,
  );
}
