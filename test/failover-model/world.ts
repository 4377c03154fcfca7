/**
 * The world around the failover state machine, as small as it can be: for each region a reference agent and a reference
 * engine, one register, a client that remembers what it was told. `register.ts` holds the register and the real
 * `transition`; `agent.ts` and `engine.ts` say what a region does; `model.ts` lists the steps.
 *
 * A region that is down, cut off or slow is one that takes no steps: the explorer leaves out every step somewhere, so cuts
 * need no step of their own here (`healing.ts` has them, where it matters that steps are taken).
 *
 * Time is a tick that all share. Clocks that drift are in the lengths: whoever holds a right holds it for `lease + 1` ticks
 * (the slowest clock), whoever waits for its end waits as long as the real machine's `certainlyOver` demands of a clock that
 * shows one second a tick. Without the margin of rule 4 that is one tick less.
 *
 * Logs are strings: one character for an entry, the epoch it was written in (to the base of 36). (LSN, epoch) names an entry for ever, because
 * an epoch has one writer; so two logs with the same last (epoch, LSN) are the same log. Sets of regions are strings too.
 */
import type { Consistency, FailoverState } from 'baton/failover';

export type Name = 'a' | 'b' | 'c';
/** Names in order, each once. */
export type Names = string;
/** One character for each entry: its epoch. */
export type Log = string;

export type Feature =
  /** Changes of the lease set. */
  | 'change'
  /** Read grants and strong reads. */
  | 'reads'
  /** An operator's switchovers. */
  | 'graceful'
  /** An operator's forced failovers. */
  | 'forced'
  /** Regions that stop on purpose. */
  | 'stop'
  /** Updates of a writer that cannot commit and does not renew its lease. */
  | 'unable'
  /** Acknowledgements that arrive later than the entry. */
  | 'late acknowledgements'
  /** Hints: a region learns of the writer's beat without an update of its own. */
  | 'hints'
  /** An operator shortens the lease to one tick; or lengthens it from one tick to two. */
  | 'shorter'
  | 'longer'
  /** An operator wants the level Session, or Strong again. */
  | 'levels'
  /** The list of lost writes. */
  | 'lost';

export interface Setting {
  readonly name: string;
  readonly regions: readonly Name[];
  readonly consistency: Consistency;
  readonly minDurability: number;
  /** Bounded staleness: how many entries a member may lag. */
  readonly staleness: number;
  /** Ticks of a writer lease, and of a read grant (with the slowest clock). */
  readonly lease: number;
  readonly grant: number;
  /** The lease set at the start; `a` writes. */
  readonly members: Names;
  readonly maxGcn: number;
  readonly maxLog: number;
  readonly features: readonly Feature[];
  /** Regions whose updates may take time; and how many of those there are, and how many outcomes stay unknown. */
  readonly slow: Names;
  readonly maxSlow: number;
  readonly maxUnknown: number;
  /** Regions that wait for the writer's silence. */
  readonly watchers: Names;
  /** Regions whose process may restart, or stop on purpose. */
  readonly restarters: Names;
  readonly maxRestarts: number;
  readonly maxSwitchovers: number;
  readonly maxForced: number;
  /** Waits, beats and what is counted in them are real, for runs of a fixed schedule (`healing.ts`). */
  readonly isTimed: boolean;
  /** The rules, or parts of rules, that are taken out. */
  readonly without: readonly string[];
}

/** What a report is made of, before the register's own numbers (beats and steps) go into it. */
export interface Draft {
  readonly incarnation: number;
  readonly gcn: number;
  readonly log: Log;
  /** How long it has waited on the writer's beat; `isOfNow`: on the one that the register holds. */
  readonly silence: { readonly isOfNow: boolean; readonly ticks: number };
  readonly step: { readonly isOfNow: boolean; readonly ticks: number };
  readonly canCommit: boolean;
  readonly reaches: Names;
  readonly isStopping: boolean;
  readonly isScheduled: boolean;
  readonly writer: null | {
    readonly commit: Names;
    readonly caughtUp: Names;
    readonly add: Names;
    readonly remove: Names;
    readonly isQuiesced: boolean;
    /** Rule 12's wait does not run. */
    readonly hasWaited: boolean;
    /** The length of the lease that it holds, in ticks. */
    readonly lease: number;
    /** The level that can be put in force, for all it knows. */
    readonly ready: '' | ModelLevel;
  };
}

/** The levels of worlds in which the level changes. */
export type ModelLevel = 'Strong' | 'Session';

/** What comes back of an update that reached the register. */
export interface Answer {
  readonly verdict: 'accepted' | 'stale';
  readonly state: FailoverState;
  /** The update raised the region's beat (rule 3), and found it as the write region. */
  readonly isRenewed: boolean;
  readonly isFound: boolean;
  /** Whether its (GCN, writer, beat) and its step are still those of the register. */
  readonly isBeatOfNow: boolean;
  readonly isStepOfNow: boolean;
  /** Ticks since the region held the triple that the raise of that state found (rule 12); null: never before. */
  readonly since: number | null;
}

/** An update on its way: sent; or landed, and its answer on the way back. */
export interface Pending {
  readonly draft: Draft;
  readonly age: number;
  readonly answer: Answer | null;
}

/** What only the write region keeps, in memory, for the epoch it writes in. */
export interface WriterPart {
  /** The lease set that the last successful update returned, and what unknown ones may have added (rule 14). */
  readonly known: Names;
  readonly maybe: Names;
  /** The commit set. */
  readonly commit: Names;
  /** What each region has acknowledged in this epoch. */
  readonly acks: Readonly<Record<string, number>>;
  /** The length of the lease that the last renewal gave, in ticks. */
  readonly lease: number;
  /** The length of the log at takeover (rules 6 and 16). */
  readonly taken: number;
  /** Grants: the ticks they may still run, and the process that has them. */
  readonly given: Readonly<Record<string, { readonly ticks: number; readonly incarnation: number }>>;
  readonly isQuiesced: boolean;
  /** Where levels change: what it promises, what its commits wait by, and since which length of its log. */
  readonly serves: ModelLevel;
  readonly keeps: ModelLevel;
  readonly keptFrom: number;
  /** As far as it knows no weaker level is wanted; but an update of its own may have put one in force. */
  readonly isGranting: boolean;
  readonly mayBeWeaker: boolean;
  /** Rules 12 and 13: who may have rights under the epoch before, whether that bars writes, how long it was waited for. */
  readonly unfenced: Names;
  readonly isMute: boolean;
  readonly since: number;
  /** Rule 13 after a restart: who may have a grant of the process before, and how long that was waited for. */
  readonly held: Names;
  readonly heldFor: number;
  /** In runs of a fixed schedule: ticks since each region acknowledged last (rule 8, and removals). */
  readonly quiet: Readonly<Record<string, number>>;
}

export interface Region {
  // On disk.
  readonly log: Log;
  /** Fenced up to this epoch: nothing of a lower one is taken. */
  readonly epoch: number;
  /** What it knows to be globally committed. */
  readonly gclsn: number;
  // In memory.
  readonly incarnation: number;
  /** It has not had a successful update yet (rule 2). Ticks since it started, and its epoch then (rule 13). */
  readonly isFresh: boolean;
  readonly bootTicks: number;
  readonly bootEpoch: number;
  /** It stopped on purpose, and does nothing until it is started again. */
  readonly isStopped: boolean;
  readonly lease: number;
  readonly grant: number;
  /** Ticks since it learned of the (GCN, writer, beat) in the register; null: it knows another (rule 4). */
  readonly watch: number | null;
  /** Ticks since it held the triple that the raise in the register found; null: it does not know it (rule 12). */
  readonly since: number | null;
  /** Ticks since it learned of the step in the register. */
  readonly step: number | null;
  readonly writer: WriterPart | null;
  readonly pending: Pending | null;
  /** An update whose outcome is unknown and that may still land. */
  readonly ghost: Draft | null;
  /** Acknowledgements on their way: of what epoch, up to where. */
  readonly ack: { readonly epoch: number; readonly lsn: number } | null;
}

export interface World {
  readonly register: FailoverState;
  readonly regions: Readonly<Record<string, Region>>;
  /** What clients were told: the acknowledged log; and the last strong read if it shows more than that. */
  readonly told: Log;
  readonly read: Log;
  /** What went wrong at a moment and does not show in a later state. */
  readonly wrong: string;
  /** An update of a writer has put a weaker level in force: an election may lose what was acknowledged. */
  readonly isWeakened: boolean;
  /** Entries on the list of lost writes: `LSN:epoch`. */
  readonly lost: readonly string[];
  /** What is left of the budgets. */
  readonly left: Left;
}

export interface Left {
  readonly slow: number;
  readonly unknown: number;
  readonly restarts: number;
  readonly switchovers: number;
  readonly forced: number;
}

/** The single names, or the single entries. */
export function each(names: Names): Name[] {
  return names.split('') as Name[];
}

export function has(names: Names, name: string): boolean {
  return names.includes(name);
}

export function including(names: Names, more: Names): Names {
  return [...new Set(each(names + more))].sort().join('');
}

export function without(names: Names, fewer: Names): Names {
  return each(names)
    .filter((name) => !fewer.includes(name))
    .join('');
}

export function isSubset(some: Names, all: Names): boolean {
  return each(some).every((name) => all.includes(name));
}

export function namesIn(members: readonly string[]): Names {
  return [...members].sort().join('');
}

/** The length of the longest common beginning. */
export function common(one: Log, other: Log): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}

/** The entry that a writer of that epoch appends, and the epoch of an entry. */
export function entryOf(epoch: number): Log {
  return epoch.toString(36);
}

export function epochOf(entry: Log): number {
  return Number.parseInt(entry, 36);
}

/** Whether the model keeps that rule, or that part of a rule. */
export function keeps({ without: rules }: Setting, rule: string): boolean {
  return rules.length === 0 || !rules.includes(rule);
}

export function isOn({ features }: Setting, feature: Feature): boolean {
  return features.includes(feature);
}

/** How long a lease can last on a slow clock, and how long to wait for its end (rule 4's margin). */
export function fullLease({ lease }: Setting): number {
  return lease + 1;
}

export function waitTicks(setting: Setting): number {
  return setting.lease + (keeps(setting, '4-margin') ? 1 : 0);
}

export function down(ticks: number): number {
  return ticks > 0 ? ticks - 1 : 0;
}

export function up<T extends number | null>(ticks: T, most: number): T {
  return ticks === null || ticks >= most ? ticks : ((ticks + 1) as T);
}

export function withRegion(world: World, name: Name, region: Region): World {
  return { ...world, regions: { ...world.regions, [name]: region } };
}
