/** Defects of the log, of the list of undone writes, of change feeds and of copies. */
import type { FeedChange } from './feed.ts';
import type { ConsistencyRule } from './findings.ts';
import { type ClientWrite, type LogRow, positionOrder, samePosition, type UndoneWrite } from './history.ts';
import { isAbsence } from './log-tree.ts';
import { type AckedWrite, type CheckedRun, type Planting, positionOf, type RunDefect } from './planting.ts';

type LogRule = Extract<ConsistencyRule, `${'log' | 'loss' | 'feed' | 'copies'}.${string}`>;

function isLost(plant: Planting, row: UndoneWrite): boolean {
  const attempts = plant.evidence.originOf(row)?.attempts ?? [];
  return attempts.some(({ position }) => position !== undefined && samePosition(position, row));
}

/** The log from this row on is undone, as if a region that lacks it had been elected. */
function cutAt(plant: Planting, index: number): CheckedRun {
  const cut = plant.record.log.slice(index).map((row) => ({ ...row, region: 'planted' }));
  const undone = plant.record.undone.filter(({ closed }) => closed !== true);
  return plant.with({
    log: plant.record.log.slice(0, index),
    undone: [...undone, ...cut],
    quietFrom: undefined,
  });
}

function ackedFrom(plant: Planting, index: number): AckedWrite[] {
  const first = plant.record.log[index]!;
  return plant.acked.filter(({ position }) => positionOrder(position, first) >= 0);
}

function again(plant: Planting, write: AckedWrite, fields: Partial<ClientWrite>): CheckedRun {
  return plant.add({ ...write, id: 'planted', start: write.end + 1, end: write.end + 2, ...fields });
}

function withChanges(plant: Planting, edit: (changes: FeedChange[]) => void): CheckedRun {
  const { feed } = plant.run;
  const changes = feed.stretches.flatMap((stretch) => stretch.changes);
  const unique = changes.filter(
    (change, index) => changes.findIndex((one) => samePosition(one, change)) === index,
  );
  edit(unique);
  const stretch = { region: 'east', from: { epoch: 0, lsn: 0 }, changes: unique };
  return { ...plant.run, feed: { ...feed, stretches: [stretch] } };
}

function withCopy(plant: Planting, fields: (copy: CheckedRun['copies'][number]) => object): CheckedRun {
  const [first, ...others] = plant.run.copies;
  return { ...plant.run, copies: [{ ...first!, ...fields(first!) }, ...others] };
}

function end(plant: Planting): { readonly epoch: number; readonly lsn: number } {
  return { epoch: plant.end.epoch, lsn: plant.end.lsn + 1 };
}

export const PLANTED_IN_LOGS: Record<LogRule, Record<string, RunDefect>> = {
  'log.order': {
    'an entry left out': (plant) => {
      const row = plant.pick(plant.record.log.slice(0, -1));
      return row && plant.with({ log: plant.record.log.filter((one) => one !== row) });
    },
    'an epoch that falls': (plant) => {
      const last = plant.record.log.at(-1);
      return last && plant.changeRow(last, { epoch: plant.record.log[0]!.epoch - 1 });
    },
    'an undone entry after nothing': (plant) => {
      const row = { ...end(plant), lsn: plant.end.lsn + 50, key: 'key 0', value: 'planted', region: 'east' };
      return plant.with({ undone: [...plant.record.undone, row] });
    },
  },
  'log.origin': {
    'an entry of nobody': (plant) =>
      plant.with({
        log: [...plant.record.log, { ...end(plant), key: 'key 0', value: 'planted', operation: 'planted' }],
      }),
    'an entry with another value': (plant) => {
      const row = plant.pick(plant.rows);
      return row && plant.changeRow(row, { value: 'planted' });
    },
    'an entry of a write that failed': (plant) => {
      const write = plant.pick(plant.acked);
      return write && plant.change(write, { outcome: 'failed', position: undefined });
    },
  },
  'log.condition': {
    'another version replaced': (plant) => {
      const write = plant.pick(plant.acked);
      return write && plant.change(write, { condition: write.position });
    },
    'a document where there should be none': (plant) => {
      const { tree } = plant.evidence;
      const write = plant.pick(plant.acked, ({ key, position }) => {
        return !isAbsence(tree.versionAt(key, plant.placeBefore(position)), key);
      });
      return write && plant.change(write, { condition: 'absent' });
    },
  },
  'log.once': {
    'a write applied again at the end': (plant) => {
      const row = plant.pick(plant.rows);
      return row && plant.with({ log: [...plant.record.log, { ...row, ...end(plant) }] });
    },
    'a write applied in place of another': (plant) => {
      const row = plant.pick(plant.rows);
      const other = plant.pick(plant.rows, (one) => one !== row);
      return row && other && plant.changeRow(other, { ...row, ...positionOf(other) });
    },
  },
  'log.answer': {
    'the position of another entry': (plant) => {
      const write = plant.pick(plant.acked);
      const row = write && plant.pick(plant.record.log, (one) => !samePosition(one, write.position));
      return row && again(plant, write, { position: positionOf(row) });
    },
    'the position of no entry': (plant) => {
      const write = plant.pick(plant.acked);
      return write && again(plant, write, { position: end(plant) });
    },
  },
  'loss.unlisted': {
    'an undone write left out of the list': (plant) => {
      const row = plant.pick(plant.record.undone, (one) => one.closed !== true && isLost(plant, one));
      return row && plant.with({ undone: plant.record.undone.filter((one) => !samePosition(one, row)) });
    },
    'a write that is simply gone': (plant) => {
      const write = plant.pick(plant.acked);
      const isOther = (one: LogRow) => !samePosition(one, write!.position);
      const { log, undone } = plant.record;
      return write && plant.with({ log: log.filter(isOther), undone: undone.filter(isOther) });
    },
  },
  'loss.content': {
    'another value in the list': (plant) => {
      const row = plant.pick(plant.record.undone, (one) => one.closed !== true && isLost(plant, one));
      const undone = plant.record.undone.map((one) =>
        row !== undefined && samePosition(one, row) ? { ...one, value: 'planted' } : one,
      );
      return row && plant.with({ undone });
    },
    'two regions that disagree': (plant) => {
      const row = plant.pick(plant.record.undone);
      return (
        row &&
        plant.with({ undone: [...plant.record.undone, { ...row, region: 'planted', value: 'planted' }] })
      );
    },
    'the position of another entry': (plant) => {
      const row = plant.pick(plant.rows);
      const other = row && { ...positionOf(row), key: row.key, value: 'planted', region: 'east' };
      const undone = plant.record.undone.filter((one) => row === undefined || !samePosition(one, row));
      return other && plant.with({ undone: [...undone, other] });
    },
  },
  'loss.versions': {
    'a region elected that lags too far': (plant) => {
      const { bound } = plant.run;
      const index = plant.record.log.findLastIndex((_, at) => ackedFrom(plant, at).length > bound.versions);
      return index < 0 ? undefined : cutAt(plant, index);
    },
    'more acknowledged of a branch than the bound': (plant) => {
      const template = plant.pick(plant.acked);
      if (template === undefined) return undefined;
      const writes = Array.from({ length: plant.run.bound.versions + 1 }, (_, index): AckedWrite => {
        const position = { epoch: plant.end.epoch + 1, lsn: plant.end.lsn + 1 + index };
        const name = `planted ${index}`;
        return { ...template, id: name, operation: name, kind: 'write', value: name, position };
      });
      const undone = writes.map(({ position, key, value, operation }) => ({
        ...position,
        key,
        value,
        operation,
        region: 'east',
      }));
      const { record } = plant.add(...writes);
      return { ...plant.run, record: { ...record, undone: [...record.undone, ...undone] } };
    },
  },
  'loss.time': {
    'a region elected that is too old': (plant) => {
      const index = plant.record.log.findLastIndex((_, at) => {
        const lost = ackedFrom(plant, at);
        const earliest = Math.min(...lost.map((write) => write.end));
        return Math.max(...lost.map(({ start }) => start)) - earliest > plant.run.bound.ms;
      });
      return index < 0 ? undefined : cutAt(plant, index);
    },
    'a write acknowledged long before the rest that was lost': (plant) => {
      const row = plant.pick(plant.record.undone, (one) => one.closed !== true && isLost(plant, one));
      const branch = plant.evidence.tree.branches.find(({ nodes }) =>
        nodes.some((node) => row !== undefined && samePosition(node, row)),
      );
      const acked = branch?.nodes.flatMap((node) => {
        const origin = node.rows[0] && plant.evidence.originOf(node.rows[0]);
        return (
          origin?.attempts.filter((one) => one.position !== undefined && samePosition(one.position, node)) ??
          []
        );
      });
      if (acked === undefined || acked.length < 2) return undefined;
      const start = acked[1]!.start - plant.run.bound.ms - 3;
      return plant.change(acked[0]!, { start, end: start + 1 });
    },
  },
  'loss.closed': {
    'closed and not back': (plant) => {
      const row = plant.pick(plant.record.undone, ({ closed }) => closed !== true);
      const undone = plant.record.undone.map((one) => (one === row ? { ...one, closed: true } : one));
      return row && plant.with({ undone });
    },
    'back and not closed': (plant) => {
      const row = plant.pick(plant.rows);
      return (
        row && plant.with({ undone: [...plant.record.undone, { ...row, region: 'planted', closed: false }] })
      );
    },
  },
  'feed.order': {
    'two changes exchanged': (plant) =>
      withChanges(plant, (changes) => changes.splice(0, 2, changes[1]!, changes[0]!)),
    'the first change last': (plant) => withChanges(plant, (changes) => changes.push(changes.shift()!)),
  },
  'feed.repetition': {
    'a change given twice': (plant) => withChanges(plant, (changes) => changes.push(changes[0]!)),
    'a change from before the place asked for': (plant) => {
      const run = withChanges(plant, () => {});
      const [stretch] = run.feed.stretches;
      const from = positionOf(stretch!.changes[2] ?? stretch!.changes[0]!);
      return { ...run, feed: { ...run.feed, stretches: [{ ...stretch!, from }] } };
    },
  },
  'feed.gap': {
    'a change left out': (plant) => withChanges(plant, (changes) => changes.splice(1, 1)),
    'the last change left out': (plant) => withChanges(plant, (changes) => changes.pop()),
    'a stretch that starts too late': (plant) => {
      const { feed } = plant.run;
      const isEarlier = feed.stretches.length > 2;
      return isEarlier
        ? { ...plant.run, feed: { ...feed, stretches: feed.stretches.toSpliced(1, 1) } }
        : undefined;
    },
  },
  'feed.committed': {
    'an undone change': (plant) => {
      const row = plant.pick(plant.record.undone, ({ closed, key }) => closed !== true && key !== undefined);
      return row && withChanges(plant, (changes) => changes.push({ ...row, key: row.key! }));
    },
    'another value': (plant) =>
      withChanges(plant, (changes) => changes.splice(0, 1, { ...changes[0]!, value: 'planted' })),
  },
  'copies.log': {
    'an entry missing at the end': (plant) => {
      const isShort = plant.run.copies[0]!.log.length < 2;
      return isShort ? undefined : withCopy(plant, ({ log }) => ({ log: log.slice(0, -1) }));
    },
    'an entry too many': (plant) => withCopy(plant, ({ log }) => ({ log: [...log, end(plant)] })),
    'an entry of another epoch': (plant) =>
      withCopy(plant, ({ log }) => ({ log: [...log.slice(0, -1), { ...log.at(-1)!, epoch: 900 }] })),
  },
  'copies.documents': {
    'a document missing': (plant) =>
      withCopy(plant, ({ documents }) => ({ documents: new Map([...documents].slice(1)) })),
    'a document of an old version': (plant) =>
      withCopy(plant, ({ documents }) => ({
        documents: new Map(
          [...documents].map(([key, document]) => [key, { ...document, lsn: document.lsn - 1 }]),
        ),
      })),
    'a document with another value': (plant) =>
      withCopy(plant, ({ documents }) => ({
        documents: new Map([...documents].map(([key, document]) => [key, { ...document, value: 'planted' }])),
      })),
    'a deleted document that is still there': (plant) =>
      withCopy(plant, ({ documents }) => ({
        documents: new Map([...documents, ['key of nobody', { epoch: 1, lsn: 1, value: 'planted' }]]),
      })),
  },
};
