/**
 * Which acceptors a process works with, and how it found out. The configuration in force is kept by the acceptors
 * themselves (rules 8 and 9): a process asks those it was told of, takes the newest configuration that any of them knows,
 * and from then on speaks to the members of that, each under the identity that the configuration names.
 *
 * Only when *all* acceptors that were named are there and none of them knows any configuration is this the first start,
 * and the named ones become set 1. One that comes back empty can therefore never pass for a new cluster.
 */
import type { Host } from '../protocol/index.ts';
import type { Acceptor } from './acceptors.ts';
import { announce } from './announce.ts';
import { type Asked, Batcher } from './batcher.ts';
import type { ClusterCounters } from './counters.ts';
import {
  type AcceptorMember,
  type Configuration,
  MAX_ACCEPTORS,
  maskOfMembers,
  membersOf,
  QUERY,
  type AcceptorMask,
  type QuorumSystem,
  quorumsOf,
  quorumsOfSet,
} from './core/index.ts';
import { isDecided } from './decided.ts';
import { setDoubted } from './doubts.ts';
import { asCasPaxosError, CasPaxosError } from './errors.ts';
import { startFirst } from './first-start.ts';
import { Lives } from './lives.ts';
import { openAcceptor, printableUrl } from './open-acceptor.ts';
import { commonCluster, describe, findCandidate, hasQuorumOf, type Named, newest, trusted } from './named.ts';
import { retiredAcceptor, retirementError, retirementFor } from './retired.ts';
import { type EditConfiguration, Revisions } from './revisions.ts';
import type { View } from './register.ts';
import type { ServiceTls } from './service/client.ts';
import { Urgency } from './urgency.ts';

export interface AcceptorStatus extends AcceptorMember {
  readonly state: 'unknown' | 'up' | 'down';
  /** Why it is down. */
  readonly error?: CasPaxosError;
}

export interface MembershipOptions {
  readonly host: Host;
  readonly acceptors: readonly string[];
  readonly quorums?: { readonly phase1: number; readonly phase2: number };
  readonly token?: string;
  readonly openAcceptor?: (url: string) => Acceptor | undefined;
  readonly ca?: string;
  readonly tls?: () => ServiceTls | undefined;
  readonly requestTimeoutMs: number;
  readonly counters: ClusterCounters;
  readonly editConfiguration: EditConfiguration;
  readonly onView: () => void;
  readonly onStatus: (status: AcceptorStatus) => void;
  readonly onWarning: (error: CasPaxosError) => void;
}

const MAX_WAITING = 100_000;

export class Membership {
  readonly #options: MembershipOptions;
  readonly #revisions: Revisions;
  readonly #lives: Lives;
  /** URLs with credentials, by their places. */
  readonly #given = new Map<string, string>();
  /** By the id that the configuration gives them. */
  #acceptors = new Map<string, Acceptor>();
  /** Of a set that is not in force yet, but must know of it. */
  readonly #ahead = new Map<string, Acceptor>();
  #statuses = new Map<string, AcceptorStatus>();
  #configuration: Configuration | undefined;
  #view: View | undefined;
  #viewOfOld: View | undefined;
  #refreshing: Promise<void> | undefined;
  /** Numbers of sets that were told of and not believed. */
  readonly #doubted = new Set<number>();
  readonly #claiming = new Set<string>();
  #isClosed = false;

  constructor(options: MembershipOptions) {
    this.#options = options;
    const shared = {
      host: options.host,
      editConfiguration: options.editConfiguration,
      configuration: () => this.configuration,
      install: (configuration: Configuration, members: readonly AcceptorMember[]) =>
        this.install(configuration, members),
      adopt: (configuration: Configuration) => this.adopt(configuration),
    };
    this.#revisions = new Revisions(shared);
    this.#lives = new Lives({
      ...shared,
      requestTimeoutMs: options.requestTimeoutMs,
      acceptorOf: (member) => this.acceptorOf(member),
      viewOfAll: () => this.#viewInAnyLife(),
      refresh: () => this.refresh(),
      onWarning: options.onWarning,
      onCopied: (member, error) => this.#onCopied(member, error),
    });
  }

  get configuration(): Configuration {
    if (this.#configuration === undefined) throw new CasPaxosError('CLOSED', 'The cluster was not opened.');
    return this.#configuration;
  }

  get view(): View {
    if (this.#view === undefined) throw new CasPaxosError('CLOSED', 'The cluster was not opened.');
    return this.#view;
  }

  get statuses(): readonly AcceptorStatus[] {
    return membersOf(this.configuration).map((member) => this.#statuses.get(member.id)!);
  }

  async open(): Promise<void> {
    const urls = this.#options.acceptors;
    this.checkUrls(urls);
    const opened = urls.map((url) => this.openAcceptor(url));
    const named = await Promise.all(opened.map((acceptor) => describe(acceptor)));
    try {
      const cluster = commonCluster(named);
      const known = newest(named, cluster);
      const found = trusted(named, cluster) ?? (await startFirst(named, this.#options.quorums));
      const configuration = await this.#inForce(found, named);
      this.adopt(configuration, named);
      await this.install(configuration, membersOf(configuration));
      if (known !== undefined && known.number > configuration.number) await this.refresh();
      await this.#lives.begin(named);
    } catch (error) {
      await this.close(named.map(({ acceptor }) => acceptor));
      throw error;
    }
  }

  /**
   * A change of the set that no old acceptor has heard of is not in force yet, although new ones know it (`announce.ts`): the old
   * ones go on without it. They are asked; where too few of them answer it is first announced in its order. What is asked goes to `named`.
   */
  async #inForce(found: Configuration, named: Named[]): Promise<Configuration> {
    if (found.previous === undefined) return found;
    const isKnown = ({ id }: AcceptorMember): boolean =>
      named.some(({ description }) => description?.id === id);
    const unasked = found.previous.acceptors.filter((member) => !isKnown(member));
    named.push(...(await Promise.all(unasked.map(({ url }) => describe(this.openAcceptor(url))))));
    const newer = trusted(named, found.cluster)!;
    const old = new Set(found.previous.acceptors.map(({ id }) => id));
    const isAnnounced = named.some(
      ({ description }) =>
        old.has(description?.id ?? '') && (description!.configuration?.number ?? 0) >= newer.number,
    );
    if (newer.previous === undefined || isAnnounced) return newer;
    for (const member of membersOf(newer)) {
      const acceptor = findCandidate(named, member);
      if (acceptor === undefined) continue;
      acceptor.expect(member.id, newer.cluster, member.life);
      this.#ahead.set(member.id, acceptor);
    }
    await announce(this, newer);
    return newer;
  }

  /** By a URL that may have credentials, or by the place that a member of the set has instead: then by the URL given for that. */
  openAcceptor(url: string): Acceptor {
    const { token, ca, requestTimeoutMs, tls = () => ({ ca }) } = this.#options;
    const own = this.#options.openAcceptor?.(url);
    if (own !== undefined) return own;
    const place = printableUrl(url);
    if (place !== url) this.#given.set(place, url);
    return openAcceptor(this.#given.get(place) ?? url, { token, tls, timeoutMs: requestTimeoutMs });
  }

  /** Before any of them is opened, so that a typing error leaves nothing behind. */
  checkUrls(urls: readonly string[]): void {
    if (urls.length === 0)
      throw new CasPaxosError('NO_ACCEPTORS', 'A cluster needs at least one acceptor URL.');
    if (urls.length > MAX_ACCEPTORS) {
      throw new CasPaxosError('TOO_MANY_ACCEPTORS', `A cluster has at most ${MAX_ACCEPTORS} acceptors.`);
    }
    const addresses = urls.map((url) => this.addressOf(url));
    const repeated = addresses.find((url, at) => addresses.indexOf(url) !== at);
    if (repeated === undefined) return;
    throw new CasPaxosError('DUPLICATE_ACCEPTOR', `An acceptor is named twice: ${repeated}.`);
  }

  /** The URL as configurations and logs show it. Throws on one that cannot be opened. */
  addressOf(url: string): string {
    return this.#options.openAcceptor === undefined ? printableUrl(url) : url;
  }

  /** Works with this configuration from now on. `candidates`: acceptors that are open already. */
  adopt(configuration: Configuration, candidates: readonly Named[] = []): void {
    if (this.#configuration !== undefined && this.#configuration.number >= configuration.number)
      return this.#closeUnused(candidates);
    const members = membersOf(configuration);
    const kept = new Map<string, Acceptor>();
    for (const member of members) {
      const acceptor = member.retired
        ? retiredAcceptor(member, member.retired)
        : (this.#acceptors.get(member.id) ??
          this.#ahead.get(member.id) ??
          findCandidate(candidates, member) ??
          this.openAcceptor(member.url));
      acceptor.expect(member.id, configuration.cluster, member.life);
      kept.set(member.id, acceptor);
      if (!this.#statuses.has(member.id)) this.#statuses.set(member.id, { ...member, state: 'unknown' });
    }
    const open = [...this.#acceptors.values(), ...this.#ahead.values()];
    this.#ahead.clear();
    this.#acceptors = kept;
    this.#closeUnused([...open.map((acceptor) => ({ acceptor })), ...candidates]);
    this.#configuration = configuration;
    this.#view = this.#viewOf(members, quorumsOf(configuration));
    this.#viewOfOld = undefined;
    if (members.length % 2 === 0) this.#warnOfEvenNumber(members.length);
    this.#options.onView();
    for (const member of members)
      if (member.retired !== undefined) this.#report(member, retirementError(member.retired));
  }

  #closeUnused(open: readonly Named[]): void {
    const used = new Set(this.#acceptors.values());
    for (const { acceptor } of open) if (!used.has(acceptor)) void acceptor.close();
  }

  /** Makes the configuration known to those members; returns which of all members took it. */
  async install(configuration: Configuration, members: readonly AcceptorMember[]): Promise<AcceptorMask> {
    const results = await Promise.all(members.map((member) => this.#installOn(configuration, member)));
    const ids = new Set(members.filter((_, at) => results[at]).map(({ id }) => id));
    return maskOfMembers(membersOf(configuration), ids);
  }

  /**
   * The old acceptors of a change under way alone, whatever became of the new ones; all acceptors while this process knows of no change.
   * Under the number with which it works anyway, which the acceptors can explain to everybody.
   */
  get viewOfOld(): View {
    const { previous } = this.configuration;
    if (previous === undefined) return this.view;
    return (this.#viewOfOld ??= this.#viewOf(previous.acceptors, quorumsOfSet(previous, previous.acceptors)));
  }

  /** The set in force, where those count as well that follow the recorded life: for recording that. */
  #viewInAnyLife(): View {
    const { configuration } = this;
    const quorum = quorumsOf(configuration);
    const urgency = new Urgency(quorum);
    const batchers = membersOf(configuration).map((member, index) => {
      const acceptor = this.#acceptors.get(member.id)!;
      const { url, concurrency } = acceptor;
      const handle: Acceptor['handle'] = (requests, at) =>
        acceptor.handleUnrecorded?.(requests, at) ?? acceptor.handle(requests, at);
      return this.#batcher(member, index, urgency, { url, concurrency, handle });
    });
    return { set: configuration.number, quorum, batchers };
  }

  acceptorOf(member: AcceptorMember): Acceptor | undefined {
    return this.#acceptors.get(member.id);
  }

  /** Asks everybody for a newer configuration. At most one at a time; the result is adopted. */
  refresh(): Promise<void> {
    this.#refreshing ??= this.#lookForNewer().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  /**
   * Resolves when every acceptor that answers has handled what was sent to it before: a question waits its turn behind
   * the rest. Changes go on as soon as a quorum has answered; this is for when all copies matter.
   */
  async caughtUp(key: string): Promise<void> {
    const { batchers, set } = this.view;
    const request = { key, set, message: QUERY };
    await Promise.all(
      batchers.map((batcher) => new Promise<void>((resolve) => batcher.send(request, () => resolve()))),
    );
  }

  /** In words, why a quorum may not answer; undefined when all acceptors are up. */
  trouble(): string | undefined {
    const down = this.statuses.filter(({ state }) => state === 'down');
    if (down.length === 0) return undefined;
    const reasons = [...new Set(down.map(({ error }) => error?.message.replace(/\.$/, '') ?? 'no answer'))];
    return `${down.length} of ${this.statuses.length} acceptors do not answer (${reasons.join('; ')})`;
  }

  /** `others`: acceptors that were opened besides. */
  async close(others: readonly Acceptor[] = []): Promise<void> {
    this.#isClosed = true;
    this.#revisions.close();
    this.#lives.close();
    const open = new Set([...this.#acceptors.values(), ...this.#ahead.values(), ...others]);
    await Promise.all([...open].map((acceptor) => acceptor.close()));
  }

  #viewOf(members: readonly AcceptorMember[], quorum: QuorumSystem): View {
    const urgency = new Urgency(quorum);
    const batchers = members.map((member, index) => this.#batcher(member, index, urgency));
    return { set: this.configuration.number, quorum, batchers };
  }

  #acceptorFor(member: AcceptorMember, { cluster }: Configuration): Acceptor {
    const { id, url, retired, life } = member;
    const known = this.#acceptors.get(id) ?? this.#ahead.get(id);
    if (known !== undefined) return known;
    const acceptor = retired ? retiredAcceptor(member, retired) : this.openAcceptor(url);
    acceptor.expect(id, cluster, life);
    this.#ahead.set(id, acceptor);
    return acceptor;
  }

  async #installOn(configuration: Configuration, member: AcceptorMember): Promise<boolean> {
    if (this.#isClosed) return false;
    const acceptor = this.#acceptorFor(member, configuration);
    try {
      await acceptor.install(configuration).catch(async (error: unknown) => {
        // Perhaps another cluster's first start has reserved it, and never came back.
        if (!isConflict(error) || acceptor.reserve === undefined) throw error;
        await acceptor.reserve(configuration.cluster);
        await acceptor.install(configuration);
      });
      this.#report(member, undefined);
      return true;
    } catch (error) {
      this.#report(member, asCasPaxosError(error, 'UNREACHABLE', `Acceptor ${member.url}`));
      return false;
    }
  }

  async #lookForNewer(): Promise<void> {
    const named = await Promise.all([...this.#acceptors.values()].map((acceptor) => describe(acceptor)));
    const found = newest(named, this.configuration.cluster);
    if (found === undefined || found.number <= this.configuration.number || this.#isClosed) return;
    // Rule 11: whoever changes the set decides it first, and sees to it that no quorum is left to those who do not know it.
    if (
      hasQuorumOf(this.configuration, named) &&
      !(await isDecided(found.number, this.view, this.#options.host))
    ) {
      const error = setDoubted(found.number);
      if (!this.#doubted.has(found.number)) this.#options.onWarning(error);
      // Perhaps it is decided, and whoever did that did not live to tell enough of them.
      if (!this.#doubted.has(found.number)) this.#revisions.confirm();
      this.#doubted.add(found.number);
      return;
    }
    // Before any register hears of the set from here: the one who told may be lost, and then others must know it too.
    const known = membersOf(found).filter(({ id }) => this.#acceptors.has(id));
    await this.install(found, known);
    if (!this.#isClosed) this.adopt(found);
  }

  #batcher(
    member: AcceptorMember,
    index: number,
    urgency: Urgency,
    acceptor: Asked = this.#acceptors.get(member.id) ?? this.#ahead.get(member.id)!,
  ): Batcher {
    const { host, counters, requestTimeoutMs } = this.#options;
    return new Batcher(acceptor, index, {
      host,
      timeoutMs: requestTimeoutMs,
      maxWaiting: MAX_WAITING,
      onBatch: () => {
        counters.requests += 1;
      },
      isUrgent: () => urgency.isUrgent(index),
      onSuccess: (ms) => {
        urgency.took(index, ms);
        if (member.life === undefined) this.#noteLife(member);
        this.#report(member, undefined);
      },
      onFailure: (error) => {
        counters.failedRequests += 1;
        urgency.failed(index, requestTimeoutMs);
        this.#report(member, this.#lifeRefusal(member, error));
      },
    });
  }

  #report(member: AcceptorMember, error: CasPaxosError | undefined): void {
    const state = error === undefined ? 'up' : 'down';
    if (error !== undefined && member.retired === undefined) this.#retire(member, error);
    if (error?.code === 'ACCEPTOR_UNCLAIMED') void this.#claim(member);
    const known = this.#statuses.get(member.id);
    if (error === undefined && wasAway(known?.error)) void this.#lives.metAgain(member);
    if (known?.state === state && known.error?.code === error?.code) return;
    const status: AcceptorStatus = error === undefined ? { ...member, state } : { ...member, state, error };
    this.#statuses.set(member.id, status);
    if (!this.#isClosed) this.#options.onStatus(status);
  }

  /** Of a configuration that was made when acceptors told no lives. */
  #noteLife(member: AcceptorMember): void {
    if (this.acceptorOf(member)?.life !== undefined) this.#lives.look();
  }

  #lifeRefusal(member: AcceptorMember, error: CasPaxosError): CasPaxosError {
    if (error.code !== 'ACCEPTOR_UNRECORDED') return error;
    const refusal = this.#lives.refusal(this.acceptorOf(member));
    if (refusal === undefined) this.#lives.look();
    return refusal ?? error;
  }

  /** It came into the set while it was down, or was reserved by somebody who did not come back: it is told to whom it belongs. */
  async #claim(member: AcceptorMember): Promise<void> {
    if (this.#claiming.has(member.id) || this.#isClosed) return;
    this.#claiming.add(member.id);
    await this.#installOn(this.configuration, member);
    this.#claiming.delete(member.id);
  }

  /** What only this process may have noticed is told to all, and to those that start later. */
  #retire({ id }: AcceptorMember, error: CasPaxosError): void {
    const retired = retirementFor(error);
    if (retired === undefined) return;
    this.#revisions.record(id, (member) => (member.retired === undefined ? { ...member, retired } : member));
  }

  #onCopied({ id }: AcceptorMember, error: CasPaxosError): void {
    const { code, message: why } = error;
    this.#options.onWarning(error);
    this.#revisions.record(id, (member) => (member.retired ? member : { ...member, retired: { code, why } }));
  }

  #warnOfEvenNumber(size: number): void {
    const message = `${size} acceptors survive no more failures than ${size - 1} would; an odd number is better.`;
    if (this.configuration.previous === undefined)
      this.#options.onWarning(new CasPaxosError('EVEN_ACCEPTORS', message));
  }
}

function wasAway(error: CasPaxosError | undefined): boolean {
  return error?.code === 'UNREACHABLE' || error?.code === 'TIMED_OUT';
}

function isConflict(error: unknown): boolean {
  return error instanceof CasPaxosError && error.code === 'CONFIGURATION_CONFLICT';
}
