/**
 * Consistent prefix: a read shows a log as it once was, never a later write without an earlier one. Every read alone is of some
 * prefix, since it is of one version; what can be wrong is told by the snapshot or by reads that were answered together.
 *
 *   prefix.snapshot  for every read r with a snapshot: the snapshot is a place in the final log or in an undone branch, and
 *                    r.version is the newest version of r.key at that place.
 *   prefix.batch     for every set B of reads answered together: with p the highest of their versions and snapshots, the newest
 *                    version of r.key at p is r.version, for every r in B; and all snapshots in B are equal.
 *
 * Stated for reads at consistent prefix and every stronger level.
 */
import { must } from '../../protocol/index.ts';
import type { Evidence, ResolvedRead } from './evidence.ts';
import { type ConsistencyFinding, finding } from './findings.ts';
import { formatOperation, formatPosition, isAtLeast, positionOrder } from './history.ts';

export function checkPrefix(evidence: Evidence): ConsistencyFinding[] {
  const batches = new Map<string, ResolvedRead[]>();
  const findings: ConsistencyFinding[] = [];
  for (const resolved of evidence.reads) {
    const { level, batch } = resolved.read;
    if (!isAtLeast(level, 'ConsistentPrefix')) continue;
    findings.push(...checkSnapshot(evidence, resolved));
    if (batch === undefined) continue;
    const together = batches.get(batch);
    if (together === undefined) batches.set(batch, [resolved]);
    else together.push(resolved);
  }
  for (const together of batches.values()) findings.push(...checkBatch(evidence, together));
  return findings;
}

function checkSnapshot({ tree }: Evidence, { read, version }: ResolvedRead): ConsistencyFinding[] {
  if (read.snapshot === undefined || version === 'nowhere') return [];
  const place = tree.place(read.snapshot);
  if (place === undefined) {
    const sentence = `${formatOperation(read)} was answered from ${formatPosition(read.snapshot)}, which is no place in any log.`;
    return [finding('prefix.snapshot', sentence, [read])];
  }
  const newest = tree.versionAt(read.key, place);
  if (version === newest) return [];
  const saw = version === 'absent' ? 'nothing' : formatPosition(version);
  const sentence = `${formatOperation(read)} saw ${saw}; in its snapshot ${formatPosition(read.snapshot)} the newest version is ${formatPosition(newest)}.`;
  return [finding('prefix.snapshot', sentence, [read])];
}

function checkBatch({ tree }: Evidence, together: readonly ResolvedRead[]): ConsistencyFinding[] {
  const told = together.flatMap(({ read }) => (read.snapshot === undefined ? [] : [read]));
  const other = told.find(({ snapshot }) => positionOrder(must(snapshot), must(told[0]?.snapshot)) !== 0);
  if (other !== undefined) {
    const sentence = `Answered together and yet from two snapshots: ${formatOperation(must(told[0]))}, ${formatOperation(other)}.`;
    return [finding('prefix.batch', sentence, [must(told[0]), other])];
  }
  const seen = together.flatMap(({ version }) => (typeof version === 'string' ? [] : [version]));
  const place = told[0]?.snapshot && tree.place(told[0].snapshot);
  const candidates = place === undefined ? seen : [...seen, place];
  const highest = candidates.reduce((a, b) => (positionOrder(a, b) >= 0 ? a : b), tree.root);
  return together.flatMap(({ read, version }) => {
    if (typeof version === 'string') return [];
    const newest = tree.versionAt(read.key, highest);
    if (version === newest) return [];
    const sentence = `${formatOperation(read)} saw ${formatPosition(version)}; reads answered with it saw ${formatPosition(highest)}, which has ${formatPosition(newest)} before it.`;
    return [finding('prefix.batch', sentence, [read])];
  });
}
