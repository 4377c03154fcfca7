/**
 * What holds of the logs themselves, at every level.
 *
 *   log.order      entry i+1 of the final log has LSN(i)+1 and an epoch no lower than entry i's; every undone entry follows an
 *                  entry of a log.
 *   log.origin     every row (final or undone) has a client write of its key and value that has an attempt which did not fail.
 *   log.condition  for every row of a conditional write: the newest version of its key before the entry is the one it named
 *                  ('absent': there is no document).
 *   log.once       two rows of one key in the final log are of different operations.
 *   log.answer     two acknowledged attempts of one operation name one position; below Strong the earlier one may name an undone
 *                  entry.
 */
import { must } from '../../protocol/index.ts';
import type { Evidence, LogicalWrite } from './evidence.ts';
import { type ConsistencyFinding, finding } from './findings.ts';
import { BEFORE_ALL, formatPosition, type LogRow, type Position, samePosition } from './history.ts';
import { isAbsence, type LogNode } from './log-tree.ts';

export function checkLog(evidence: Evidence): ConsistencyFinding[] {
  return [
    ...checkOrder(evidence),
    ...checkRows(evidence),
    ...evidence.writes.flatMap((write) => checkAnswers(evidence, write)),
  ];
}

function checkOrder({ tree }: Evidence): ConsistencyFinding[] {
  const findings: ConsistencyFinding[] = [];
  let before: Position = BEFORE_ALL;
  for (const node of tree.final.nodes) {
    if (node.lsn !== before.lsn + 1 || node.epoch < before.epoch) {
      const sentence = `In the final log ${formatPosition(node)} follows ${formatPosition(before)}.`;
      findings.push(finding('log.order', sentence));
    }
    before = node;
  }
  for (const loose of tree.loose) {
    findings.push(
      finding('log.order', `The undone entry ${formatPosition(loose)} follows no entry of a log.`),
    );
  }
  return findings;
}

function checkRows(evidence: Evidence): ConsistencyFinding[] {
  const { tree } = evidence;
  const findings: ConsistencyFinding[] = [];
  const chains = [tree.final, ...tree.branches];
  const once = new Map<string, Position>();
  for (const chain of chains) {
    let before = chain.fork ?? tree.root;
    for (const node of chain.nodes) {
      for (const row of node.rows) {
        if (row.key === undefined) continue;
        findings.push(...checkOrigin(evidence, row), ...checkCondition(evidence, row, before));
        if (chain.isFinal) findings.push(...checkOnce(evidence, row, once));
      }
      before = node;
    }
  }
  return findings;
}

function checkOrigin(evidence: Evidence, row: LogRow): ConsistencyFinding[] {
  const where = `The entry ${formatPosition(row)} of ${JSON.stringify(row.key)}`;
  const write = evidence.originOf(row);
  if (write === undefined) {
    const isNamelessDeletion = row.operation === undefined && row.value === undefined;
    const some = isNamelessDeletion && evidence.writes.some((one) => mayBeDeletionOf(one, row.key));
    return some ? [] : [finding('log.origin', `${where} was written by no client.`)];
  }
  if (write.key !== row.key || write.value !== row.value) {
    return [finding('log.origin', `${where} is not what its client wrote.`, write.attempts)];
  }
  if (write.start === Infinity) {
    return [
      finding(
        'log.origin',
        `${where} was written although its client was told it had failed.`,
        write.attempts,
      ),
    ];
  }
  return [];
}

function mayBeDeletionOf(write: LogicalWrite, key: string | undefined): boolean {
  return write.key === key && write.value === undefined && write.start !== Infinity;
}

function checkCondition(evidence: Evidence, row: LogRow, before: LogNode): ConsistencyFinding[] {
  const write = evidence.originOf(row);
  const condition = write?.attempts[0]?.condition;
  if (write === undefined || condition === undefined) return [];
  const replaced = evidence.tree.versionAt(write.key, before);
  const holds = condition === 'absent' ? isAbsence(replaced, write.key) : samePosition(replaced, condition);
  if (holds) return [];
  const wanted = condition === 'absent' ? 'no document' : formatPosition(condition);
  const sentence = `The conditional write ${formatPosition(row)} of ${JSON.stringify(write.key)} asked for ${wanted} and replaced ${formatPosition(replaced)}.`;
  return [finding('log.condition', sentence, write.attempts)];
}

function checkOnce(evidence: Evidence, row: LogRow, once: Map<string, Position>): ConsistencyFinding[] {
  const write = evidence.originOf(row);
  const operation = row.operation ?? write?.operation;
  if (operation === undefined) return [];
  const name = `${operation} ${row.key}`;
  const first = once.get(name);
  if (first === undefined) {
    once.set(name, row);
    return [];
  }
  const sentence = `Operation ${operation} was applied twice: at ${formatPosition(first)} and at ${formatPosition(row)}.`;
  return [finding('log.once', sentence, write?.attempts)];
}

function checkAnswers({ tree }: Evidence, write: LogicalWrite): ConsistencyFinding[] {
  if (write.attempts.length < 2) return [];
  const told = write.attempts.filter(({ outcome, position }) => outcome === 'ok' && position !== undefined);
  const isExcused = (position: Position, level: string) =>
    level !== 'Strong' && tree.entry(position)?.chain.isFinal === false;
  return told.slice(1).flatMap((second, index) => {
    const first = must(told[index]);
    const [a, b] = [must(first.position), must(second.position)];
    if (samePosition(a, b) || isExcused(a, first.level) || isExcused(b, second.level)) return [];
    const sentence = `Operation ${write.operation} was told ${formatPosition(a)} first and ${formatPosition(b)} when it was repeated.`;
    return [finding('log.answer', sentence, [first, second])];
  });
}
