/**
 * Strong: for each document there is one order of its operations, in keeping with real time, in which every read returns the
 * version before it. The final log gives away the order of the writes, so what is left is to compare.
 *
 *   strong.order  for all operations a, b of one key with a.end < b.start: b.version >= a.version, and b.version > a.version if b
 *                 is a write. (A write of unknown outcome that is in the log has its version and no end.)
 *   strong.read   for every strong read r: r.version is in the final log.
 *   strong.kept   for every acknowledged strong write w: the final log has w's key and value at exactly w.position.
 *
 * These are sufficient: the writes in the order of the log, with the reads of a version behind the write that made it, keep to
 * real time by `strong.order`; a write of unknown outcome that is not in the log never happened. A read that found nothing and
 * was not told since when is of the earliest absence that real time allows, which binds the others least; so the verdict is
 * exact, and equal to that of the general checker (`linearizability.ts`).
 */
import { must } from '../../protocol/index.ts';
import type { Evidence } from './evidence.ts';
import { isInFinalLog } from './evidence.ts';
import { type ConsistencyFinding, finding } from './findings.ts';
import { type ClientOperation, formatOperation, formatPosition } from './history.ts';
import { countUpTo, isAbsence, type LogNode } from './log-tree.ts';

export function checkStrong(evidence: Evidence): ConsistencyFinding[] {
  if (!evidence.record.operations.some(({ level }) => level === 'Strong')) return [];
  return [...checkReads(evidence), ...checkKept(evidence), ...checkRealTime(evidence)];
}

function checkReads({ reads }: Evidence): ConsistencyFinding[] {
  return reads.flatMap(({ read, version }) => {
    if (read.level !== 'Strong' || version === 'absent') return [];
    if (version !== 'nowhere' && version.chain.isFinal) return [];
    return [finding('strong.read', `${formatOperation(read)} saw what is not in the final log.`, [read])];
  });
}

export function checkKept({ tree, writes }: Evidence): ConsistencyFinding[] {
  return writes.flatMap(({ attempts, key, value, node }) =>
    attempts.flatMap((attempt) => {
      const { outcome, level, position } = attempt;
      if (outcome !== 'ok' || level !== 'Strong') return [];
      const isKept =
        position === undefined ? node !== undefined : isInFinalLog(tree, { ...position, key, value });
      if (isKept) return [];
      const where = position === undefined ? '' : ` at ${formatPosition(position)}`;
      const sentence = `${formatOperation(attempt)} was acknowledged and is not in the final log${where}.`;
      return [finding('strong.kept', sentence, [attempt])];
    }),
  );
}

/** An operation of one key; its version counts the key's versions in the final log from 1, 0 is a key never written. */
interface Step {
  readonly by: ClientOperation;
  readonly isWrite: boolean;
  readonly start: number;
  readonly end: number;
  /** Undefined until the sweep has chosen the absence that a read saw. */
  version: number | undefined;
}

function checkRealTime(evidence: Evidence): ConsistencyFinding[] {
  const findings: ConsistencyFinding[] = [];
  for (const [key, steps] of stepsByKey(evidence)) {
    const versions = evidence.tree.final.versions.get(key) ?? [];
    findings.push(...sweep(steps, absences(versions, key)));
  }
  return findings;
}

function stepsByKey(evidence: Evidence): Map<string, Step[]> {
  const steps = new Map<string, Step[]>();
  const indexOf = (key: string, node: LogNode) =>
    countUpTo(evidence.tree.final.versions.get(key) ?? [], node);
  const add = (key: string, step: Step) => {
    const known = steps.get(key);
    if (known === undefined) steps.set(key, [step]);
    else known.push(step);
  };
  for (const { key, node, start, end, attempts } of evidence.writes) {
    if (node === undefined || start === Infinity) continue;
    const by = must(attempts.find(({ outcome }) => outcome === 'ok') ?? attempts[0]);
    add(key, { by, isWrite: true, start, end, version: indexOf(key, node) });
  }
  for (const { read, version } of evidence.reads) {
    if (read.level !== 'Strong' || version === 'nowhere') continue;
    if (version !== 'absent' && !version.chain.isFinal) continue;
    const index = version === 'absent' ? undefined : indexOf(read.key, version);
    add(read.key, { by: read, isWrite: false, start: read.start, end: read.end ?? Infinity, version: index });
  }
  return steps;
}

/** For each version of a key, the lowest at or after it in which there is no document; infinite if there is none. */
function absences(versions: readonly LogNode[], key: string): number[] {
  const next: number[] = Array.from({ length: versions.length + 1 });
  let lowest = Infinity;
  for (let index = versions.length; index >= 0; index -= 1) {
    if (index === 0 || isAbsence(versions[index - 1]!, key)) lowest = index;
    next[index] = lowest;
  }
  return next;
}

/** Goes through all starts in the order of time, with the highest version among those that had ended by then. */
function sweep(steps: readonly Step[], absenceFrom: readonly number[]): ConsistencyFinding[] {
  const findings: ConsistencyFinding[] = [];
  const byEnd = steps.toSorted((a, b) => a.end - b.end);
  let ended = 0;
  let highest: Step | undefined;
  for (const step of steps.toSorted((a, b) => a.start - b.start)) {
    while (ended < byEnd.length && byEnd[ended]!.end < step.start) {
      const earlier = byEnd[ended]!;
      if (highest === undefined || must(earlier.version) > must(highest.version)) highest = earlier;
      ended += 1;
    }
    const known = highest?.version ?? 0;
    const lowest = step.isWrite ? known + 1 : known;
    const isChosen = step.version === undefined;
    step.version ??= must(absenceFrom[lowest]);
    if (step.version >= lowest && step.version !== Infinity) continue;
    if (isChosen) step.version = 0;
    const earlier = must(highest).by;
    const sentence = `${formatOperation(step.by)} started after ${formatOperation(earlier)} had ended, and yet comes before it.`;
    findings.push(finding('strong.order', sentence, [earlier, step.by]));
  }
  return findings;
}
