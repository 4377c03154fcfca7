/**
 * The settings that are explored: which regions, which level, what can happen and how often. All of them together cover what
 * the rules speak of; each leaves out what the others have, so that it stays small. `isLarge` ones are left to
 * `BATON_EXHAUSTIVE=1`. A setting that does not end within its limit says so: then it is a search, and no proof.
 */
import type { Faults } from './healing.ts';
import { type Name, namesIn, type Setting } from './world.ts';

const THREE: readonly Name[] = ['a', 'b', 'c'];

/** Two regions, two failovers for silence, nothing else. */
const PLAIN: Setting = {
  name: '',
  regions: ['a', 'b'],
  consistency: 'Strong',
  minDurability: 1,
  staleness: 1,
  lease: 1,
  grant: 1,
  members: '',
  maxGcn: 3,
  maxLog: 2,
  features: [],
  watchers: 'abc',
  slow: '',
  maxSlow: 0,
  maxUnknown: 0,
  restarters: '',
  maxRestarts: 0,
  maxSwitchovers: 0,
  maxForced: 0,
  isTimed: false,
  without: [],
};

export type Changes = Partial<Setting>;

export function settingOf(name: string, changes: Changes): Setting {
  const setting = { ...PLAIN, name, ...changes };
  return setting.members === '' ? { ...setting, members: namesIn(setting.regions) } : setting;
}

export interface Case {
  readonly setting: Setting;
  readonly isLarge: boolean;
}

const small = (name: string, changes: Changes): Case => ({
  setting: settingOf(name, changes),
  isLarge: false,
});
const large = (name: string, changes: Changes): Case => ({
  setting: settingOf(name, changes),
  isLarge: true,
});

/** Every invariant holds in all of their worlds. */
export const CASES: readonly Case[] = [
  // Silence, elections, writes.
  small('two regions', {}),
  small('two regions, both needed', { minDurability: 2 }),
  small('two regions, longer lease', { lease: 2, maxGcn: 2 }),
  small('three regions', { regions: THREE, maxGcn: 2, maxLog: 1 }),
  large('three regions, two failovers', { regions: THREE, maxLog: 1 }),
  large('three regions, two of them needed, two failovers', { regions: THREE, minDurability: 2, maxLog: 1 }),
  // Updates that take time, outcomes that stay unknown, restarts.
  small('slow updates of the writer', { slow: 'a', maxSlow: 1, maxUnknown: 1, maxGcn: 2, maxLog: 1 }),
  large('slow updates of both', { slow: 'ab', maxSlow: 2, maxUnknown: 1, maxLog: 1 }),
  small('restarts', { restarters: 'ab', maxRestarts: 1, maxGcn: 2, maxLog: 1 }),
  large('restarts and slow updates', {
    slow: 'ab',
    maxSlow: 1,
    maxUnknown: 1,
    restarters: 'ab',
    maxRestarts: 1,
    maxLog: 1,
  }),
  small('a writer that is unable', { features: ['unable'], minDurability: 2, maxGcn: 2, maxLog: 1 }),
  small('late acknowledgements', { features: ['late acknowledgements'], maxGcn: 2, maxLog: 1 }),
  large('late acknowledgements, and changes', { features: ['late acknowledgements', 'change'] }),
  // Changes of the lease set.
  small('changes', { features: ['change'], maxGcn: 2 }),
  small('changes with unknown outcomes', {
    features: ['change'],
    members: 'a',
    slow: 'a',
    maxSlow: 1,
    maxUnknown: 1,
    maxGcn: 2,
    maxLog: 1,
  }),
  large('changes with unknown outcomes and restarts', {
    features: ['change'],
    members: 'a',
    watchers: 'b',
    slow: 'a',
    maxSlow: 1,
    maxUnknown: 1,
    restarters: 'a',
    maxRestarts: 1,
    maxGcn: 2,
    maxLog: 1,
  }),
  large('three regions, changes', {
    regions: THREE,
    features: ['change'],
    watchers: 'b',
    maxGcn: 2,
    maxLog: 1,
  }),
  large('three regions, two needed, one outside', {
    regions: THREE,
    minDurability: 2,
    members: 'ab',
    features: ['change'],
    watchers: 'bc',
    maxGcn: 2,
    maxLog: 1,
  }),
  // Graceful failover.
  small('graceful', { features: ['graceful'], maxSwitchovers: 1, maxGcn: 2, maxLog: 1 }),
  small('graceful, false progress', {
    features: ['graceful'],
    minDurability: 2,
    maxSwitchovers: 1,
    maxLog: 1,
  }),
  large('graceful and changes', { features: ['graceful', 'change'], maxSwitchovers: 1, maxLog: 1 }),
  large('graceful, changes and restarts', {
    features: ['graceful', 'change', 'reads'],
    watchers: '',
    restarters: 'ab',
    maxRestarts: 1,
    maxSwitchovers: 1,
    maxGcn: 2,
    maxLog: 1,
  }),
  large('graceful with unknown outcomes', {
    features: ['graceful', 'change'],
    slow: 'ab',
    maxSlow: 1,
    maxUnknown: 1,
    maxSwitchovers: 1,
    maxGcn: 2,
    maxLog: 1,
  }),
  // Reads.
  small('reads', { features: ['reads', 'change'], maxGcn: 2, maxLog: 1 }),
  small('reads after a switch', {
    features: ['reads', 'graceful', 'change'],
    watchers: '',
    maxSwitchovers: 1,
    maxGcn: 2,
    maxLog: 2,
  }),
  small('reads after a restart', {
    features: ['reads', 'change'],
    restarters: 'a',
    maxRestarts: 1,
    maxGcn: 1,
    maxLog: 2,
  }),
  small('three regions, reads', {
    regions: THREE,
    features: ['reads'],
    grant: 2,
    watchers: 'b',
    maxGcn: 2,
    maxLog: 1,
  }),
  large('three regions, reads after a switch', {
    regions: THREE,
    features: ['reads', 'graceful'],
    watchers: '',
    maxSwitchovers: 1,
    maxGcn: 2,
    maxLog: 1,
  }),
  // Forced failovers.
  small('forced', { features: ['forced', 'reads'], watchers: '', maxForced: 1, maxGcn: 2, maxLog: 1 }),
  small('forced, with hints', {
    features: ['forced', 'hints'],
    watchers: 'b',
    maxForced: 1,
    maxGcn: 2,
    maxLog: 1,
  }),
  small('forced twice', { features: ['forced'], watchers: '', maxForced: 2, maxLog: 1 }),
  large('forced, then silent', { features: ['forced', 'reads', 'change'], maxForced: 1, maxLog: 1 }),
  large('three regions, forced', {
    regions: THREE,
    features: ['forced', 'reads'],
    watchers: '',
    maxForced: 1,
    maxGcn: 2,
    maxLog: 1,
  }),
  large('forced, graceful, changes, reads', {
    features: ['forced', 'graceful', 'change', 'reads'],
    maxForced: 1,
    maxSwitchovers: 1,
    maxLog: 1,
  }),
  // Stop marks.
  small('stops', {
    features: ['stop', 'reads', 'change'],
    restarters: 'ab',
    maxRestarts: 1,
    maxGcn: 1,
    maxLog: 1,
  }),
  small('the writer stops', {
    features: ['stop', 'reads'],
    watchers: '',
    restarters: 'a',
    maxRestarts: 1,
    maxGcn: 2,
    maxLog: 1,
  }),
  large('three regions, the writer stops', {
    features: ['stop', 'reads'],
    regions: THREE,
    watchers: '',
    restarters: 'a',
    maxRestarts: 1,
    maxGcn: 2,
    maxLog: 1,
  }),
  large('stops and restarts', {
    features: ['stop', 'reads', 'change'],
    slow: 'a',
    maxSlow: 1,
    restarters: 'ab',
    maxRestarts: 2,
    maxGcn: 1,
    maxLog: 1,
  }),
  large('stops and failovers', {
    features: ['stop', 'reads', 'change', 'forced'],
    restarters: 'ab',
    maxRestarts: 1,
    maxForced: 1,
    maxGcn: 2,
    maxLog: 1,
  }),
  // Weaker levels.
  small('bounded staleness', { consistency: 'BoundedStaleness', features: ['change'], maxLog: 2 }),
  small('bounded reads', {
    consistency: 'BoundedStaleness',
    features: ['reads', 'change', 'graceful'],
    watchers: '',
    maxSwitchovers: 1,
    maxGcn: 2,
    maxLog: 3,
  }),
  large('bounded reads, forced', {
    consistency: 'BoundedStaleness',
    features: ['reads', 'change', 'forced'],
    maxForced: 1,
    maxGcn: 2,
    maxLog: 3,
  }),
  large('bounded staleness, forced', {
    consistency: 'BoundedStaleness',
    features: ['change', 'forced', 'graceful'],
    maxForced: 1,
    maxSwitchovers: 1,
    maxLog: 2,
  }),
  large('a move after a forced failover, three regions, two of them needed', {
    regions: THREE,
    minDurability: 2,
    features: ['graceful', 'forced'],
    watchers: '',
    maxSwitchovers: 1,
    maxForced: 1,
    maxLog: 0,
  }),
  // Levels that change.
  small('levels', { features: ['levels', 'reads'], maxGcn: 2, maxLog: 1 }),
  large('levels, slow updates and unknown outcomes', {
    features: ['levels', 'reads'],
    slow: 'a',
    maxSlow: 1,
    maxUnknown: 1,
    maxGcn: 1,
    maxLog: 2,
  }),
  small('levels and restarts', {
    features: ['levels', 'reads'],
    restarters: 'a',
    maxRestarts: 1,
    maxGcn: 1,
    maxLog: 2,
  }),
  large('levels, one region outside', {
    regions: THREE,
    members: 'ab',
    features: ['levels'],
    watchers: 'c',
    maxGcn: 2,
    maxLog: 1,
  }),
  large('levels and a forced failover', {
    features: ['levels', 'reads', 'forced'],
    maxForced: 1,
    maxGcn: 2,
    maxLog: 1,
  }),
  small('session', { consistency: 'Session', features: ['lost'] }),
  small('session, graceful', {
    consistency: 'Session',
    features: ['graceful'],
    maxSwitchovers: 1,
    maxGcn: 2,
    maxLog: 1,
  }),
  large('three regions, session', {
    consistency: 'Session',
    regions: THREE,
    features: ['lost'],
    watchers: 'bc',
    maxLog: 1,
  }),
  large('eventual, forced', {
    consistency: 'Eventual',
    features: ['forced', 'graceful', 'lost'],
    maxForced: 1,
    maxSwitchovers: 1,
    maxLog: 1,
  }),
];

const TWO_NEEDED: Changes = { regions: THREE, minDurability: 2, watchers: 'b', maxGcn: 2, maxLog: 1 };
const STALLED: Changes = {
  features: ['change'],
  slow: 'a',
  maxSlow: 1,
  maxUnknown: 1,
  restarters: 'a',
  maxRestarts: 1,
  maxGcn: 2,
  maxLog: 1,
};

/** From each of their worlds, writes are back within `BACK_WITHIN` ticks when faults end, apart from those that stay. */
export const HEALING_CASES: readonly Case[] = [
  small('two regions', { maxGcn: 2, maxLog: 1 }),
  small('three regions, two needed', TWO_NEEDED),
  small('a move under way', { features: ['graceful'], maxSwitchovers: 1, maxGcn: 2, maxLog: 1 }),
  large('three regions, two needed, one outside', { ...TWO_NEEDED, members: 'ab', maxGcn: 3 }),
  large('moves and forced failovers', {
    features: ['graceful', 'forced'],
    maxSwitchovers: 1,
    maxForced: 1,
    maxGcn: 2,
    maxLog: 1,
  }),
  large('unknown outcomes and restarts', STALLED),
  large('stops', { features: ['stop', 'change'], restarters: 'ab', maxRestarts: 1, maxGcn: 2, maxLog: 1 }),
  large('session', {
    consistency: 'Session',
    features: ['graceful', 'forced'],
    maxSwitchovers: 1,
    maxForced: 1,
    maxGcn: 2,
    maxLog: 1,
  }),
];

/** Faults that stay for good: none, or one region that is dead, replicates with nobody, or does not reach the register. */
export function lastingFaults({ regions }: Setting): readonly Faults[] {
  return [{}, ...regions.flatMap((name): Faults[] => [{ dead: name }, { alone: name }, { blind: name }])];
}

/** A silence of two ticks (the lease and its margin), and one for the settling time and what follows it. */
export const BACK_WITHIN = 3;
