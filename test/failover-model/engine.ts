/**
 * The reference engine: a log on disk, replication in epochs, commits, strong reads. Everything is as eager as it may be: an
 * entry commits in the very step in which its last acknowledgement arrives, and a client learns of it at once.
 */
import { fenced } from './agent.ts';
import {
  common,
  each,
  entryOf,
  has,
  isOn,
  keeps,
  type Log,
  type Name,
  type Region,
  type Setting,
  withRegion,
  type World,
  type WriterPart,
} from './world.ts';

/** The right to accept writes: rules 3, 12 and 19. */
export function acceptsWrites(setting: Setting, region: Region): boolean {
  return region.writer !== null && !region.writer.isQuiesced && hasRights(setting, region);
}

/** The lease runs, and rule 12's wait is over. */
function hasRights(setting: Setting, { writer, lease }: Region): boolean {
  return writer !== null && lease > 0 && !(writer.isMute && keeps(setting, '12'));
}

/** Bounded staleness holds the writer back when a region of the commit set lags. */
export function mayWrite(setting: Setting, region: Region, name: Name): boolean {
  if (!acceptsWrites(setting, region) || region.log.length >= setting.maxLog) return false;
  if (setting.consistency !== 'BoundedStaleness' || !keeps(setting, 'staleness')) return true;
  const { commit, acks } = region.writer!;
  return each(commit).every(
    (other) => other === name || region.log.length - (acks[other] ?? 0) < setting.staleness,
  );
}

export function wrote(setting: Setting, world: World, name: Name): World {
  const region = world.regions[name]!;
  const log = region.log + entryOf(region.epoch);
  return committed(setting, withRegion(world, name, { ...region, log }), name);
}

/** Strong: what the whole commit set has. Weaker levels: what the writer has. */
function durable(setting: Setting, { log, writer }: Region, name: Name): number {
  if (setting.consistency !== 'Strong' || writer?.keeps !== 'Strong') return log.length;
  const { commit, acks } = writer;
  return Math.min(
    log.length,
    ...each(commit).map((other) => (other === name ? log.length : (acks[other] ?? 0))),
  );
}

/** Commits what can be, and tells the client. */
export function committed(setting: Setting, world: World, name: Name): World {
  const region = world.regions[name]!;
  if (region.writer === null) return world;
  const gclsn = durable(setting, region, name);
  if (gclsn <= region.gclsn) return world;
  const next = withRegion(world, name, { ...region, gclsn });
  // A replaced writer that promised a weaker level: what it tells now may be lost already, and that is all it promised.
  if (region.writer.serves !== 'Strong' && region.epoch !== world.register.gcn) return next;
  const prefix = region.log.slice(0, gclsn);
  const told = world.told.startsWith(prefix) ? world.told : prefix;
  return { ...next, told, read: forgotten(told, world.read) };
}

/** A read that shows no more than what clients were told need not be remembered. */
function forgotten(told: Log, read: Log): Log {
  return told.startsWith(read) ? '' : read;
}

export function mayReplicate(setting: Setting, from: Region, to: Region, name: Name): boolean {
  const { writer } = from;
  if (writer === null || to.isStopped || to.epoch > from.epoch) return false;
  return (
    to.log !== from.log ||
    to.epoch !== from.epoch ||
    (isOn(setting, 'late acknowledgements')
      ? to.ack === null && (writer.acks[name] ?? 0) !== from.log.length
      : (writer.acks[name] ?? 0) !== from.log.length) ||
    (isOn(setting, 'reads') && to.gclsn !== from.gclsn)
  );
}

/** One entry of the writer's log goes to a region, which follows the writer's epoch from then on. */
export function replicated(setting: Setting, world: World, from: Name, to: Name): World {
  const source = world.regions[from]!;
  const target = fenced(setting, world.regions[to]!, source.epoch);
  const log = reconciled(setting, source.log, target.log);
  const gclsn = isOn(setting, 'reads')
    ? Math.max(Math.min(target.gclsn, log.length), Math.min(source.gclsn, log.length))
    : 0;
  const undone = isOn(setting, 'lost') ? withLost(world.lost, target.log, log) : world.lost;
  const { lost } = closedLosses(setting, { ...world, lost: undone }, log);
  if (isOn(setting, 'late acknowledgements')) {
    const ack = { epoch: source.epoch, lsn: log.length };
    return withRegion({ ...world, lost }, to, { ...target, log, gclsn, ack });
  }
  const next = withRegion({ ...world, lost }, to, { ...target, log, gclsn });
  return acknowledged(setting, next, { from: to, to: from, lsn: log.length });
}

export function acknowledged(
  setting: Setting,
  world: World,
  { from, to, lsn }: { from: Name; to: Name; lsn: number },
): World {
  const region = world.regions[to]!;
  const writer: WriterPart = {
    ...region.writer!,
    acks: { ...region.writer!.acks, [from]: lsn },
    ...(setting.isTimed && { quiet: { ...region.writer!.quiet, [from]: 0 } }),
  };
  return committed(setting, withRegion(world, to, { ...region, writer }), to);
}

/**
 * Rule 5: a region undoes its false progress before it takes, or acknowledges, anything of the epoch. Without it, a region
 * that holds as much as the writer, or more, says so.
 */
function reconciled(setting: Setting, ours: Log, theirs: Log): Log {
  const shared = common(ours, theirs);
  if (shared < theirs.length && !keeps(setting, '5')) return theirs;
  return ours.slice(0, shared + 1);
}

/** What reconciling undid goes on the list of lost writes. */
function withLost(lost: readonly string[], before: Log, after: Log): readonly string[] {
  const undone = each(before).flatMap((epoch, at) => (after[at] === epoch ? [] : [`${at + 1}:${epoch}`]));
  return undone.length === 0 ? lost : [...new Set([...lost, ...undone])].sort();
}

/** Rule 21: an entry closes when the history that a region follows, or a new writer has, contains that write again. */
export function closedLosses(setting: Setting, world: World, log: Log): World {
  if (world.lost.length === 0 || !keeps(setting, '21')) return world;
  return { ...world, lost: world.lost.filter((entry) => !contains(log, entry)) };
}

export function contains(log: Log, entry: string): boolean {
  const [lsn, epoch] = entry.split(':');
  return log[Number(lsn) - 1] === epoch;
}

/** Rule 15. A grant is asked for and counts from then; it ends with the writer's lease at the latest. */
export function mayGrant(setting: Setting, from: Region, to: Region, name: Name): boolean {
  const { writer } = from;
  if (writer === null || !hasRights(setting, from)) return false;
  if (to.epoch !== from.epoch || to.isStopped || (to.isFresh && keeps(setting, '2-act'))) return false;
  // It asks when it follows (rule 5). Where every election is by the lease set, what it knows to be committed cannot be false progress.
  if (isOn(setting, 'levels') && !from.log.startsWith(to.log)) return false;
  const isDoubtful = writer.mayBeWeaker || from.pending?.draft.writer?.ready === 'Session';
  if (!writer.isGranting || (isDoubtful && keeps(setting, '14-level'))) return false;
  if (!has(writer.commit, name) && keeps(setting, '15-commit')) return false;
  if (!has(writer.known, name) && keeps(setting, '15-lease-set')) return false;
  return grantTicks(setting, from) > to.grant;
}

function grantTicks(setting: Setting, { lease }: Region): number {
  return keeps(setting, '15-lease') ? Math.min(setting.grant, lease) : setting.grant;
}

export function granted(setting: Setting, world: World, from: Name, to: Name): World {
  const source = world.regions[from]!;
  const target = world.regions[to]!;
  const ticks = grantTicks(setting, source);
  const { incarnation } = target;
  const writer = { ...source.writer!, given: { ...source.writer!.given, [to]: { ticks, incarnation } } };
  const held = ticks + (keeps(setting, '15-asked') ? 0 : 1);
  return withRegion(withRegion(world, from, { ...source, writer }), to, { ...target, grant: held });
}

/**
 * What a strong read at that region shows, or a bounded one at bounded staleness; undefined if it serves none. A strong read
 * waits while a known write is not yet globally committed.
 */
export function guardedRead(setting: Setting, region: Region): Log | undefined {
  const { writer, log, gclsn } = region;
  const isBounded = setting.consistency === 'BoundedStaleness';
  if (writer === null) return region.grant > 0 && (gclsn === log.length || isBounded) ? log : undefined;
  if (!hasRights(setting, region) || writer.serves !== 'Strong') return undefined;
  // Rule 6: not before all that it took over is committed again.
  if (!keeps(setting, '6')) return log.slice(0, Math.max(gclsn, writer.taken));
  return gclsn >= writer.taken ? log.slice(0, gclsn) : undefined;
}

/** The pair (previous, last) of the paper's ReadProperty: what the client knew, and what it reads. */
export function readAt(setting: Setting, world: World, value: Log): World {
  if (setting.consistency === 'BoundedStaleness') {
    const lag = world.told.length - common(world.told, value);
    return lag > setting.staleness ? { ...world, wrong: 'read' } : world;
  }
  const before = world.read === '' ? world.told : world.read;
  const isBack = !value.startsWith(before) || !value.startsWith(world.told);
  if (isBack) return { ...world, wrong: 'read' };
  return { ...world, read: forgotten(world.told, value) };
}
