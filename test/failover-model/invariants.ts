/** What must hold in every world, under the names that the spec gives it; and what some world must show. */
import type { StatePredicate } from 'baton/check';
import { acceptsWrites, contains } from './engine.ts';
import { common, entryOf, isSubset, type Region, type Setting, type World } from './world.ts';

type Predicates = Readonly<Record<string, StatePredicate<World>>>;

export function invariantsOf(setting: Setting): Predicates {
  const isStrong = setting.consistency === 'Strong';
  return {
    OneWriter: ({ regions }) =>
      Object.values(regions).filter((region) => acceptsWrites(setting, region)).length <= 1,
    ...(isStrong && { AckedIsKept: (world: World) => lossOf(world) === 0 }),
    ...(setting.consistency === 'BoundedStaleness' && {
      LossWithinBound: (world: World) => lossOf(world) <= setting.staleness,
    }),
    ReadProperty: ({ wrong }) => wrong !== 'read',
    LeaseSetDurable: ({ register }) => register.leaseSet.length >= setting.minDurability,
    WriterInLeaseSet: ({ register }) =>
      register.writer === null || register.leaseSet.includes(register.writer),
    ElectedFromLeaseSet: ({ wrong }) => wrong !== 'elected',
    GracefulLosesNothing: ({ wrong }) => wrong !== 'graceful',
    NoNeedlessLoss: ({ wrong }) => wrong !== 'needless',
    ...(isStrong && { CommitSetCoversLeaseSet: isCovered }),
    LostAreLost: (world) => !isFollowed(world) || !world.lost.some((entry) => contains(logOf(world), entry)),
  };
}

function logOf({ register, regions }: World): string {
  return register.writer === null ? '' : regions[register.writer]!.log;
}

/** Every region has followed the writer in force to the end of its log. */
function isFollowed(world: World): boolean {
  const { gcn } = world.register;
  return Object.values(world.regions).every(({ epoch, log }) => epoch === gcn && log === logOf(world));
}

/** Acknowledged entries that the write region does not have. */
export function lossOf({ register, regions, told }: World): number {
  if (register.writer === null) return 0;
  return told.length - common(told, regions[register.writer]!.log);
}

/** Rule 14: whoever writes in the epoch of the register commits on all of the lease set. */
function isCovered({ register, regions }: World): boolean {
  // At a weaker level nobody waits for the lease set.
  if (register.writer === null || register.configuration.consistency !== 'Strong') return true;
  const { writer, epoch } = regions[register.writer]!;
  return writer === null || epoch !== register.gcn || isSubset(register.leaseSet.join(''), writer.commit);
}

const some = (world: World, holds: (region: Region) => boolean): boolean =>
  Object.values(world.regions).some(holds);

/** Counted, and asserted to be reached by some setting. */
export const REACHES: Predicates = {
  'phase Steady': ({ register }) => register.phase === 'Steady',
  'phase Graceful': ({ register }) => register.phase === 'Graceful',
  'phase Ungraceful': ({ register }) => register.phase === 'Ungraceful',
  'two failovers': ({ register }) => register.gcn >= 3,
  'a switch': ({ register }) => register.raise.cause === 'switch',
  'a writer that quiesced': (world) => some(world, ({ writer }) => writer?.isQuiesced === true),
  'a final report': ({ register }) => register.final !== undefined,
  'a write is acknowledged after a failover': ({ told, register }) =>
    register.gcn > 1 && told.endsWith(entryOf(register.gcn)),
  'false progress': (world) =>
    world.register.writer !== null &&
    some(world, ({ log }) => !world.regions[world.register.writer!]!.log.startsWith(log)),
  'an old writer still has its lease': (world) =>
    some(world, ({ writer, lease, epoch }) => writer !== null && lease > 0 && epoch < world.register.gcn),
  'a removed member': ({ register, regions }) => register.leaseSet.length < Object.keys(regions).length,
  'an election that kept the old lease set (rule 10)': ({ register: { phase, leaseSet, raise } }) =>
    phase === 'Steady' && raise.cause === 'silence' && leaseSet.includes(raise.writer!),
  'a forced wait (rule 12)': (world) => some(world, ({ writer }) => writer?.isMute === true),
  'a wait after a switch (rule 13)': (world) =>
    some(world, ({ writer }) => writer !== null && writer.unfenced !== '' && !writer.isMute),
  'a wait after a restart (rule 13)': (world) => some(world, ({ writer }) => (writer?.held ?? '') !== ''),
  'an unknown addition (rule 14)': (world) => some(world, ({ writer }) => (writer?.maybe ?? '') !== ''),
  'an update lands after it was given up': (world) => some(world, ({ ghost }) => ghost !== null),
  'a stop mark': ({ register }) => Object.values(register.regions).some(({ stop }) => stop !== undefined),
  'a read grant': (world) => some(world, ({ grant }) => grant > 0),
  'a strong read at a reader': (world) =>
    some(world, ({ grant, gclsn, log }) => grant > 0 && gclsn > 0 && gclsn === log.length),
  'a loss': (world) => lossOf(world) > 0,
  'a lost write on the list': ({ lost }) => lost.length > 0,
  'a new writer that has not committed its log again (rule 6)': (world) =>
    some(world, ({ writer, gclsn }) => writer !== null && gclsn < writer.taken),
};
