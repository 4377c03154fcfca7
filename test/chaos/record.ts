/**
 * What the clients of a run asked and were told, in the form that the checkers of the simulator take (`src/check/consistency`), one
 * record for each partition-set. Times are of this process's monotonic clock: all clients are in it.
 */
import type {
  ClientOperation,
  ClientRead,
  ClientWrite,
  ConsistencyLevel,
  FeedChange,
  Position,
} from 'baton/check';

export interface FeedLog {
  from: Position;
  readonly changes: FeedChange[];
}

export class SetRecord {
  readonly partitionSet: string;
  readonly operations: ClientOperation[] = [];
  /** When writes were acknowledged, in the order of the answers. */
  readonly acknowledgedAt: number[] = [];
  /** Stretches of the feed's reader. */
  stretches: FeedLog[] = [];

  constructor(partitionSet: string) {
    this.partitionSet = partitionSet;
  }
}

type Named<T> = Omit<T, 'id'>;

export class Recorder {
  readonly level: ConsistencyLevel;
  readonly sets: ReadonlyMap<string, SetRecord>;
  /** Outcomes by name, such as `read: ok`. */
  readonly counts = new Map<string, number>();
  /** What must not have happened to a client. */
  readonly wrongs: string[] = [];
  #calls = 0;

  constructor(level: ConsistencyLevel, partitionSets: readonly string[]) {
    this.level = level;
    this.sets = new Map(partitionSets.map((name) => [name, new SetRecord(name)]));
  }

  now(): number {
    return performance.now();
  }

  write(partitionSet: string, call: Named<ClientWrite>): void {
    const set = this.sets.get(partitionSet)!;
    set.operations.push({ ...call, id: this.nextId() });
    if (call.outcome === 'ok') set.acknowledgedAt.push(call.end!);
    this.count(`write: ${call.outcome}`);
  }

  read(partitionSet: string, call: Named<ClientRead>): void {
    this.sets.get(partitionSet)!.operations.push({ ...call, id: this.nextId() });
    this.count('read: ok');
  }

  count(what: string, times = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + times);
  }

  wrong(what: string): void {
    if (this.wrongs.length < 50) this.wrongs.push(what);
  }

  nextId(): string {
    this.#calls += 1;
    return `c${this.#calls}`;
  }
}

/** The place of a version, from its etag; undefined for what is none. */
export function positionIn(etag: string | undefined): Position | undefined {
  const [, epoch, lsn] = /^"([0-9a-f]+)-([0-9a-f]+)"$/.exec(etag ?? '') ?? [];
  return epoch === undefined
    ? undefined
    : { epoch: Number.parseInt(epoch, 16), lsn: Number.parseInt(lsn!, 16) };
}

export function plain({ epoch, lsn }: Position): Position {
  return { epoch, lsn };
}
