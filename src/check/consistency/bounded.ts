/**
 * Bounded staleness (K, T): a read may lag behind the acknowledged log, by at most K entries of the partition-set and by at most T
 * milliseconds, whichever is reached first; in the write region it does not lag at all. Otherwise it is a consistent prefix
 * (`prefix.ts`). Let acked(t) be the last entry of the final log that was acknowledged before t.
 *
 *   bounded.versions  every bounded read r sees at least the entry K before acked(r.start).
 *   bounded.time      every bounded read r sees at least acked(r.start - T).
 *   bounded.writer    every bounded read r served by region g sees at least every entry of the final log that g itself had
 *                     acknowledged before r.start as the write region, and every entry written in g that a bounded read served by g
 *                     had shown before r.start.
 *
 * Only the final log counts: what a failover lost is for `loss.ts`. A client hears of an acknowledgement later than the writer
 * gave it, so a read that meets the bound at the server never breaks it here.
 */
import { type Evidence, Frontier, type FrontierItem, type ResolvedRead } from './evidence.ts';
import { type ConsistencyFinding, type ConsistencyRule, finding } from './findings.ts';
import { formatOperation, formatPosition, type Position } from './history.ts';

export interface StalenessBound {
  /** K: entries of the partition-set. */
  readonly versions: number;
  /** T: in milliseconds, on the clock of the record. */
  readonly ms: number;
}

export function checkBounded(evidence: Evidence, bound: StalenessBound): ConsistencyFinding[] {
  if (!evidence.reads.some(({ read }) => read.level === 'BoundedStaleness')) return [];
  const acknowledged = acknowledgements(evidence);
  const acked = new Frontier(acknowledged);
  const ofRegion = regionFrontiers(evidence, acknowledged);
  return evidence.reads.flatMap((resolved) => {
    const { read } = resolved;
    if (read.level !== 'BoundedStaleness') return [];
    const last = acked.before(read.start);
    const inTime = acked.before(read.start - bound.ms);
    const own = ofRegion.get(read.region)?.before(read.start);
    return [
      ...checkFloor(
        evidence,
        resolved,
        'bounded.versions',
        last,
        entryBefore(evidence, last, bound.versions),
      ),
      ...checkFloor(evidence, resolved, 'bounded.time', inTime, inTime?.position),
      ...checkFloor(evidence, resolved, 'bounded.writer', own, own?.position),
    ];
  });
}

function checkFloor(
  evidence: Evidence,
  resolved: ResolvedRead,
  rule: ConsistencyRule,
  known: FrontierItem | undefined,
  floor: Position | undefined,
): ConsistencyFinding[] {
  if (known === undefined || floor === undefined || evidence.seesAtLeast(resolved, floor)) return [];
  const { read } = resolved;
  const sentence = `${formatOperation(read)} does not see ${formatPosition(floor)}, and ${formatOperation(known.by)} had ended at ${formatPosition(known.position)}.`;
  return [finding(rule, sentence, [known.by, read])];
}

/** Acknowledged writes that are in the final log where their client was told. */
function acknowledgements({ writes }: Evidence): FrontierItem[] {
  return writes.flatMap(({ node, attempts }) =>
    attempts.flatMap((by) => {
      const isOfFinal = by.outcome === 'ok' && by.position !== undefined && node !== undefined;
      if (!isOfFinal || by.position.epoch !== node.epoch || by.position.lsn !== node.lsn) return [];
      return [{ time: by.end ?? Infinity, position: by.position, by }];
    }),
  );
}

function regionFrontiers(evidence: Evidence, acknowledged: readonly FrontierItem[]): Map<string, Frontier> {
  const writers = new Map(acknowledged.map(({ position, by }) => [position.epoch, by.region]));
  const items = new Map<string, FrontierItem[]>();
  const add = (item: FrontierItem) => {
    const known = items.get(item.by.region);
    if (known === undefined) items.set(item.by.region, [item]);
    else known.push(item);
  };
  for (const item of acknowledged) if (writers.get(item.position.epoch) === item.by.region) add(item);
  for (const { read, version } of evidence.reads) {
    if (read.level !== 'BoundedStaleness' || typeof version === 'string') continue;
    const isOwn = version.chain.isFinal && writers.get(version.epoch) === read.region;
    if (isOwn) add({ time: read.end ?? Infinity, position: version, by: read });
  }
  return new Map([...items].map(([region, ofRegion]) => [region, new Frontier(ofRegion)]));
}

function entryBefore(
  { tree }: Evidence,
  last: FrontierItem | undefined,
  entries: number,
): Position | undefined {
  const node = last && tree.entry(last.position);
  if (node === undefined) return undefined;
  const first = tree.final.nodes[0]?.lsn ?? 1;
  return tree.final.nodes[node.lsn - first - entries];
}
