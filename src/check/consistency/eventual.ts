/**
 * Eventual, the floor under all levels: only what was written is read, and in the end everybody reads the same.
 *
 *   eventual.written    for every read r: r.version is an entry of the final log or of an undone branch that gave r.key the value
 *                       r.value; or it is the beginning and r found nothing.
 *   eventual.failed     for every read r: the write of r's value has an attempt that did not fail.
 *   eventual.future     for every read r: the write of r's version started before r ended; so did that of r's snapshot.
 *   eventual.converged  for every read r that starts at or after `quietFrom`: r returns the newest version of the final log.
 */
import type { Evidence, LogicalWrite, ResolvedRead } from './evidence.ts';
import { type ConsistencyFinding, finding } from './findings.ts';
import { type ClientRead, formatOperation, formatPosition } from './history.ts';
import type { LogNode } from './log-tree.ts';

export function checkEventual(evidence: Evidence): ConsistencyFinding[] {
  const failed = new Map<string, LogicalWrite>();
  for (const write of evidence.writes) {
    if (write.start === Infinity && write.value !== undefined) failed.set(write.value, write);
  }
  const end = evidence.tree.final.nodes.at(-1) ?? evidence.tree.root;
  const quietFrom = evidence.record.quietFrom ?? Infinity;
  return evidence.reads.flatMap((resolved) => [
    ...checkWritten(resolved, failed),
    ...checkFuture(evidence, resolved),
    ...(resolved.read.start >= quietFrom ? checkConverged(evidence, resolved, end) : []),
  ]);
}

function checkWritten(
  { read, version }: ResolvedRead,
  failed: ReadonlyMap<string, LogicalWrite>,
): ConsistencyFinding[] {
  const ofFailed = read.value === undefined ? undefined : failed.get(read.value);
  if (ofFailed !== undefined) {
    const sentence = `${formatOperation(read)} saw the value of a write that had failed.`;
    return [finding('eventual.failed', sentence, [read, ...ofFailed.attempts])];
  }
  if (version !== 'nowhere') return [];
  const what = read.value === undefined ? 'nothing' : JSON.stringify(read.value);
  const where = read.version === undefined ? 'anywhere' : `at ${formatPosition(read.version)}`;
  return [
    finding('eventual.written', `${formatOperation(read)} saw ${what}, which no log has ${where}.`, [read]),
  ];
}

function checkFuture(evidence: Evidence, { read, version }: ResolvedRead): ConsistencyFinding[] {
  const end = read.end ?? Infinity;
  const seen = typeof version === 'string' ? [] : seenIn(evidence, version, read);
  const exact = read.snapshot && evidence.tree.entry(read.snapshot);
  const made = exact === undefined ? [] : exact.rows.flatMap((row) => evidence.originOf(row) ?? []);
  const early = [...seen, ...made].find((write) => write.start > end && write.start !== Infinity);
  if (early === undefined) return [];
  const sentence = `${formatOperation(read)} ended before write ${early.operation}, which it saw, was asked for.`;
  return [finding('eventual.future', sentence, [read, ...early.attempts])];
}

function seenIn(evidence: Evidence, version: LogNode, read: ClientRead): LogicalWrite[] {
  const write = evidence.writerOf(version, read.key);
  return write === undefined ? [] : [write];
}

function checkConverged(
  evidence: Evidence,
  { read, version }: ResolvedRead,
  end: LogNode,
): ConsistencyFinding[] {
  const { tree } = evidence;
  const newest = tree.versionAt(read.key, end);
  const value = newest.rows.find(({ key }) => key === read.key)?.value;
  const isNewest = version === 'absent' ? value === undefined : version === newest;
  if (isNewest) return [];
  const sentence = `${formatOperation(read)} came after healing and did not return the final version, ${formatPosition(newest)}.`;
  return [finding('eventual.converged', sentence, [read])];
}
