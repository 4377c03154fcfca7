/** The calls of clients that follow plans, as the checkers want them. */
import type { ConsistencyLevel, Position } from '../../check/index.ts';
import type { PlanRan, PlanResult } from '../../client/index.ts';
import type { Version, WriteAnswer } from '../../engine/index.ts';
import { keyOf, type SetRecorder, valueOf } from './recorder.ts';
import { type Change, type DocumentName, nameOf, plain } from './workload.ts';

export interface Call {
  readonly client: string;
  readonly session: string;
  readonly start: number;
  readonly end: number;
  readonly level: ConsistencyLevel;
}

export interface WrittenCall {
  readonly changes: readonly Change[];
  readonly operation: string;
  readonly ran: PlanRan<WriteAnswer>;
  /** What the session has seen now. */
  readonly token: Position | undefined;
}

export function recordWrite(
  recorder: SetRecorder,
  call: Call,
  { changes, operation, ran, token }: WrittenCall,
): void {
  const { result, attempts } = ran;
  const outcome = result.ok ? 'ok' : result.error.outcome === 'notApplied' ? 'failed' : 'unknown';
  const region = result.ok ? result.region : (attempts.at(-1)?.region ?? 'nowhere');
  for (const { kind, name, value, condition } of changes) {
    recorder.operations.push({
      ...call,
      id: recorder.nextId(),
      region,
      key: nameOf(name),
      end: outcome === 'unknown' ? undefined : call.end,
      outcome,
      tokenSent: undefined,
      tokenReceived: result.answer === undefined ? undefined : token,
      kind,
      operation,
      value,
      condition,
      position: result.ok ? plain(result.answer.position) : undefined,
    });
  }
}

/** Holds the SDK to what it said, if it said that the write was not and will not be carried out. */
export function denyIn(
  recorder: SetRecorder,
  client: string,
  operation: string,
  changes: readonly Change[],
  result: PlanResult<WriteAnswer>,
): void {
  if (result.ok || result.error.outcome !== 'notApplied') return;
  recorder.notApplied.push({ client, operation, values: changes.map(({ value }) => value) });
}

export interface ReadCall {
  readonly region: string;
  readonly position: Position;
  /** What the session had seen, and what it has seen now. */
  readonly token: Position | undefined;
  readonly received: Position | undefined;
}

export function recordRead(
  recorder: SetRecorder,
  call: Call,
  read: ReadCall & {
    readonly name: DocumentName;
    readonly version: Version | undefined;
    readonly batch?: string;
  },
): void {
  const { region, name, version, position, token, received, batch } = read;
  recorder.operations.push({
    ...call,
    id: recorder.nextId(),
    region,
    key: nameOf(name),
    outcome: 'ok',
    tokenSent: token,
    tokenReceived: call.level === 'Session' ? received : undefined,
    kind: 'read',
    value: version && valueOf(version),
    version: version && plain(version),
    snapshot: plain(position),
    batch,
  });
}

export function recordScan(
  recorder: SetRecorder,
  call: Call,
  scan: ReadCall & { readonly versions: readonly Version[] },
  documents: readonly DocumentName[],
): void {
  const found = new Map(scan.versions.map((version) => [keyOf(version), version]));
  const batch = recorder.nextId();
  for (const name of documents) {
    recordRead(recorder, call, { ...scan, name, version: found.get(nameOf(name)), batch });
    found.delete(nameOf(name));
  }
  if (found.size > 0) recorder.wrongs.push(`a scan in ${scan.region} found ${[...found.keys()].join(', ')}`);
}
