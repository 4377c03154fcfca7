/**
 * A client that decides as the SDK does, because it is the SDK that decides: every operation is an `OperationPlan` over this client's
 * `RegionCache`, its sessions are a `SessionTracker`, its hedges have the SDK's budget. Only the network and the clock are played.
 *
 * What goes on record is what the user of the SDK is told: one call from its start to its end, however many attempts there
 * were. So the checkers judge the plan together with the system: a write that was reported as not applied and is in some log is a
 * violation, and so is one that was applied twice.
 */
import type { ConsistencyLevel, Position } from '../../check/index.ts';
import {
  HedgeBudget,
  type NodeAnswer,
  type OperationOptions,
  type PlannedAttempt,
  type PlanRan,
  RegionCache,
  type Repeatable,
  repeatable,
  type Said,
  SessionTracker,
  type WriterHint,
} from '../../client/index.ts';
import {
  type EnginePartition,
  epkOf,
  type ReadAnswer,
  type ScanAnswer,
  type WriteAnswer,
  type WriteRequest,
} from '../../engine/index.ts';
import type { Random } from '../core/index.ts';
import type { SimProcess } from '../process.ts';
import type { ClientScene } from './client.ts';
import { countPlan } from './plan-counts.ts';
import { bentOptions, bentRegions, bentRequest, bentResult, bentToken } from './plan-defects.ts';
import { denyIn, recordRead, recordScan, recordWrite } from './plan-records.ts';
import { runPlan } from './plan-run.ts';
import type { PlanStyle } from './plan-style.ts';
import type { SetRecorder } from './recorder.ts';
import { sleep } from './region.ts';
import type { Conversation } from './request.ts';
import { type Change, type DocumentName, Workload } from './workload.ts';

export interface PlanScene extends Omit<ClientScene, 'ask'> {
  readonly defect: string | undefined;
  /** Logs are trimmed: nobody may repeat an operation for long. */
  readonly isTrimmed: boolean;
  /** After healing, everything succeeds within this. */
  readonly boundMs: number;
  converse<R>(
    from: SimProcess,
    region: string,
    partitionSet: string,
    talk: Omit<Conversation<R>, 'carryOut'>,
    work: (partition: EnginePartition) => Promise<R>,
  ): void;
  /** The GCN of which each region knows; it rises with every failover. */
  gcnsOf(partitionSet: string): readonly number[];
  /** Who a region believes to be the writer. */
  hintIn(region: string, partitionSet: string): WriterHint | undefined;
  /** What a plan may not do, under the name of the check. */
  onWrong(check: string, sentence: string): void;
}

type Work<A> = (partition: EnginePartition, timeoutMs: number) => Promise<A>;

/** As the SDK tells nodes: a little less than it has. */
const TOLD = 0.8;
const REPEATED_WITHIN_MS = 700;

export class PlanClient {
  readonly #scene: PlanScene;
  readonly #name: string;
  readonly #style: PlanStyle;
  readonly #process: () => SimProcess;
  readonly #random: Random;
  readonly #workload: Workload;
  readonly #cache: RegionCache;
  readonly #budget = new HedgeBudget();
  readonly #sessions = new Map<string, string>();
  #tracker = new SessionTracker();
  #underWay = 0;
  /** How the plan of the last write could repeat it. */
  #couldRepeat: Repeatable = 'no';
  /** What it has yet to do after healing. */
  #owes: ('write' | 'read')[] = ['write', 'read'];

  constructor(scene: PlanScene, name: string, style: PlanStyle, process: () => SimProcess, random: Random) {
    this.#scene = scene;
    this.#name = name;
    this.#style = style;
    this.#process = process;
    this.#random = random;
    const { documents, level, regions } = scene;
    this.#workload = new Workload({ client: name, documents, level }, random);
    const preferred = regions[style.preferred]!;
    const ordered = [preferred, ...regions.filter((region) => region !== preferred)];
    this.#cache = new RegionCache(bentRegions(ordered, scene.defect));
  }

  get isResting(): boolean {
    return this.#scene.stage() === 'rest' && this.#underWay === 0 && this.#owes.length === 0;
  }

  readonly main = (): void => {
    void this.#play();
  };

  async #play(): Promise<void> {
    const { thinkMs, stage, recorders } = this.#scene;
    for (;;) {
      await sleep(this.#process(), this.#random.between(0.2, 1.8) * thinkMs);
      if (stage() === 'rest' && this.#owes.length === 0) continue;
      const recorder = recorders[this.#random.integer(recorders.length)]!;
      this.#underWay += 1;
      if (stage() === 'play') await this.#act(recorder);
      else await this.#afterHealing(recorder);
      this.#underWay -= 1;
    }
  }

  #act(recorder: SetRecorder): Promise<unknown> {
    const task = this.#workload.next(recorder);
    const timeoutMs = this.#timeoutMs();
    switch (task.task) {
      case 'write':
        return this.#write(recorder, task.changes, timeoutMs);
      case 'read':
        return this.#read(recorder, task.name, task.level, timeoutMs);
      case 'scan':
        return this.#scan(recorder, task.level, timeoutMs);
    }
  }

  /**
   * Nothing is wrong any more, so nothing may fail. But a forced failover that was ordered before may come now, and undo what its
   * writer had not committed: who wrote that without an operation id cannot be told what became of it, and writes once more.
   */
  async #afterHealing(recorder: SetRecorder): Promise<void> {
    const scene = this.#scene;
    const { boundMs, level } = scene;
    const before = scene.gcnsOf(recorder.partitionSet);
    const what = this.#owes[0] ?? 'write';
    const read = (): Promise<string> => this.#read(recorder, this.#workload.document(), level, boundMs);
    let outcome =
      what === 'write' ? await this.#write(recorder, this.#workload.upsert(), boundMs) : await read();
    if (outcome === 'SESSION_UNDONE') outcome = await read();
    // Some region may have been asked that had not heard of it yet.
    const isFailedOver = Math.max(...scene.gcnsOf(recorder.partitionSet)) > Math.min(...before);
    if (outcome === 'OUTCOME_UNKNOWN' && this.#couldRepeat === 'no' && isFailedOver) {
      scene.count('plan: unknown through a failover after healing');
      return;
    }
    if (outcome !== 'ok')
      scene.onWrong(
        'plan.recovery',
        `a ${what} of ${this.#name} on ${recorder.partitionSet} that began after healing ended with ${outcome}`,
      );
    this.#owes.shift();
  }

  // ---- operations

  async #write(recorder: SetRecorder, changes: readonly Change[], timeoutMs: number): Promise<string> {
    const scene = this.#scene;
    const { now, level, stage } = scene;
    const operation = this.#workload.nextName();
    const isDeletion = changes.some(({ kind }) => kind === 'delete');
    const isNamed = isDeletion || this.#random.uniform() >= this.#style.namelessShare;
    const request: WriteRequest = {
      partitionKey: [changes[0]!.name.partitionKey],
      operations: changes.map((change) => change.operation),
      ...(isNamed && { operation }),
    };
    const began = now();
    this.#couldRepeat = repeatable(request, { conditions: this.#style.conditions });
    for (let leftMs = timeoutMs; ; leftMs = REPEATED_WITHIN_MS) {
      const start = now();
      const ran = await this.#run<WriteAnswer>(
        recorder,
        { kind: 'write', repeatable: this.#couldRepeat },
        leftMs,
        (partition, forMs) => partition.write(bentRequest(request, this.#scene.defect), forMs),
      );
      const { result } = ran;
      const { answer } = result;
      if (answer !== undefined) this.#tracker.saw(recorder.partitionSet, answer.position);
      const call = { client: this.#name, session: this.#session(recorder), start, end: now(), level };
      const token = this.#tracker.position(recorder.partitionSet);
      recordWrite(recorder, call, { changes, operation, ran, token });
      // What a repetition was told says nothing about the first time.
      if (start === began) denyIn(recorder, this.#name, operation, changes, result);
      if (result.ok) {
        scene.onAcknowledged(recorder.partitionSet, start);
        for (const { kind, name } of changes)
          if (kind === 'write') this.#workload.saw(recorder, name, result.answer.position);
      }
      const mayRepeat = stage() === 'play' && isNamed && result.ok && now() - began < REPEATED_WITHIN_MS;
      if (mayRepeat && this.#random.uniform() < 0.03) continue;
      return this.#told(recorder, 'write', ran);
    }
  }

  async #read(
    recorder: SetRecorder,
    name: DocumentName,
    level: ConsistencyLevel,
    timeoutMs: number,
  ): Promise<string> {
    const start = this.#scene.now();
    const key = { epk: epkOf([name.partitionKey]), id: name.id };
    const token = this.#token(recorder, level);
    const sent = bentToken(token, this.#scene.defect);
    const ran = await this.#run<ReadAnswer>(
      recorder,
      { kind: 'read', level },
      timeoutMs,
      (partition, forMs) => partition.read({ key, level, ...(sent && { session: sent }) }, forMs),
    );
    if (ran.result.ok) {
      const { answer, region } = ran.result;
      const { version, position } = answer;
      if (version?.body !== undefined) this.#workload.saw(recorder, name, version);
      const received = this.#saw(recorder, position);
      const call = {
        client: this.#name,
        session: this.#session(recorder),
        start,
        end: this.#scene.now(),
        level,
      };
      recordRead(recorder, call, { region, name, version, position, token, received });
    }
    return this.#told(recorder, 'read', ran);
  }

  async #scan(recorder: SetRecorder, level: ConsistencyLevel, timeoutMs: number): Promise<string> {
    const start = this.#scene.now();
    const token = this.#token(recorder, level);
    const sent = bentToken(token, this.#scene.defect);
    const range = { from: '', to: 'G', limit: 1000 };
    const ran = await this.#run<ScanAnswer>(
      recorder,
      { kind: 'read', level },
      timeoutMs,
      (partition, forMs) => partition.scan(range, { level, ...(sent && { session: sent }) }, forMs),
    );
    if (ran.result.ok) {
      const { answer, region } = ran.result;
      const { versions, position } = answer;
      const received = this.#saw(recorder, position);
      const call = {
        client: this.#name,
        session: this.#session(recorder),
        start,
        end: this.#scene.now(),
        level,
      };
      recordScan(recorder, call, { region, versions, position, token, received }, this.#workload.documents());
    }
    return this.#told(recorder, 'scan', ran);
  }

  // ---- plans

  async #run<A extends NodeAnswer>(
    { partitionSet }: SetRecorder,
    what: Pick<OperationOptions, 'kind' | 'repeatable' | 'level'>,
    timeoutMs: number,
    work: Work<A>,
  ): Promise<PlanRan<A>> {
    const scene = this.#scene;
    const { defect, level } = scene;
    const { hedgeAfterMs } = this.#style;
    const process = this.#process();
    const deadlineAtMs = process.now() + timeoutMs;
    const isHedged = what.kind === 'read' && hedgeAfterMs !== undefined;
    const options: OperationOptions = {
      partitionSet,
      ...what,
      deadlineAtMs,
      accountLevel: level,
      ...(isHedged && { hedge: { afterMs: hedgeAfterMs, budget: this.#budget } }),
    };
    const isGivenUp = scene.stage() === 'play' && this.#random.uniform() < 0.03;
    const ran = await runPlan<A>({
      process,
      cache: this.#cache,
      options: bentOptions(options, defect),
      deadlineAtMs,
      abortAfterMs: isGivenUp ? this.#random.between(1, timeoutMs) : undefined,
      send: (attempt, tell) => this.#send(partitionSet, attempt, work, tell),
      onWrong: (sentence) => scene.onWrong('plan.deadline', `${sentence}: ${this.#name}, ${partitionSet}`),
    });
    return { ...ran, result: bentResult(ran.result, defect) };
  }

  #send<A extends NodeAnswer>(
    partitionSet: string,
    { region, kind, timeoutMs }: PlannedAttempt,
    work: Work<A>,
    tell: (said: Said<A>) => void,
  ): void {
    const scene = this.#scene;
    const forMs = kind === 'read' ? timeoutMs * TOLD : timeoutMs;
    const talk = {
      mayDouble: kind === 'read',
      lookAfterMs: this.#random.between(20, 400),
      tell: (heard: Parameters<Conversation<A>['tell']>[0]) => {
        if (heard.reply === 'answer') tell({ answer: heard.answer });
        else if (heard.reply === 'refused') tell({ failure: { outcome: 'not sent', code: 'UNREACHABLE' } });
        else tell({ failure: { outcome: 'unknown', code: 'CONNECTION_LOST' } });
      },
    };
    scene.converse<A>(this.#process(), region, partitionSet, talk, async (partition) =>
      hinted(await work(partition, forMs), scene.hintIn(region, partitionSet)),
    );
  }

  /** What became of it, in a word. */
  #told(recorder: SetRecorder, what: 'write' | 'read' | 'scan', ran: PlanRan<NodeAnswer>): string {
    const { count, note } = this.#scene;
    const { result, attempts } = ran;
    const outcome = result.ok ? 'ok' : result.error.code;
    const position = result.answer?.position;
    countPlan(what, ran, count);
    note(`${what} ${outcome} ${attempts.length} ${position?.epoch} ${position?.lsn}`, this.#process());
    if (outcome === 'SESSION_UNDONE') {
      this.#tracker.forget(recorder.partitionSet);
      this.#sessions.delete(recorder.partitionSet);
    }
    return outcome;
  }

  // ---- sessions

  #session({ partitionSet }: SetRecorder): string {
    let session = this.#sessions.get(partitionSet);
    if (session === undefined) this.#sessions.set(partitionSet, (session = this.#workload.nextName()));
    return session;
  }

  /** Now and then another process goes on with the session, from its token. */
  #token({ partitionSet }: SetRecorder, level: ConsistencyLevel): Position | undefined {
    if (level !== 'Session') return undefined;
    if (this.#random.uniform() < 0.05) {
      const other = new SessionTracker();
      const problem = other.merge(this.#tracker.token);
      if (problem !== undefined) this.#scene.onWrong('plan.session', `a session's own token is ${problem}`);
      this.#tracker = other;
    }
    return this.#tracker.position(partitionSet);
  }

  #saw({ partitionSet }: SetRecorder, position: Position): Position | undefined {
    this.#tracker.saw(partitionSet, position);
    return this.#tracker.position(partitionSet);
  }

  /** Some are in a hurry, some ride out a failover. Where logs are trimmed nobody has that much time. */
  #timeoutMs(): number {
    const isHurried = this.#random.uniform() < 0.35;
    if (this.#scene.isTrimmed) return this.#random.between(100, isHurried ? 500 : 1500);
    return isHurried ? this.#random.between(60, 800) : this.#random.between(800, 5000);
  }
}

/** As a node does. */
function hinted<A extends NodeAnswer>(answer: A, writer: WriterHint | undefined): A {
  if (answer.outcome !== 'refused' || answer.code !== 'NOT_WRITER' || writer === undefined) return answer;
  return { ...answer, writer };
}
