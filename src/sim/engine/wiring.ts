/**
 * What stands between the product and the world: a store that tells of what is appended, and the places where a test can put
 * a deliberate defect to show that the checks notice it. None of the product's code knows of it.
 */
import type { AgentView, Driver } from '../../failover/index.ts';
import type { EnginePartition, NodeMessage, PartitionMessage, PartitionStore } from '../../engine/index.ts';
import type { Host } from '../../protocol/index.ts';
import type { SimProcess } from '../process.ts';
import { PLAN_DEFECTS } from './plan-defects.ts';

export const FUZZ_DEFECTS = [
  ...PLAN_DEFECTS,
  'syncs before durable',
  'shows above the GCLSN',
  'skips undo',
  'writes without a lease',
  'grants for ever',
  'stops the clock with the machine',
  'forgets operations',
  'hides undone writes',
] as const;

export type FuzzDefect = (typeof FUZZ_DEFECTS)[number];

export interface StoreHooks {
  readonly onAppend: (tail: PartitionStore['tail'], entries: Parameters<PartitionStore['append']>[0]) => void;
}

/** The store of one life of a copy, on record. */
export function observedStore(
  store: PartitionStore,
  { onAppend }: StoreHooks,
  defect: FuzzDefect | undefined,
): PartitionStore {
  return {
    get notes() {
      return store.notes;
    },
    get tail() {
      return store.tail;
    },
    get base() {
      return store.base;
    },
    get logBytes() {
      return store.logBytes;
    },
    get unreadable() {
      return store.unreadable;
    },
    newest: (key) => store.newest(key),
    glance: (key) => store.glance(key),
    version: (key, lsn) => store.version(key, lsn),
    entry: (lsn) => store.entry(lsn),
    entriesAfter: (lsn, maxBytes) => store.entriesAfter(lsn, maxBytes),
    operation: (id) => (defect === 'forgets operations' ? undefined : store.operation(id)),
    scan: (options) => store.scan(options),
    expired: (at, limit) => store.expired(at, limit),
    undone: () => (defect === 'hides undone writes' ? [] : store.undone()),
    append: (entries) => {
      onAppend(store.tail, entries);
      store.append(entries);
    },
    truncate: (lsn, undoneAt) => store.truncate(lsn, undoneAt),
    replace: (entry, how) => store.replace(entry, how),
    giveUp: (entries, undoneAt) => store.giveUp(entries, undoneAt),
    trim: (lsn) => store.trim(lsn),
    clear: (base) => store.clear(base),
    note: (changes) => store.note(changes),
    closeUndone: (position, how) => store.closeUndone(position, how),
    sync: (done) => {
      if (defect !== 'syncs before durable') return store.sync(done);
      store.sync(() => {});
      return done(undefined);
    },
  };
}

/** What runs in a process of a region sees it as its host. */
export function wiredHost(host: Host, process: SimProcess, defect: FuzzDefect | undefined): Host {
  if (defect !== 'stops the clock with the machine') return host;
  return Object.create(host, { now: { value: () => process.monotonic() } }) as Host;
}

export interface ViewHooks {
  /** The engine was told that it may write. */
  readonly onMayWrite: () => void;
  /** What it is told, for others to ask. */
  readonly onAttached: (mayWrite: () => boolean) => void;
}

/** The partition as its agent's driver; what the agent tells it passes through here. */
export function wiredDriver(
  partition: EnginePartition,
  { onMayWrite, onAttached }: ViewHooks,
  defect: FuzzDefect | undefined,
): Driver {
  return {
    incarnation: () => partition.incarnation(),
    status: () => partition.status(),
    assume: (role) => partition.assume(role),
    attach: (agent: AgentView) => {
      const told = (): boolean => {
        const isReigning = partition.core?.reign !== undefined;
        return agent.mayWrite() || (defect === 'writes without a lease' && isReigning);
      };
      onAttached(told);
      partition.attach({
        mayWrite: () => {
          const may = told();
          if (may) onMayWrite();
          return may;
        },
        grant: (asker) => {
          const ms = agent.grant(asker);
          return defect === 'grants for ever' ? 60_000 : ms;
        },
        changed: () => agent.changed(),
      });
    },
  };
}

/** A message on its way from one copy to another. */
export function wiredMessage(
  message: NodeMessage,
  receiver: EnginePartition | undefined,
  defect: FuzzDefect | undefined,
): NodeMessage {
  if (message.type !== 'partition' || defect === undefined) return message;
  return { ...message, message: bent(message.message, receiver, defect) };
}

function bent(
  message: PartitionMessage,
  receiver: EnginePartition | undefined,
  defect: FuzzDefect,
): PartitionMessage {
  if (defect === 'shows above the GCLSN' && message.type === 'entries') {
    const last = message.entries.at(-1)?.lsn ?? message.after;
    return { ...message, marks: { ...message.marks, gclsn: Math.max(last, message.marks.gclsn) } };
  }
  const store = receiver?.core?.store;
  if (defect === 'skips undo' && message.type === 'welcome' && store !== undefined) {
    if (store.tail.lsn > 0) return { ...message, table: store.notes.table, tail: store.tail };
  }
  return message;
}
