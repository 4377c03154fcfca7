/**
 * A client: one call after the other, in a session, on a few documents of every partition-set. It knows where writes worked
 * last, takes every refusal as a hint to look elsewhere, and repeats a write of unknown outcome under the same name, as the
 * SDK does. Values are unique in a run. Whatever it asked and was told goes on record with true times.
 */
import {
  type ClientOperation,
  type ConsistencyLevel,
  type Position,
  positionOrder,
} from '../../check/index.ts';
import {
  type EnginePartition,
  epkOf,
  type ReadAnswer,
  type ScanAnswer,
  type Version,
  type WriteAnswer,
} from '../../engine/index.ts';
import type { Random } from '../core/index.ts';
import type { SimProcess } from '../process.ts';
import { keyOf, type SetRecorder, valueOf } from './recorder.ts';
import type { Reply } from './request.ts';
import { sleep } from './region.ts';
import { type Change, type DocumentName, nameOf, plain, Workload } from './workload.ts';

export interface ClientScene {
  readonly regions: readonly string[];
  readonly recorders: readonly SetRecorder[];
  readonly documents: number;
  readonly level: ConsistencyLevel;
  readonly thinkMs: number;
  now(): number;
  /** `play` goes on until faults are over, then `recover` until all is well again, then `rest`. */
  readonly stage: () => 'play' | 'recover' | 'rest';
  ask<R>(
    from: SimProcess,
    region: string,
    partitionSet: string,
    timeoutMs: number,
    work: (partition: EnginePartition) => Promise<R>,
  ): Promise<Reply<R>>;
  /** A write was acknowledged that began at that time. */
  onAcknowledged(partitionSet: string, start: number): void;
  count(what: string): void;
  note(what: string, process: SimProcess): void;
}

interface Session {
  readonly name: string;
  token: Position | undefined;
}

const ATTEMPTS = 10;
const LONGEST_MS = 1500;

export class EngineClient {
  readonly #scene: ClientScene;
  readonly #process: () => SimProcess;
  readonly #random: Random;
  readonly #name: string;
  readonly #workload: Workload;
  readonly #writers = new Map<string, string>();
  readonly #sessions = new Map<string, Session>();
  #underWay = 0;

  constructor(scene: ClientScene, name: string, process: () => SimProcess, random: Random) {
    this.#scene = scene;
    this.#name = name;
    this.#process = process;
    this.#random = random;
    const { documents, level } = scene;
    this.#workload = new Workload({ client: name, documents, level }, random);
  }

  get isResting(): boolean {
    return this.#scene.stage() === 'rest' && this.#underWay === 0;
  }

  readonly main = (): void => {
    void this.#play();
  };

  async #play(): Promise<void> {
    const { thinkMs, stage, recorders } = this.#scene;
    for (;;) {
      await sleep(this.#process(), this.#random.between(0.2, 1.8) * thinkMs);
      if (stage() === 'rest') continue;
      const recorder = recorders[this.#random.integer(recorders.length)]!;
      this.#underWay += 1;
      if (stage() === 'recover') await this.#write(recorder, this.#workload.upsert());
      else await this.#act(recorder);
      this.#underWay -= 1;
    }
  }

  #act(recorder: SetRecorder): Promise<unknown> {
    const task = this.#workload.next(recorder);
    switch (task.task) {
      case 'write':
        return this.#write(recorder, task.changes);
      case 'read':
        return this.read(recorder, task.name, task.level, this.#anyRegion());
      case 'scan':
        return this.scan(recorder, task.level, this.#anyRegion());
    }
  }

  // ---- writes

  async #write(recorder: SetRecorder, changes: readonly Change[]): Promise<void> {
    const { partitionSet } = recorder;
    const operation = this.#workload.nextName();
    const began = this.#scene.now();
    const session = this.#session(recorder);
    let region = this.#writers.get(partitionSet) ?? this.#anyRegion();
    for (let attempt = 0; attempt < ATTEMPTS && this.#scene.now() - began < LONGEST_MS; attempt += 1) {
      const start = this.#scene.now();
      const patience = this.#random.uniform() < 0.2 ? this.#random.between(30, 300) : 1500;
      const request = {
        partitionKey: [changes[0]!.name.partitionKey],
        operations: changes.map((change) => change.operation),
        operation,
      };
      const reply = await this.#scene.ask(this.#process(), region, partitionSet, patience, (partition) =>
        partition.write(request, 1000),
      );
      const end = this.#recordWrite(recorder, { changes, operation, region, start, session }, reply);
      if (end === 'over') {
        if (this.#random.uniform() < 0.03) continue;
        return;
      }
      region = this.#nextRegion(region);
      await sleep(this.#process(), this.#random.between(5, 60));
    }
  }

  #recordWrite(
    recorder: SetRecorder,
    call: {
      readonly changes: readonly Change[];
      readonly operation: string;
      readonly region: string;
      readonly start: number;
      readonly session: Session;
    },
    reply: Reply<WriteAnswer>,
  ): 'over' | 'again' {
    const { changes, operation, region, start, session } = call;
    const answer = reply.reply === 'answer' ? reply.answer : undefined;
    const isDone = answer?.outcome === 'done';
    const isApplied = isDone && answer.results.every(({ status }) => status < 300);
    const isUnknown = reply.reply === 'none' || answer?.outcome === 'unknown';
    const outcome = isApplied ? 'ok' : isUnknown ? 'unknown' : 'failed';
    const position = isDone ? plain(answer.position) : undefined;
    const { tokenSent, tokenReceived } = this.#tokens(session, position);
    const end = reply.reply === 'none' ? undefined : this.#scene.now();
    for (const { kind, name, value, condition } of changes) {
      recorder.operations.push({
        id: recorder.nextId(),
        client: this.#name,
        session: session.name,
        region,
        key: nameOf(name),
        start,
        end,
        outcome,
        level: this.#scene.level,
        tokenSent,
        tokenReceived,
        kind,
        operation,
        value,
        condition,
        position: isApplied ? position : undefined,
      });
      if (isApplied && kind === 'write') this.#workload.saw(recorder, name, position!);
    }
    const what = answer === undefined ? reply.reply : answer.outcome === 'refused' ? answer.code : outcome;
    this.#scene.count(`write: ${what}`);
    this.#scene.note(`${operation} ${what} ${position?.epoch} ${position?.lsn}`, this.#process());
    if (isApplied) {
      this.#writers.set(recorder.partitionSet, region);
      this.#scene.onAcknowledged(recorder.partitionSet, start);
    } else if (!isDone) this.#writers.delete(recorder.partitionSet);
    return isDone ? 'over' : 'again';
  }

  // ---- reads

  async read(
    recorder: SetRecorder,
    name: DocumentName,
    level: ConsistencyLevel,
    region: string,
  ): Promise<boolean> {
    const { partitionSet } = recorder;
    const start = this.#scene.now();
    const session = this.#session(recorder);
    const token = level === 'Session' ? session.token : undefined;
    const key = { epk: epkOf([name.partitionKey]), id: name.id };
    const reply = await this.#scene.ask(this.#process(), region, partitionSet, 1500, (partition) =>
      partition.read({ key, level, ...(token && { session: token }) }, 1000),
    );
    const answer: ReadAnswer | undefined = reply.reply === 'answer' ? reply.answer : undefined;
    this.#scene.count(`read: ${outcomeOf(reply, answer)}`);
    if (answer?.outcome !== 'done') {
      this.#forgetUndone(recorder, answer);
      return false;
    }
    const { version, position } = answer;
    this.#scene.note(`read ${level} ${version?.epoch} ${version?.lsn} ${position.lsn}`, this.#process());
    if (version?.body !== undefined) this.#workload.saw(recorder, name, version);
    const call = { recorder, region, start, level, session, token, snapshot: plain(position) };
    this.#recordRead(call, nameOf(name), version, undefined);
    return true;
  }

  async scan(recorder: SetRecorder, level: ConsistencyLevel, region: string): Promise<boolean> {
    const { partitionSet } = recorder;
    const start = this.#scene.now();
    const session = this.#session(recorder);
    const token = level === 'Session' ? session.token : undefined;
    const reply = await this.#scene.ask(this.#process(), region, partitionSet, 1500, (partition) =>
      partition.scan({ from: '', to: 'G', limit: 1000 }, { level, ...(token && { session: token }) }, 1000),
    );
    const answer: ScanAnswer | undefined = reply.reply === 'answer' ? reply.answer : undefined;
    this.#scene.count(`scan: ${outcomeOf(reply, answer)}`);
    if (answer?.outcome !== 'done') {
      this.#forgetUndone(recorder, answer);
      return false;
    }
    const { versions, position } = answer;
    this.#scene.note(`scan ${level} ${versions.length} ${position.lsn}`, this.#process());
    const found = new Map(versions.map((version) => [keyOf(version), version]));
    const batch = recorder.nextId();
    const call = { recorder, region, start, level, session, token, snapshot: plain(position) };
    for (const name of this.#workload.documents()) {
      this.#recordRead(call, nameOf(name), found.get(nameOf(name)), batch);
      found.delete(nameOf(name));
    }
    if (found.size > 0) recorder.wrongs.push(`a scan in ${region} found ${[...found.keys()].join(', ')}`);
    return true;
  }

  #recordRead(
    call: {
      readonly recorder: SetRecorder;
      readonly region: string;
      readonly start: number;
      readonly level: ConsistencyLevel;
      readonly session: Session;
      readonly token: Position | undefined;
      readonly snapshot: Position;
    },
    key: string,
    version: Version | undefined,
    batch: string | undefined,
  ): void {
    const { recorder, region, start, level, session, token, snapshot } = call;
    if (level === 'Session') this.#tokens(session, snapshot);
    const read: ClientOperation = {
      id: recorder.nextId(),
      client: this.#name,
      session: session.name,
      region,
      key,
      start,
      end: this.#scene.now(),
      outcome: 'ok',
      level,
      tokenSent: token,
      tokenReceived: level === 'Session' ? session.token : undefined,
      kind: 'read',
      value: version && valueOf(version),
      version: version && plain(version),
      snapshot,
      batch,
    };
    recorder.operations.push(read);
  }

  // ---- sessions

  #session(recorder: SetRecorder): Session {
    let session = this.#sessions.get(recorder.partitionSet);
    if (session === undefined) {
      session = { name: this.#workload.nextName(), token: undefined };
      this.#sessions.set(recorder.partitionSet, session);
    }
    return session;
  }

  /** What the session saw is gone: its user is told, and a new one begins. */
  #forgetUndone(recorder: SetRecorder, answer: ReadAnswer | ScanAnswer | undefined): void {
    if (answer?.outcome === 'refused' && answer.code === 'SESSION_UNDONE')
      this.#sessions.delete(recorder.partitionSet);
  }

  /** A session's token is the highest position that it was told. */
  #tokens(
    session: Session,
    position: Position | undefined,
  ): { readonly tokenSent: Position | undefined; readonly tokenReceived: Position | undefined } {
    const { token } = session;
    if (position !== undefined && (token === undefined || positionOrder(position, token) > 0))
      session.token = position;
    return { tokenSent: undefined, tokenReceived: position === undefined ? undefined : session.token };
  }

  // ---- choices

  documents(): readonly DocumentName[] {
    return this.#workload.documents();
  }

  #anyRegion(): string {
    const { regions } = this.#scene;
    return regions[this.#random.integer(regions.length)]!;
  }

  #nextRegion(region: string): string {
    const { regions } = this.#scene;
    return regions[(regions.indexOf(region) + 1) % regions.length]!;
  }
}

function outcomeOf(reply: Reply<unknown>, answer: ReadAnswer | ScanAnswer | undefined): string {
  if (answer === undefined) return reply.reply;
  return answer.outcome === 'refused' ? answer.code : 'ok';
}
