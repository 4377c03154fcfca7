/**
 * Defects put into what a real run left behind, each with the rule that must find it. They are the ways in which a cluster
 * would lie: an acknowledged write that is gone, reads in the wrong order, copies that differ, a feed with a hole.
 */
import {
  type ClientRead,
  type ClientWrite,
  type ConsistencyRule,
  type LogRow,
  positionOrder,
  samePosition,
} from 'baton/check';
import type { DoneFault } from './campaign.ts';
import type { Recording } from './recording.ts';

export interface Plant {
  readonly name: string;
  readonly rule: ConsistencyRule;
  readonly plant: (recording: Recording) => Recording;
}

/** Of an account at Strong. */
export const STRONG_PLANTS: readonly Plant[] = [
  {
    name: 'an acknowledged write is missing from the final state, and the copies agree on that',
    rule: 'strong.kept',
    plant: (recording) => {
      const last = recording.record.log.findLast(({ key }) => key !== undefined);
      return withoutTail(recording, last!);
    },
  },
  { name: "two reads of a document have each other's answers", rule: 'strong.order', plant: swapReads },
  {
    name: 'a read returns what nobody wrote',
    rule: 'eventual.written',
    plant: (recording) =>
      changeRead(
        recording,
        (read) => read.value !== undefined,
        (read) => ({ ...read, value: 'nobody wrote this' }),
      ),
  },
  {
    name: 'a region has an older version of a document at the end',
    rule: 'copies.documents',
    plant: (recording) => {
      const [first, ...others] = recording.copies;
      const documents = new Map(first!.documents);
      const [key, document] = [...documents][0]!;
      documents.set(key, { ...document, lsn: document.lsn - 1, value: 'older' });
      return { ...recording, copies: [{ ...first!, documents }, ...others] };
    },
  },
  {
    name: 'a region lacks an entry of the log',
    rule: 'copies.log',
    plant: (recording) => {
      const [first, ...others] = recording.copies;
      return { ...recording, copies: [{ ...first!, log: first!.log.toSpliced(5, 1) }, ...others] };
    },
  },
  {
    name: 'a write is carried out twice',
    rule: 'log.once',
    plant: (recording) => {
      const { log } = recording.record;
      const last = log.at(-1)!;
      const again = log.find(({ operation }) => operation !== undefined)!;
      const row: LogRow = { ...again, epoch: last.epoch, lsn: last.lsn + 1 };
      return { ...recording, record: { ...recording.record, log: [...log, row] } };
    },
  },
  {
    name: 'a conditional write replaces another version than it named',
    rule: 'log.condition',
    plant: (recording) =>
      changeWrite(
        recording,
        ({ outcome, condition }) => outcome === 'ok' && typeof condition === 'object',
        (write) => ({ ...write, condition: { epoch: 1, lsn: 1 } }),
      ),
  },
  {
    name: 'the feed leaves a change out',
    rule: 'feed.gap',
    plant: (recording) => changeFeed(recording, (changes) => changes.toSpliced(1, 1)),
  },
  {
    name: 'the feed shows a change twice',
    rule: 'feed.repetition',
    plant: (recording) => changeFeed(recording, (changes) => [...changes, changes[0]!]),
  },
  {
    name: 'a write that was refused is in the log',
    rule: 'log.origin',
    plant: (recording) =>
      changeWrite(
        recording,
        ({ outcome }) => outcome === 'ok',
        (write) => ({ ...write, position: undefined, outcome: 'failed' }),
      ),
  },
  {
    name: 'a region returns an old version after healing',
    rule: 'eventual.converged',
    plant: (recording) => {
      const { operations } = recording.record;
      const old = operations.find((one): one is ClientRead => isRead(one) && one.value !== undefined)!;
      return changeRead(
        recording,
        ({ client, key, value }) => client === 'auditor' && key === old.key && value !== old.value,
        (read) => ({ ...read, snapshot: undefined, value: old.value, version: old.version }),
      );
    },
  },
];

/** Of an account at Session. */
export const SESSION_PLANTS: readonly Plant[] = [
  {
    name: 'an acknowledged write is missing, and nobody lists it',
    rule: 'loss.unlisted',
    plant: (recording) => {
      const last = recording.record.log.findLast(({ key }) => key !== undefined);
      return withoutTail(recording, last!);
    },
  },
  {
    name: 'what a failover undid is not listed',
    rule: 'loss.unlisted',
    plant: (recording) => ({ ...recording, record: { ...recording.record, undone: [] } }),
  },
  {
    name: 'what a failover undid is listed with another content',
    rule: 'loss.content',
    plant: (recording) => {
      const undone = recording.record.undone.map((row) => ({ ...row, value: 'another' }));
      return { ...recording, record: { ...recording.record, undone } };
    },
  },
  {
    name: 'a session reads an older version than it wrote',
    rule: 'session.read-your-writes',
    plant: (recording) => {
      const { operations } = recording.record;
      const isLate = (read: ClientRead): boolean =>
        read.level === 'Session' &&
        operations.some(
          (one) => isAcknowledged(one) && one.session === read.session && one.end! < read.start,
        );
      return changeRead(recording, isLate, (read) => ({
        ...read,
        version: undefined,
        value: undefined,
        tokenSent: undefined,
        snapshot: { epoch: 0, lsn: 0 },
      }));
    },
  },
  {
    name: 'a read forgets the token that it was sent',
    rule: 'session.token',
    plant: (recording) =>
      changeRead(
        recording,
        ({ level, tokenSent, snapshot }) =>
          level === 'Session' && tokenSent !== undefined && snapshot !== undefined,
        (read) => ({ ...read, tokenSent: { epoch: read.snapshot!.epoch, lsn: read.snapshot!.lsn + 1 } }),
      ),
  },
  {
    name: 'a write that is in the final log is listed as lost',
    rule: 'loss.closed',
    plant: (recording) => {
      const row = recording.record.log.find(({ key }) => key !== undefined)!;
      const undone = [...recording.record.undone, { ...row, region: 'west', closed: false }];
      return { ...recording, record: { ...recording.record, undone } };
    },
  },
  {
    name: 'a snapshot shows another version than its log has',
    rule: 'prefix.snapshot',
    plant: (recording) =>
      changeRead(
        recording,
        ({ snapshot, version }) => snapshot !== undefined && version !== undefined && version.lsn > 1,
        (read) => ({ ...read, snapshot: { epoch: read.version!.epoch, lsn: read.version!.lsn - 1 } }),
      ),
  },
];

/** Put into what a run did, with a part of the sentence that must say so. */
export interface DeedPlant {
  readonly name: string;
  readonly sentence: string;
  readonly plant: (faults: readonly DoneFault[]) => readonly DoneFault[];
}

/** Of a run with stores. */
export const STORE_PLANTS: readonly DeedPlant[] = [
  {
    name: 'a store is never taken away',
    sentence: 'redis was never away.',
    plant: (faults) =>
      faults.map((done) =>
        done.fault.loss?.store === 'redis'
          ? { ...done, fault: { ...done.fault, loss: { store: 'etcd', how: 'kill' } } }
          : done,
      ),
  },
  {
    name: 'the processes of a store are killed and paused, and it goes on answering',
    sentence: 'postgres was never away; 2 times it was to be',
    plant: (faults) =>
      faults.map((done) =>
        done.fault.loss?.store === 'postgres' ? { ...done, isStoreMissed: false } : done,
      ),
  },
];

type Operation = Recording['record']['operations'][number];

function isRead(operation: Operation): operation is ClientRead {
  return operation.kind === 'read';
}

function isAcknowledged(operation: Operation): operation is ClientWrite {
  return !isRead(operation) && operation.outcome === 'ok' && operation.position !== undefined;
}

function withOperations(recording: Recording, operations: readonly Operation[]): Recording {
  return { ...recording, record: { ...recording.record, operations } };
}

/** Changes the first operation that is meant; there must be one. */
function changeFirst(
  recording: Recording,
  isMeant: (operation: Operation) => boolean,
  change: (operation: Operation) => Operation,
): Recording {
  const { operations } = recording.record;
  const at = operations.findIndex(isMeant);
  if (at < 0) throw new Error('the recording has no operation to plant this defect in');
  return withOperations(recording, operations.with(at, change(operations[at]!)));
}

function changeRead(
  recording: Recording,
  isMeant: (read: ClientRead) => boolean,
  change: (read: ClientRead) => ClientRead,
): Recording {
  return changeFirst(
    recording,
    (one) => isRead(one) && isMeant(one),
    (one) => change(one as ClientRead),
  );
}

function changeWrite(
  recording: Recording,
  isMeant: (write: ClientWrite) => boolean,
  change: (write: ClientWrite) => ClientWrite,
): Recording {
  return changeFirst(
    recording,
    (one) => !isRead(one) && isMeant(one),
    (one) => change(one as ClientWrite),
  );
}

type Changes = Recording['feed']['stretches'][number]['changes'];

function changeFeed(recording: Recording, change: (changes: Changes) => Changes): Recording {
  const { feed } = recording;
  const at = feed.stretches.findIndex(({ changes }) => changes.length > 2);
  const stretch = feed.stretches[at]!;
  const stretches = feed.stretches.with(at, { ...stretch, changes: change(stretch.changes) });
  return { ...recording, feed: { ...feed, stretches } };
}

/** As if the log had ended before that entry, in all copies and for everybody who looked after healing. */
function withoutTail(recording: Recording, tail: LogRow): Recording {
  const { record, copies, feed } = recording;
  const log = record.log.filter((row) => positionOrder(row, tail) < 0);
  const operations = record.operations.filter((one) => one.client !== 'auditor');
  const known = new Map<string, LogRow>();
  for (const row of log) if (row.key !== undefined) known.set(row.key, row);
  const documents = new Map(
    [...known.values()].flatMap(({ key, value, epoch, lsn }) =>
      value === undefined ? [] : [[key!, { epoch, lsn, value }] as const],
    ),
  );
  const isKept = (position: { readonly epoch: number; readonly lsn: number }): boolean =>
    positionOrder(position, tail) < 0;
  return {
    ...recording,
    record: { ...record, log, operations },
    copies: copies.map((copy) => ({ ...copy, log: copy.log.filter(isKept), documents })),
    feed: {
      ...feed,
      stretches: feed.stretches.map((stretch) => ({ ...stretch, changes: stretch.changes.filter(isKept) })),
    },
  };
}

/** Of strong reads of one document, one after the other, that saw different versions. */
function swapReads(recording: Recording): Recording {
  const { operations } = recording.record;
  const strong = operations.filter(
    (one): one is ClientRead =>
      isRead(one) && one.level === 'Strong' && one.batch === undefined && one.version !== undefined,
  );
  for (const earlier of strong) {
    const later = strong.find(
      (one) =>
        one.key === earlier.key && one.start > earlier.end! && !samePosition(one.version!, earlier.version!),
    );
    if (later === undefined) continue;
    const answers = (of: ClientRead): Pick<ClientRead, 'value' | 'version' | 'snapshot'> => ({
      value: of.value,
      version: of.version,
      snapshot: of.snapshot,
    });
    const swapped = operations.map((one) => {
      if (one === earlier) return { ...earlier, ...answers(later) };
      return one === later ? { ...later, ...answers(earlier) } : one;
    });
    return withOperations(recording, swapped);
  }
  throw new Error('the recording has no two reads to swap');
}
