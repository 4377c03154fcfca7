/**
 * What is found about a member of the set is recorded for everybody in the configuration's register, as the next number of the
 * same set (`revised` in core/configuration.ts): first decided under the set in force, then made known to so many acceptors that
 * no quorum is left to processes that have not heard of it. The acceptor that it is about has no say in this.
 *
 * It happens in the background. Several processes may find the same at once, or in the middle of a change of the set: an edit
 * that is there already changes nothing. Where no quorum can be reached it is tried again, less and less often, for as long as
 * the acceptor is a member.
 */
import type { Host, Timer } from '../protocol/index.ts';
import { announce, type Announcing } from './announce.ts';
import {
  type AcceptorMember,
  blocks,
  type Configuration,
  maskOf,
  maskOfMembers,
  membersOf,
  quorumsOf,
  revised,
  sameSets,
} from './core/index.ts';
import type { View } from './register.ts';

/** Makes of a member what is to be recorded of it; the very same member when that is done. */
export type MemberEdit = (member: AcceptorMember) => AcceptorMember;

/** Of the configuration's register; returns what it was given to leave it. */
export type ConfigurationEdit = (known: Configuration | undefined) => Configuration;

export interface EditOptions {
  /** By whom it is decided, if not by those in force. */
  readonly view?: (() => View) | undefined;
  readonly timeoutMs?: number;
}

export type EditConfiguration = (edit: ConfigurationEdit, options?: EditOptions) => Promise<Configuration>;

export interface RevisionsOptions extends Announcing {
  readonly host: Host;
  readonly editConfiguration: EditConfiguration;
  readonly configuration: () => Configuration;
}

/** Several processes find the same at the same time: one of them should be first. */
const FIRST_WITHIN_MS = 20;
const AGAIN_AFTER_MS = 500;
const MAX_AGAIN_AFTER_MS = 60_000;

export class Revisions {
  readonly #options: RevisionsOptions;
  /** By the id of the member. */
  readonly #wanted = new Map<string, MemberEdit>();
  #mustConfirm = false;
  #timer: Timer | undefined;
  #running = false;
  #failures = 0;
  #closed = false;

  constructor(options: RevisionsOptions) {
    this.#options = options;
  }

  record(id: string, edit: MemberEdit): void {
    if (this.#wanted.has(id)) return;
    this.#wanted.set(id, edit);
    this.#failures = 0;
    this.#schedule();
  }

  /** Somebody knows a newer configuration, and those who use it may not be enough: sees to it that it is in force, if it was decided. */
  confirm(): void {
    this.#mustConfirm = true;
    this.#schedule();
  }

  close(): void {
    this.#closed = true;
    this.#options.host.cancel(this.#timer);
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#running || this.#closed) return;
    const { host } = this.#options;
    const again = Math.min(MAX_AGAIN_AFTER_MS, AGAIN_AFTER_MS * 2 ** this.#failures);
    const delayMs = this.#failures === 0 ? FIRST_WITHIN_MS * host.random() : again * (0.5 + host.random());
    this.#timer = host.after(delayMs, () => {
      this.#timer = undefined;
      void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running = true;
    const edits = new Map(this.#wanted);
    this.#mustConfirm = false;
    let isDone = false;
    try {
      isDone = await this.#bringAbout(edits);
    } catch {
      // No quorum, or none in time. What became of it is found by the next attempt.
    }
    this.#running = false;
    if (isDone) for (const [id, edit] of edits) if (this.#wanted.get(id) === edit) this.#wanted.delete(id);
    this.#failures = isDone ? 0 : this.#failures + 1;
    if (this.#wanted.size > 0 || this.#mustConfirm) this.#schedule();
  }

  async #bringAbout(edits: ReadonlyMap<string, MemberEdit>): Promise<boolean> {
    const { editConfiguration, configuration } = this.#options;
    const edit: MemberEdit = (member) => edits.get(member.id)?.(member) ?? member;
    const decided = await editConfiguration((known) => revised(newer(known, configuration()), edit));
    if (this.#closed) return true;
    return bringIntoForce(this.#options, decided, configuration(), (id) => !edits.has(id));
  }
}

/**
 * Makes a decided configuration known to so many that no quorum is left to those who have not heard of it, and works with it then; false: too
 * few could be told. `counts`: whose knowledge is relied on.
 */
export async function bringIntoForce(
  announcing: Announcing,
  decided: Configuration,
  current: Configuration,
  counts: (id: string) => boolean,
): Promise<boolean> {
  if (decided.number <= current.number) return true;
  if (decided.previous !== undefined && !sameSets(decided, current)) {
    // Somebody changes the set, and may not live to go on: the new acceptors come first.
    await announce(announcing, decided);
    return true;
  }
  const others = membersOf(decided).filter(({ id }) => counts(id));
  const aware = await announcing.install(decided, others);
  const ids = membersOf(decided).flatMap(({ id }, at) => ((aware & maskOf(at)) === 0 ? [] : [id]));
  // The same as for a change of the set: from here on this process raises registers to that number, and others must find out why.
  const mask = maskOfMembers(membersOf(current), new Set(ids));
  const quorums = quorumsOf(current);
  if (!quorums.isPhase1Quorum(mask) || !blocks(quorums, mask)) return false;
  announcing.adopt(decided);
  return true;
}

export function newer(known: Configuration | undefined, current: Configuration): Configuration {
  return known !== undefined && known.number > current.number ? known : current;
}
