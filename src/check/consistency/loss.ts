/**
 * What was lost, and whether anybody was told. A *loss* is one undone branch: what one failover cost (`log-tree.ts`).
 *
 *   loss.unlisted  every acknowledged write that is not in the final log at its position is in the list of undone writes.
 *                  (At Strong it must not be missing at all: `strong.kept`.)
 *   loss.content   an undone write has the key, value and operation of what was acknowledged at its position; all regions that list
 *                  a position list the same; no position is in the final log with another content.
 *   loss.versions  at bounded staleness a loss has at most K acknowledged writes.
 *   loss.time      at bounded staleness no two acknowledged writes a, b of a loss have b.start - a.end > T.
 *   loss.closed    an undone write is closed if and only if the final log has it (rule 21).
 *
 * At session, consistent prefix and eventual a loss has no bound, only the duty to be listed.
 */
import { must } from '../../protocol/index.ts';
import type { StalenessBound } from './bounded.ts';
import { type Evidence, isInFinalLog, type LogicalWrite } from './evidence.ts';
import { type ConsistencyFinding, finding } from './findings.ts';
import {
  type ClientWrite,
  formatOperation,
  formatPosition,
  samePosition,
  type UndoneWrite,
} from './history.ts';
import type { LogChain } from './log-tree.ts';

export function checkLoss(evidence: Evidence, bound?: StalenessBound): ConsistencyFinding[] {
  const listed = new Map<string, UndoneWrite>();
  for (const row of evidence.record.undone) listed.set(nameOf(row, row.key), row);
  return [
    ...evidence.writes.flatMap((write) => checkListed(evidence, write, listed)),
    ...checkList(evidence),
    ...(bound === undefined
      ? []
      : evidence.tree.branches.flatMap((branch) => checkBound(evidence, branch, bound))),
  ];
}

function nameOf(
  { epoch, lsn }: { readonly epoch: number; readonly lsn: number },
  key: string | undefined,
): string {
  return `${epoch}:${lsn} ${key ?? ''}`;
}

function checkListed(
  { tree }: Evidence,
  { attempts, key, value, node }: LogicalWrite,
  listed: ReadonlyMap<string, UndoneWrite>,
): ConsistencyFinding[] {
  return attempts.flatMap((attempt) => {
    const { outcome, position, level, operation } = attempt;
    if (outcome !== 'ok' || level === 'Strong') return [];
    const isKept =
      position === undefined ? node !== undefined : isInFinalLog(tree, { ...position, key, value });
    if (isKept) return [];
    const row = position && listed.get(nameOf(position, key));
    if (row === undefined) {
      const sentence = `${formatOperation(attempt)} was acknowledged, is not in the final log, and is not listed as undone.`;
      return [finding('loss.unlisted', sentence, [attempt])];
    }
    if (row.value === value && (row.operation ?? operation) === operation) return [];
    const sentence = `${formatOperation(attempt)} is listed as undone by ${row.region} with another content.`;
    return [finding('loss.content', sentence, [attempt])];
  });
}

function checkList({ record, tree }: Evidence): ConsistencyFinding[] {
  const first = new Map<string, UndoneWrite>();
  return record.undone.flatMap((row) => {
    const name = nameOf(row, row.key);
    const other = first.get(name) ?? row;
    first.set(name, other);
    const where = `The undone write ${formatPosition(row)} of ${JSON.stringify(row.key)}`;
    if (other.value !== row.value || other.operation !== row.operation) {
      return [
        finding('loss.content', `${where} is listed differently by ${other.region} and ${row.region}.`),
      ];
    }
    const isBack = isInFinalLog(tree, row);
    if (!isBack && tree.entry(row)?.chain.isFinal === true) {
      return [finding('loss.content', `${where} has the position of another entry of the final log.`)];
    }
    if (isBack === (row.closed ?? false)) return [];
    const sentence = isBack ? 'is in the final log and not closed' : 'is closed and not in the final log';
    return [finding('loss.closed', `${where}, listed by ${row.region}, ${sentence}.`)];
  });
}

function checkBound(evidence: Evidence, branch: LogChain, bound: StalenessBound): ConsistencyFinding[] {
  const lost = branch.nodes.flatMap((node): ClientWrite[] => {
    const acknowledged = node.rows.flatMap((row) => evidence.originOf(row)?.attempts ?? []);
    const told = acknowledged.find(
      ({ outcome, position, level }) =>
        outcome === 'ok' &&
        level === 'BoundedStaleness' &&
        position !== undefined &&
        samePosition(position, node),
    );
    return told === undefined ? [] : [told];
  });
  if (lost.length === 0) return [];
  const findings: ConsistencyFinding[] = [];
  const where = `The failover that undid ${formatPosition(must(branch.nodes[0]))}`;
  if (lost.length > bound.versions) {
    const sentence = `${where} lost ${lost.length} acknowledged writes, more than ${bound.versions}.`;
    findings.push(finding('loss.versions', sentence, lost));
  }
  const earliest = lost.reduce((a, b) => ((a.end ?? Infinity) <= (b.end ?? Infinity) ? a : b));
  const latest = lost.reduce((a, b) => (a.start >= b.start ? a : b));
  const age = latest.start - (earliest.end ?? Infinity);
  if (age > bound.ms) {
    const sentence = `${where} lost acknowledged writes over ${age} ms, more than ${bound.ms}.`;
    findings.push(finding('loss.time', sentence, [earliest, latest]));
  }
  return findings;
}
