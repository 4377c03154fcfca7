/** Defects of the five levels: what a client would see if a rule did not hold. */
import type { ConsistencyRule } from './findings.ts';
import { BEFORE_ALL, type ClientRead, type Position, positionOrder, samePosition } from './history.ts';
import type { LogNode } from './log-tree.ts';
import { type AckedWrite, type CheckedRun, type Planting, positionOf, type RunDefect } from './planting.ts';

type LevelRule = Extract<
  ConsistencyRule,
  `${'strong' | 'bounded' | 'session' | 'prefix' | 'eventual'}.${string}`
>;

const NOWHERE: Position = { epoch: 900, lsn: 900 };

/** A key with an older version, and the last place that shows it. */
function stale(plant: Planting): { key: string; place: LogNode; newest: LogNode } | undefined {
  const row = plant.pick(plant.rows, ({ key }) => plant.versionsOf(key!).length > 1);
  if (row === undefined) return undefined;
  const newest = plant.versionsOf(row.key!).at(-1)!;
  return { key: row.key!, place: plant.placeBefore(newest), newest };
}

/** The last acknowledged write of the log. */
function lastAcked(plant: Planting): AckedWrite | undefined {
  return plant.acked.sort((a, b) => positionOrder(a.position, b.position)).at(-1);
}

/** An acknowledged write moved behind another call, into its session. */
function moveBehind(
  plant: Planting,
  write: AckedWrite,
  before: { readonly session: string; readonly end?: number | undefined },
): CheckedRun {
  const start = before.end! + 1;
  return plant.change(write, { session: before.session, start, end: start + 1, tokenSent: undefined });
}

function pickVersioned(plant: Planting, suits: (read: ClientRead, version: LogNode) => boolean) {
  const { reads } = plant.evidence;
  const pair = plant.pick(
    reads,
    ({ read, version }) => typeof version !== 'string' && version.lsn > 0 && suits(read, version),
  );
  return pair && { read: pair.read, version: pair.version as LogNode };
}

const isOfFinal = (version: LogNode) => version.chain.isFinal;

export const PLANTED_IN_LEVELS: Record<LevelRule, Record<string, RunDefect>> = {
  'strong.order': {
    'a stale read': (plant) => {
      const found = stale(plant);
      return found && plant.add(plant.readAt(found.key, found.place));
    },
    'a read that knows the future': (plant) => {
      const write = plant.pick(plant.acked);
      return (
        write && plant.add(plant.readAt(write.key, plant.evidence.tree.entry(write.position)!, { start: -2 }))
      );
    },
    'two writes whose times are exchanged': (plant) => {
      const { acked } = plant;
      const first = plant.pick(acked, (a) => acked.some((b) => b.key === a.key && a.end < b.start));
      const second = acked.find((b) => first !== undefined && b.key === first.key && first.end < b.start);
      if (first === undefined || second === undefined) return undefined;
      const half = plant.change(first, { start: second.start, end: second.end });
      const operations = half.record.operations.map((one) =>
        one === second ? { ...second, start: first.start, end: first.end } : one,
      );
      return { ...half, record: { ...half.record, operations } };
    },
    'an absence that cannot be': (plant) => {
      const row = plant.pick(plant.rows, ({ key }) => {
        const versions = plant.versionsOf(key!);
        return versions.every((version) => version.rows[0]!.value !== undefined);
      });
      if (row === undefined) return undefined;
      return plant.add(
        plant.readAt(row.key!, plant.evidence.tree.root, { version: undefined, value: undefined }),
      );
    },
  },
  'strong.read': {
    'a read of an undone write': (plant) => {
      const branch = plant.pick(
        plant.evidence.tree.branches,
        ({ nodes }) => nodes[0]!.rows[0]!.key !== undefined,
      );
      const node = branch?.nodes[0];
      return node && plant.add(plant.readAt(node.rows[0]!.key!, node));
    },
    'a read of a version that never was': (plant) =>
      plant.add(plant.readAt('key 0', plant.end, { version: NOWHERE, value: 'planted' })),
  },
  'strong.kept': {
    'an acknowledged write taken out of the log': (plant) => {
      const write = plant.pick(plant.acked);
      return (
        write && plant.with({ log: plant.record.log.filter((row) => !samePosition(row, write.position)) })
      );
    },
    'an acknowledgement of another position': (plant) => {
      const write = plant.pick(plant.acked);
      return write && plant.change(write, { position: { ...write.position, lsn: write.position.lsn + 1 } });
    },
    'an acknowledgement of what never happened': (plant) => {
      const lost = plant.pick(plant.evidence.writes, ({ node }) => node === undefined)?.attempts[0];
      const position = { epoch: plant.end.epoch, lsn: plant.end.lsn + 1 };
      return lost && plant.change(lost, { outcome: 'ok', end: plant.later, position });
    },
  },
  'bounded.versions': {
    'a snapshot too many entries behind': (plant) => {
      const write = lastAcked(plant);
      const lsn = (write?.position.lsn ?? 0) - plant.run.bound.versions;
      if (write === undefined || lsn < 1) return undefined;
      return plant.add(
        plant.snapshotAt(write.key, plant.placeBefore(plant.evidence.tree.final.nodes[lsn - 1]!)),
      );
    },
    'a version too many entries behind': (plant) => {
      const lsn = (lastAcked(plant)?.position.lsn ?? 0) - plant.run.bound.versions;
      const node = plant.evidence.tree.final.nodes[lsn - 1];
      const row = node?.rows[0];
      const isReplacement = row?.key !== undefined && row.value !== undefined;
      if (node === undefined || !isReplacement || !plant.isBeyondLosses(node)) return undefined;
      const place = plant.placeBefore(node);
      const read = plant.readAt(row.key, place);
      return read.value === undefined ? undefined : plant.add(read);
    },
  },
  'bounded.time': {
    'a snapshot too old': (plant) => {
      const write = plant.pick(plant.acked);
      const start = (write?.end ?? 0) + plant.run.bound.ms + 1;
      return write && plant.add(plant.snapshotAt(write.key, plant.placeBefore(write.position), { start }));
    },
    'a version too old': (plant) => {
      const write = plant.pick(plant.acked, ({ key, position, kind }) => {
        const place = plant.placeBefore(position);
        const isReplacement = plant.evidence.tree.versionAt(key, place).rows[0]?.value !== undefined;
        return kind === 'write' && isReplacement && plant.isBeyondLosses(position);
      });
      const start = plant.later + plant.run.bound.ms + 1;
      return write && plant.add(plant.readAt(write.key, plant.placeBefore(write.position), { start }));
    },
  },
  'bounded.writer': {
    'the write region does not see its own write': (plant) => {
      const write = plant.pick(plant.acked);
      if (write === undefined) return undefined;
      const fields = { region: write.region, start: write.end + 1 };
      return plant.add(plant.snapshotAt(write.key, plant.placeBefore(write.position), fields));
    },
    'the write region forgets what it showed': (plant) => {
      const writers = new Map(plant.acked.map(({ position, region }) => [position.epoch, region]));
      const isOwn = (read: ClientRead, version: LogNode) =>
        isOfFinal(version) && writers.get(version.epoch) === read.region;
      const found = pickVersioned(plant, isOwn);
      if (found === undefined) return undefined;
      const { read, version } = found;
      const fields = { region: read.region, start: read.end! + 1 };
      return plant.add(plant.snapshotAt(read.key, plant.placeBefore(version), fields));
    },
  },
  'session.read-your-writes': {
    'a snapshot before an own write': (plant) => {
      const write = plant.pick(plant.acked);
      if (write === undefined) return undefined;
      const fields = { session: write.session, start: write.end + 1 };
      return plant.add(plant.snapshotAt(write.key, plant.placeBefore(write.position), fields));
    },
    'a version before an own write': (plant) => {
      const write = plant.pick(plant.acked, ({ position, kind, key }) => {
        const isReplacement = plant.evidence.tree.versionAt(key, plant.placeBefore(position)).rows[0]?.value;
        return kind === 'write' && isReplacement !== undefined && plant.isBeyondLosses(position);
      });
      if (write === undefined) return undefined;
      const fields = { session: write.session, start: write.end + 1 };
      return plant.add(plant.readAt(write.key, plant.placeBefore(write.position), fields));
    },
  },
  'session.monotonic-reads': {
    'a snapshot before the last one': (plant) => {
      const read = plant.pick(plant.reads, ({ snapshot }) => snapshot !== undefined && snapshot.lsn > 0);
      if (read === undefined) return undefined;
      const fields = { session: read.session, start: read.end! + 1 };
      return plant.add(plant.snapshotAt(read.key, plant.placeBefore(read.snapshot!), fields));
    },
    'a version before the last one': (plant) => {
      const found = pickVersioned(plant, (read, version) => {
        const before = plant.evidence.tree.versionAt(read.key, plant.placeBefore(version));
        return isOfFinal(version) && before.rows[0]?.value !== undefined && plant.isBeyondLosses(version);
      });
      if (found === undefined) return undefined;
      const fields = { session: found.read.session, start: found.read.end! + 1 };
      return plant.add(plant.readAt(found.read.key, plant.placeBefore(found.version), fields));
    },
  },
  'session.monotonic-writes': {
    'a write of another session moved behind': (plant) => {
      const before = plant.pick(plant.acked, ({ position }) => position.lsn > 1);
      const isEarlier = (write: AckedWrite) => positionOrder(write.position, before!.position) < 0;
      const write = before && plant.pick(plant.acked, isEarlier);
      return write && moveBehind(plant, write, before);
    },
    'two answers exchanged': (plant) => {
      const isNext = (a: AckedWrite, b: AckedWrite) => a.session === b.session && a.end < b.start;
      const first = plant.pick(plant.acked, (a) => plant.acked.some((b) => isNext(a, b)));
      const second = first && plant.pick(plant.acked, (b) => isNext(first, b));
      if (first === undefined || second === undefined) return undefined;
      const { record } = plant.change(first, { position: second.position });
      const operations = record.operations.map((one) =>
        one === second ? { ...second, position: first.position } : one,
      );
      return plant.with({ operations });
    },
  },
  'session.writes-follow-reads': {
    'a write of another session moved behind a read': (plant) => {
      const found = pickVersioned(plant, () => true);
      const isEarlier = (write: AckedWrite) => positionOrder(write.position, found!.version) < 0;
      const write = found && plant.pick(plant.acked, isEarlier);
      return write && moveBehind(plant, write, found.read);
    },
    'a read of what comes after the next write': (plant) => {
      const last = plant.rows.at(-1);
      const write = plant.pick(
        plant.acked,
        ({ position }) => last !== undefined && positionOrder(position, last) < 0,
      );
      if (write === undefined || last === undefined) return undefined;
      const fields = { session: write.session, start: write.start - 2 };
      return plant.add(plant.readAt(last.key!, plant.end, fields));
    },
  },
  'session.token': {
    'a token handed over and not honoured': (plant) => {
      const read = plant.pick(plant.reads, ({ snapshot }) => snapshot !== undefined);
      return read && plant.change(read, { tokenSent: { ...read.snapshot!, lsn: read.snapshot!.lsn + 1 } });
    },
    'a token that does not cover the write': (plant) => {
      const write = plant.pick(plant.acked);
      return write && plant.change(write, { tokenReceived: BEFORE_ALL });
    },
    'a write below its token': (plant) => {
      const write = plant.pick(plant.acked);
      return write && plant.change(write, { tokenSent: write.position, tokenReceived: undefined });
    },
  },
  'prefix.snapshot': {
    'a snapshot from before the version': (plant) => {
      const found = pickVersioned(plant, ({ value }, version) => isOfFinal(version) && value !== undefined);
      return found && plant.change(found.read, { snapshot: positionOf(plant.placeBefore(found.version)) });
    },
    'an older version than the snapshot has': (plant) => {
      const found = pickVersioned(plant, ({ snapshot, value }, version) => {
        return snapshot !== undefined && value !== undefined && isOfFinal(version);
      });
      if (found === undefined) return undefined;
      const { value, version } = plant.readAt(found.read.key, plant.placeBefore(found.version));
      return plant.change(found.read, { value, version });
    },
    'a snapshot that is no place': (plant) => {
      const read = plant.pick(plant.reads);
      return read && plant.change(read, { snapshot: NOWHERE });
    },
  },
  'prefix.batch': {
    'a later write without an earlier one': (plant) => {
      const found = stale(plant);
      const last = plant.rows.at(-1);
      if (found === undefined || last === undefined || samePosition(found.newest, last)) return undefined;
      const old = plant.readAt(found.key, found.place, { batch: 'planted' });
      const isVisible = old.value !== undefined;
      return isVisible ? plant.add(old, plant.readAt(last.key!, plant.end, { batch: 'planted' })) : undefined;
    },
    'two snapshots in one answer': (plant) => {
      const row = plant.pick(plant.rows);
      if (row === undefined) return undefined;
      const first = plant.snapshotAt(row.key!, plant.end, { batch: 'planted' });
      return plant.add(first, plant.snapshotAt(row.key!, plant.placeBefore(row), { batch: 'planted' }));
    },
  },
  'eventual.written': {
    'a value that nobody wrote': (plant) => {
      const read = plant.pick(plant.reads);
      return read && plant.change(read, { value: 'planted' });
    },
    'the value of another version': (plant) => {
      const read = plant.pick(plant.reads, ({ version }) => version !== undefined && version.lsn > 0);
      const other =
        read && plant.pick(plant.rows, ({ value }) => value !== undefined && value !== read.value);
      return other && plant.change(read, { value: other.value });
    },
    'a version that never was': (plant) => {
      const read = plant.pick(plant.reads, ({ value }) => value !== undefined);
      return read && plant.change(read, { version: NOWHERE });
    },
  },
  'eventual.failed': {
    'the value of a failed write': (plant) => {
      const failed = plant.pick(
        plant.evidence.writes,
        ({ start, value }) => start === Infinity && value !== undefined,
      );
      return (
        failed && plant.add(plant.readAt(failed.key, plant.end, { value: failed.value, version: NOWHERE }))
      );
    },
    'a failure told for what is seen': (plant) => {
      const isSeen = ({ value }: AckedWrite) =>
        value !== undefined && plant.reads.some((read) => read.value === value);
      const write = plant.pick(plant.acked, isSeen);
      return write && plant.change(write, { outcome: 'failed', position: undefined });
    },
  },
  'eventual.future': {
    'a version before it was written': (plant) => {
      const write = plant.pick(plant.acked);
      return (
        write && plant.add(plant.readAt(write.key, plant.evidence.tree.entry(write.position)!, { start: -2 }))
      );
    },
    'a snapshot before it was written': (plant) => {
      const write = plant.pick(plant.acked);
      const place = write && plant.evidence.tree.entry(write.position);
      return place && plant.add(plant.snapshotAt('key of nobody', place, { start: -2 }));
    },
  },
  'eventual.converged': {
    'an old version after healing': (plant) => {
      const found = stale(plant);
      const place = found && plant.readAt(found.key, found.place);
      const isVisible = place?.value !== undefined;
      return isVisible ? plant.with({ operations: [...plant.record.operations, place] }) : undefined;
    },
    'nothing after healing': (plant) => {
      const { quietFrom = Infinity } = plant.record;
      const read = plant.pick(plant.reads, ({ start, value }) => start >= quietFrom && value !== undefined);
      return read && plant.change(read, { value: undefined, version: undefined });
    },
  },
};
