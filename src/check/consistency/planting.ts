/** The tools for planting defects into runs: choosing what to break, and putting one changed or added thing in its place. */
import type { Choose } from '../simulated.ts';
import type { StalenessBound } from './bounded.ts';
import type { CopyRecord } from './copies.ts';
import { Evidence } from './evidence.ts';
import type { FeedRecord } from './feed.ts';
import {
  BEFORE_ALL,
  type ClientOperation,
  type ClientRead,
  type ClientWrite,
  type ConsistencyLevel,
  type LogRow,
  type Position,
  positionOrder,
  type RunRecord,
} from './history.ts';
import { type LogNode, rowOf } from './log-tree.ts';

export type AckedWrite = ClientWrite & { readonly position: Position; readonly end: number };

/** A run with all that is checked of it. */
export interface CheckedRun {
  readonly level: ConsistencyLevel;
  readonly record: RunRecord;
  readonly bound: StalenessBound;
  readonly feed: FeedRecord;
  readonly copies: readonly CopyRecord[];
}

/** Breaks one thing; undefined if the run lacks what the defect needs. */
export type RunDefect = (run: Planting) => CheckedRun | undefined;

export class Planting {
  readonly run: CheckedRun;
  readonly record: RunRecord;
  readonly evidence: Evidence;
  readonly #choose: Choose;

  constructor(run: CheckedRun, choose: Choose) {
    this.run = run;
    this.record = run.record;
    this.evidence = new Evidence(run.record);
    this.#choose = choose;
  }

  /** After everything. */
  get later(): number {
    return this.record.operations.reduce((time, { start, end }) => Math.max(time, end ?? start), 0) + 1;
  }

  get end(): LogNode {
    return this.evidence.tree.final.nodes.at(-1) ?? this.evidence.tree.root;
  }

  choose(bound: number): number {
    return this.#choose(bound);
  }

  pick<T>(items: readonly T[], suits: (item: T) => boolean = () => true): T | undefined {
    const suitable = items.filter(suits);
    return suitable.length === 0 ? undefined : suitable[this.#choose(suitable.length)];
  }

  /** Acknowledged at the first attempt, and in the final log. */
  get acked(): AckedWrite[] {
    return this.evidence.writes.flatMap(({ attempts, node }) => {
      const [write] = attempts;
      const isSingle = attempts.length === 1 && write?.outcome === 'ok' && node !== undefined;
      return isSingle ? [write as AckedWrite] : [];
    });
  }

  get reads(): ClientRead[] {
    return this.evidence.reads.map(({ read }) => read);
  }

  /** Rows of the final log that changed a document. */
  get rows(): LogRow[] {
    return this.record.log.filter(({ key }) => key !== undefined);
  }

  /** The place before an entry of the final log. */
  placeBefore(position: Position): LogNode {
    const { tree } = this.evidence;
    return tree.final.nodes.findLast((node) => positionOrder(node, position) < 0) ?? tree.root;
  }

  versionsOf(key: string): readonly LogNode[] {
    return this.evidence.tree.final.versions.get(key) ?? [];
  }

  /** No undone branch reaches the position: no read below it can be excused by a loss. */
  isBeyondLosses(position: Position): boolean {
    return this.record.undone.every((row) => positionOrder(row, position) < 0);
  }

  /** A read that shows the key as it was at this place. */
  readAt(key: string, place: LogNode, fields: Partial<ClientRead> = {}): ClientRead {
    const version = this.evidence.tree.versionAt(key, place);
    const start = fields.start ?? this.later;
    return {
      id: 'planted',
      client: 'planted',
      session: 'planted',
      region: 'planted',
      kind: 'read',
      outcome: 'ok',
      level: this.run.level,
      key,
      start,
      end: start + 1,
      value: rowOf(version, key)?.value,
      version: positionOf(version),
      ...fields,
    };
  }

  /** The same with the place told as its snapshot. */
  snapshotAt(key: string, place: LogNode, fields: Partial<ClientRead> = {}): ClientRead {
    return this.readAt(key, place, { snapshot: positionOf(place), ...fields });
  }

  with(changes: Partial<RunRecord>): CheckedRun {
    return { ...this.run, record: { ...this.record, ...changes } };
  }

  /** Nothing is called quiet any more, so that only the defect is wrong. */
  add(...operations: readonly ClientOperation[]): CheckedRun {
    return this.with({ operations: [...this.record.operations, ...operations], quietFrom: undefined });
  }

  change(old: ClientWrite, fields: Partial<ClientWrite>): CheckedRun;
  change(old: ClientRead, fields: Partial<ClientRead>): CheckedRun;
  change(old: ClientOperation, fields: object): CheckedRun {
    return this.with({
      operations: this.record.operations.map((one) => (one === old ? { ...old, ...fields } : one)),
    });
  }

  changeRow(old: LogRow, fields: Partial<LogRow>): CheckedRun {
    return this.with({ log: this.record.log.map((row) => (row === old ? { ...row, ...fields } : row)) });
  }
}

export function positionOf({ epoch, lsn }: Position): Position {
  return lsn === 0 ? BEFORE_ALL : { epoch, lsn };
}
