/**
 * The agent of one partition: the state machine in motion (paper 4.2). It updates the failover state once an interval, does
 * what the new state tells its region, holds the writer's lease, watches the writer when it is not it, and keeps the
 * writer's commit set when it is. No timers and no I/O here: the host wakes it, runs its updates and carries out its roles.
 *
 *            wake                        update under way                    answer
 *   heartbeat, silence over,   ──▶   edit(found, status) inside     ──▶   finish: learn the state, renew the lease,
 *   settled, poll, hint overdue       the CASPaxos change                  assume the role, hint the peers, next wake
 *
 * The host's duties: run `edit` as the editor of one change at a time, as often as the change needs; call `finish` or `fail`
 * once for each `update`, `learn` or `missed` for each `read`, `assumed` when the driver has assumed a role durably; call
 * `wake` when `wakeAt` has come; and `suspended` when the process has been. Times are the host's monotonic clock.
 */
import { assert } from '../../../protocol/index.ts';
import {
  type Action,
  actionsFor,
  type FailoverState,
  MACHINE_VERSION,
  machineOf,
  type RegionReport,
  type Refusal,
  renews,
  type Verdict,
  type WriterReport,
} from '../machine/index.ts';
import { Agenda, type Due, earlier, pollMs, purposeOf, retryMs } from './agenda.ts';
import { RequestBudget } from './budget.ts';
import { type DriverStatus, followerRole, type Role, writerRole } from './driver.ts';
import { type Asker, WriterDuties } from './duties.ts';
import { type Hint, hintsAfter, reactionTo } from './hints.ts';
import { Orders } from './orders.ts';
import type { AgentOptions, AgentPort } from './port.ts';
import { Predecessor } from './predecessor.ts';
import { RecoveryWatch } from './recovering.ts';
import { reportOf } from './report.ts';
import { Retries } from './retries.ts';
import { asksNow, canMoveOn, hasStopped, looksOn } from './saying.ts';
import { doneOf, isNews, isOlder, type Took, type Update } from './update.ts';
import { Watch } from './watch.ts';

export class AgentStateMachine {
  readonly #options: AgentOptions;
  readonly #port: AgentPort;
  readonly #machine: (state: FailoverState, report: RegionReport) => Verdict;
  readonly #watch = new Watch();
  readonly #recovery: RecoveryWatch;
  readonly #agenda: Agenda;
  readonly #budget: RequestBudget;
  /** How long the host lets an update wait after a lost attempt. */
  readonly retries: Retries;
  #state: FailoverState | undefined;
  readonly #orders = new Orders();
  /** The highest GCN up to which the driver has fenced itself; what reports are made under (rule 7). */
  #fenced = 0;
  /** Rule 2: after a restart, act only after one successful update of one's own; and when no earlier process has rights. */
  readonly #predecessor: Predecessor;
  #leaseUntil = -Infinity;
  #leaseMs = 0;
  #duties: WriterDuties | undefined;
  #status: DriverStatus | undefined;
  #update: Update | undefined;
  #phase2Ms: number | undefined;
  /** Updates in a row that failed. */
  #failures = 0;
  #isNew = false;
  #saidIn: number | undefined;
  #isQuiesced = false;
  #isStopping = false;
  #isStopped = false;

  constructor(options: AgentOptions, port: AgentPort) {
    this.#options = options;
    this.#port = port;
    const { region, policy, random, hints, firstBeatAt, intervalMs, version = MACHINE_VERSION } = options;
    this.#machine = machineOf(version);
    const budget = new RequestBudget(intervalMs);
    this.#budget = budget;
    const purpose = () => purposeOf(this.#state, region);
    this.retries = new Retries({ region, policy, random, budget, purpose });
    this.#recovery = new RecoveryWatch(region);
    this.#predecessor = new Predecessor(options);
    const { observer } = policy;
    this.#agenda = new Agenda({ region, observer, hints, firstBeatAt, version, budget });
  }

  get state(): FailoverState | undefined {
    return this.#state;
  }

  get role(): Role | undefined {
    return this.#orders.last;
  }

  /** Until when this region may accept writes; the driver asks at every write. */
  get leaseUntil(): number {
    return this.#leaseUntil;
  }

  /** Whether the update under way is a heartbeat while nothing is going on: nobody waits for it. */
  get isRoutine(): boolean {
    return this.#update?.scheduled === true && this.#state?.phase === 'Steady';
  }

  /** Whether this process has acted for its region, and no earlier one can any more. */
  mayAct(now: number): boolean {
    return this.#predecessor.isOver(now);
  }

  /** A message of this partition-set's went to the acceptors: an update's, a read's, or one that people asked for. */
  sent(now: number): void {
    this.#budget.spend(now);
  }

  /** When to call `wake` next. */
  get wakeAt(): number {
    return this.#isStopped ? Infinity : this.#nextDue().at;
  }

  wake(now: number): void {
    if (this.#isStopped) return;
    this.#expireLease(now);
    const { at, why } = this.#nextDue();
    if (at > now) return;
    if (why === 'duties') {
      this.#settleRole(now);
      this.#speakUp(now);
    }
    if (why === 'overdue' || (why === 'poll' && this.#hasSaidAll(now))) this.#startRead(now);
    else if (why !== 'lease' && why !== 'duties') this.#startUpdate(now, why === 'heartbeat');
  }

  /**
   * The editor of the update under way. `found`: the state met; `status`: the driver's, taken for this try (rule 2);
   * `isBusy`: there is no place for one more move (`moves.ts`).
   */
  edit(found: FailoverState, status: DriverStatus, now: number, at: string, isBusy = false): Verdict {
    const update = this.#update;
    assert(update !== undefined, 'an edit without an update');
    this.#budget.answered();
    this.#status = status;
    this.#predecessor.met(found);
    const report = {
      ...this.#report(found, status, now, at),
      ...((isBusy || this.#budget.isLow(now)) && { busy: true as const }),
    };
    const verdict = this.#machine(found, report);
    this.retries.saw(verdict.verdict === 'refused' ? found : verdict.state);
    if (verdict.verdict === 'accepted') {
      const before = found.regions[this.#options.region]!.beat;
      const after = verdict.state.regions[this.#options.region]!.beat;
      const isRenewal =
        verdict.state.writer === this.#options.region && after > before && renews(verdict.state, report);
      update.tries.push({ beat: after, isRenewal, step: found.step });
      this.#duties?.asked(found, verdict.state);
    }
    return verdict;
  }

  /** The update is done: `state` is in the register. */
  finish(state: FailoverState, verdict: 'accepted' | 'stale', now: number, took: Took): void {
    const update = this.#endUpdate(now);
    this.#failures = 0;
    const isDone = verdict === 'accepted';
    const done = isDone ? doneOf(update, state.regions[this.#options.region]?.beat) : undefined;
    if (isDone) {
      this.#phase2Ms = took.phase2Ms;
      this.#predecessor.fenced(state.leaseMs, now);
      this.#duties?.settled();
      // Rule 3: from the start of that update, and only if it raised the beat and came back naming us writer.
      if (done?.isRenewal === true) this.#renew(update.startedAt, state);
      this.#agenda.noteLease(state.writer !== this.#options.region || this.#leaseUntil > now);
      // Rule 19: writes resume only on an own update that shows that they may.
      this.#isQuiesced = state.quiesce === true && state.writer === this.#options.region;
      if (update.scheduled) this.#nextHeartbeat(state, took, now);
      for (const hint of hintsAfter(state, done, this.#isStopping)) this.#port.hint(hint);
      if (this.#isStopping && hasStopped(state, this.#options)) this.#end();
    } else {
      this.#agenda.want(now);
    }
    this.learn(state, now, done?.isRenewal);
    if (isDone) this.#saidIn = state.step;
  }

  /** The outcome is unknown, or the register cannot be reached: nothing is renewed (rule 3). */
  fail(now: number): void {
    const update = this.#endUpdate(now);
    this.#failures += 1;
    const delay = retryMs(this.#state, this.#failures) * (0.5 + this.#options.random());
    if (update.scheduled) this.#agenda.heartbeatAt = now + delay;
    else this.#agenda.want(now + delay);
    this.#expireLease(now);
  }

  refused(refusal: Refusal, now: number): void {
    const update = this.#endUpdate(now);
    this.#port.event({ event: 'refused', refusal });
    if (refusal.code === 'INCARNATION_OLD') this.#end();
    if (refusal.code === 'REGION_REMOVED' || refusal.code === 'REGION_UNKNOWN')
      this.#assume({ role: 'gone' });
    const interval = this.#state?.configuration.timings.intervalMs ?? pollMs(undefined);
    if (update.scheduled) this.#agenda.heartbeatAt = now + interval;
  }

  /** A state from an own update, which may have renewed the lease, or a read. An older one than known is no news. */
  learn(state: FailoverState, now: number, hasRenewed = false): void {
    this.#agenda.readEnded();
    const before = this.#state;
    const hasNews = isNews(state, before);
    this.#budget.learned(hasRenewed || hasNews);
    if (hasNews) this.#saidIn = undefined;
    if (before !== undefined && isOlder(state, before)) return;
    if (before === undefined) this.#predecessor.found(state);
    this.#watch.onState(state, now);
    this.#state = state;
    this.retries.saw(state);
    this.#isQuiesced ||= state.quiesce === true && state.writer === this.#options.region;
    if (before?.step !== state.step) {
      this.#port.event({ event: 'state', state, before });
      // The writer waits for the target's word that it knows; clients wait for a new writer's first lease.
      const isNewWriter = state.writer === this.#options.region && this.#leaseUntil <= now;
      if (isNewWriter || state.target === this.#options.region) this.#agenda.want(now);
    }
    this.#settleRole(now);
    this.#wantUpdate(now);
    if (this.#status !== undefined && this.#hasToMoveOn(state, this.#status))
      this.#agenda.wantAgain(now, state);
  }

  /** A read found no state: this is a new partition-set, and its first update makes one. */
  begin(now: number): void {
    this.#agenda.readEnded();
    this.#isNew = true;
    this.#agenda.want(now);
  }

  /** A read failed: too few acceptors answered, or those that did were of different minds. */
  missed(because: 'unavailable' | 'disagreed' = 'unavailable'): void {
    this.#agenda.readEnded();
    if (because === 'unavailable') this.#budget.unanswered();
  }

  /** The driver has assumed that role, durably. `status`: taken since, because what is said of that role may be true only from then on. */
  assumed(role: Role, status: DriverStatus, now: number): void {
    this.#orders.assumed(role);
    this.#status = status;
    if ('epoch' in role && role.epoch > this.#fenced) {
      this.#fenced = role.epoch;
      // Fence first, then report (rule 7).
      this.#agenda.want(now);
    }
    this.#speakUp(now);
  }

  onHint(hint: Hint, now: number): void {
    const reaction = reactionTo(hint, this.#state, this.#options.region);
    if (hint.hint === 'beat' && reaction === 'watch') this.#watch.onBeat(hint, now);
    else if (reaction === 'read') this.#wantRead(now);
    else if (reaction === 'update') this.#agenda.want(now);
  }

  /** The process stood still, or its clocks jumped: its leases are lost and what it measured is void. */
  suspended(now: number): void {
    this.#leaseUntil = -Infinity;
    this.#watch.restart(now);
    this.#settleRole(now);
    this.#agenda.want(now);
  }

  /** An error of its own (CASPaxos rule 11): what it holds is doubted, and what was under way is forgotten. */
  doubt(): void {
    this.#leaseUntil = -Infinity;
    this.#update = undefined;
    this.#agenda.readEnded();
  }

  /** Planned stop (rule 22): give the writes away if one has them, fence, leave the stop mark, and rest. */
  stop(now: number): void {
    this.#isStopping = true;
    this.#agenda.want(now);
  }

  /** Rule 15: for how long the asking region may serve strong reads from when it asked; 0 is no. */
  grant(asker: Asker, now: number): number {
    const state = this.#state;
    const { role } = this;
    if (state === undefined || this.#duties === undefined || role?.role !== 'writer') return 0;
    if (!role.accepts || now >= this.#leaseUntil) return 0;
    // What it reads is what commits wait for it with, and not what the driver was told to wait for.
    if (!this.#orders.commitSets(role.epoch).certain.has(asker.region)) return 0;
    return this.#duties.grant(state, asker, this.#leaseUntil - now, now);
  }

  #nextDue(): Due {
    const state = this.#state;
    const canReport = state === undefined || this.#fenced >= state.gcn;
    const due =
      this.#update === undefined ? this.#agenda.next(state, this.#watch, canReport, this.#isNew) : undefined;
    const lease: Due = { at: this.#leaseUntil === -Infinity ? Infinity : this.#leaseUntil, why: 'lease' };
    const dutiesAt = Math.min(
      this.#duties?.nextAt ?? Infinity,
      this.#recovery.nextAt,
      this.#predecessor.endsAt,
    );
    const duties: Due = { at: dutiesAt, why: 'duties' };
    return [lease, duties].reduce(earlier, due ?? { at: Infinity, why: 'soon' });
  }

  #hasSaidAll(now: number): boolean {
    const [state, status] = [this.#state, this.#status];
    if (state === undefined || status === undefined || this.#isStopping) return false;
    return looksOn(state, this.#options, status, { saidIn: this.#saidIn, stepMs: now - this.#watch.stepAt });
  }

  /** What this region has to say cannot wait for its next heartbeat. */
  #wantUpdate(now: number): void {
    const state = this.#state!;
    const own = state.regions[this.#options.region];
    if (own === undefined) return;
    if (own.report === undefined || own.incarnation < this.#options.incarnation) this.#agenda.want(now);
    const hasToLead = state.writer === this.#options.region && this.#leaseUntil <= now;
    if (hasToLead || (this.#duties !== undefined && this.#asksForSomething(state, now)))
      this.#agenda.wantAgain(now, state);
  }

  #asksForSomething(state: FailoverState, now: number): boolean {
    if (this.#status === undefined) return false;
    const driver = this.#orders.commitSets(state.gcn);
    return asksNow(this.#duties!.report(state, this.#status, driver, now), state);
  }

  /** The driver's status changed in a way that matters: quiesced, caught up, unable to commit. */
  onStatus(status: DriverStatus, now: number): void {
    this.#status = status;
    this.#settleRole(now);
    this.#speakUp(now);
  }

  /** Something that this region may say has become true: it does not wait for its next heartbeat. */
  #speakUp(now: number): void {
    const [state, status] = [this.#state, this.#status];
    if (state === undefined || status === undefined) return;
    this.#wantUpdate(now);
    if (this.#hasToMoveOn(state, status)) this.#agenda.want(now);
  }

  #hasToMoveOn(state: FailoverState, status: DriverStatus): boolean {
    return canMoveOn(state, this.#options.region, status, this.#quiescedIn(state, status) !== undefined);
  }

  #startUpdate(now: number, scheduled: boolean): void {
    this.#update = { startedAt: now, scheduled: scheduled || this.#agenda.heartbeatAt <= now, tries: [] };
    this.#agenda.updateStarted();
    this.#port.update();
  }

  #startRead(now: number): void {
    if (this.#agenda.startRead(now)) this.#port.read();
  }

  /** At once, or when there is a round for it. */
  #wantRead(now: number): void {
    if (this.#budget.readyAt('look') <= now) this.#startRead(now);
    else this.#agenda.wantRead(now);
  }

  #endUpdate(now: number): Update {
    const update = this.#update;
    assert(update !== undefined, 'an answer without an update');
    this.#update = undefined;
    this.#agenda.updateEnded(now);
    return update;
  }

  #nextHeartbeat(state: FailoverState, { attemptMs, isSlow = false }: Took, now: number): void {
    const beatMs = this.#agenda.beatMs(state, isSlow);
    this.#agenda.heartbeatAt =
      now + this.#options.policy.nextStartMs(beatMs, attemptMs, this.#options.random());
  }

  #report(found: FailoverState, status: DriverStatus, now: number, at: string): RegionReport {
    const isWriter = found.writer === this.#options.region && this.#duties?.takeover.epoch === found.gcn;
    return reportOf(this.#options, {
      found,
      // Nobody tells it what it may lack: somebody else is to take the writes.
      status: this.#recovery.isStuck(now) ? { ...status, canCommit: false } : status,
      now,
      at,
      scheduled: this.#update!.scheduled,
      gcn: this.#fenced,
      watch: this.#watch,
      writer: isWriter ? this.#writerPart(found, status, now) : undefined,
      isStopping: this.#isStopping,
      phase2: this.#phase2Ms === undefined ? undefined : { ms: this.#phase2Ms, of: this.retries.observer },
    });
  }

  #writerPart(found: FailoverState, status: DriverStatus, now: number): WriterReport {
    const duties = this.#duties!;
    const leaseMs = Math.max(now < this.#leaseUntil ? this.#leaseMs : 0, Math.ceil(duties.rightsLeftMs(now)));
    const quiescedInStep = this.#quiescedIn(found, status);
    return {
      ...duties.report(found, status, this.#orders.commitSets(found.gcn), now),
      ...(duties.hasWaited(now) && { hasWaited: true }),
      ...(quiescedInStep !== undefined && { quiescedInStep }),
      leaseMs,
    };
  }

  /** Rule 18: only when this step's quiescing has been carried out. */
  #quiescedIn(found: FailoverState, status: DriverStatus): number | undefined {
    const knows = found.quiesce === true && this.#state?.step === found.step;
    const { role } = this;
    const isQuiet = role?.role === 'writer' && !role.accepts && this.#orders.isSettled && status.quiesced;
    return knows && isQuiet ? found.step : undefined;
  }

  #expireLease(now: number): void {
    if (this.#leaseUntil > now) return;
    const wasHeld = this.#leaseUntil !== -Infinity;
    this.#leaseUntil = -Infinity;
    if (wasHeld) {
      this.#port.event({ event: 'lease lost', gcn: this.#state?.gcn ?? 0 });
      this.#settleRole(now);
    }
  }

  /**
   * A lease of the length that is configured; while a longer one may be held, silence is measured by that. The state may be a later
   * one than that update made: a longer lease that was decided in between comes with the next beat.
   */
  #renew(startedAt: number, { configuration, leaseMs }: FailoverState): void {
    this.#leaseMs = Math.min(configuration.timings.leaseMs, leaseMs);
    this.#leaseUntil = startedAt + this.#leaseMs;
  }

  /** Turns the state into this region's role, and tells the driver if it is another than before. */
  #settleRole(now: number): void {
    this.#predecessor.look(now);
    const state = this.#state;
    if (state === undefined || this.#isStopped) return;
    const [action] = actionsFor(state, this.#options.region);
    if (action === undefined) return;
    if (this.#recovery.look(state, this.#status, now)) this.#agenda.want(now);
    if (action.do !== 'accept writes' && action.do !== 'quiesce writes') {
      this.#duties = undefined;
      this.#leaseUntil = -Infinity;
    }
    this.#assume(this.#roleOf(state, action, now));
  }

  #roleOf(state: FailoverState, action: Action, now: number): Role {
    const epoch = state.gcn;
    switch (action.do) {
      case 'accept writes':
        return this.#writerRole(state, action, now);
      case 'quiesce writes':
        // A process that has just started has promised nothing, and nothing may be promised for it (rule 2).
        if (this.#duties?.takeover.epoch !== epoch) return { role: 'fenced', epoch };
        this.#duties.postpone(now);
        return writerRole(state, { accepts: false, commitSet: this.#duties.commitSet });
      case 'follow':
        return this.mayAct(now) ? followerRole('reader', state) : { role: 'fenced', epoch };
      case 'build':
        return followerRole('builder', state);
      case 'leave':
        return { role: 'gone' };
      default:
        return { role: 'fenced', epoch };
    }
  }

  #writerRole(state: FailoverState, action: Extract<Action, { do: 'accept writes' }>, now: number): Role {
    const epoch = state.gcn;
    // Rules 2 and 3: nothing without an own update that came back; no status, no takeover.
    if (!this.#predecessor.isFenced || this.#status === undefined) return { role: 'fenced', epoch };
    // A copy that is being built is never the writer.
    if (this.#status.build === 'Building') return { role: 'fenced', epoch };
    if (this.#duties?.takeover.epoch !== epoch) {
      const isRestart = this.#predecessor.wroteIn === epoch;
      const by = { status: this.#status, now, isRestart, startedAt: this.#options.startedAt };
      this.#duties = new WriterDuties(state, action, this.#watch, by);
    }
    this.#duties.follow(state, action, this.#status, now);
    const mayAccept = this.#duties.mayAccept(action, now) && !this.#isQuiesced && !this.#isStopping;
    const accepts = now < this.#leaseUntil && mayAccept && this.mayAct(now);
    const leaseSet = this.#recovery.members(state, now);
    return writerRole(state, { accepts, commitSet: this.#duties.commitSet, ...(leaseSet && { leaseSet }) });
  }

  #assume(role: Role): void {
    if (this.#orders.give(role)) this.#port.assume(role);
  }

  #end(): void {
    this.#isStopped = true;
    this.#leaseUntil = -Infinity;
    this.#port.event({ event: 'stopped' });
  }
}
