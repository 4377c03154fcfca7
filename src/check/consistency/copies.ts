/**
 * After healing all copies are equal, and equal to the final log.
 *
 *   copies.log        for every copy: its entries are those of the final log from the copy's first entry on (older ones may have
 *                     been dropped), to the end.
 *   copies.documents  for every copy: its documents are, key by key, the newest versions of the final log that are no deletions.
 */
import type { Evidence } from './evidence.ts';
import { type ConsistencyFinding, type ConsistencyRule, finding } from './findings.ts';
import { formatPosition, type Position, samePosition } from './history.ts';
import { rowOf } from './log-tree.ts';

export interface CopyDocument extends Position {
  readonly value: string;
}

export interface CopyRecord {
  readonly region: string;
  /** The entries that it still has, in its order. */
  readonly log: readonly Position[];
  readonly documents: ReadonlyMap<string, CopyDocument>;
}

export function checkCopies(evidence: Evidence, copies: readonly CopyRecord[]): ConsistencyFinding[] {
  return copies.flatMap((copy) => [...checkLogOf(evidence, copy), ...checkDocumentsOf(evidence, copy)]);
}

function say(rule: ConsistencyRule, { region }: CopyRecord, what: string): ConsistencyFinding {
  return finding(rule, `The copy of ${region} ${what}.`);
}

function checkLogOf({ tree }: Evidence, copy: CopyRecord): ConsistencyFinding[] {
  const { nodes } = tree.final;
  const [first] = copy.log;
  const dropped = first === undefined ? 0 : nodes.findIndex((node) => samePosition(node, first));
  if (dropped < 0) {
    return [say('copies.log', copy, `starts with ${formatPosition(first!)}, which is not in the final log`)];
  }
  const expected = nodes.slice(dropped);
  for (const [index, node] of expected.entries()) {
    const there = copy.log[index];
    if (there === undefined) return [say('copies.log', copy, `ends before ${formatPosition(node)}`)];
    if (!samePosition(there, node)) {
      return [
        say(
          'copies.log',
          copy,
          `has ${formatPosition(there)} where the final log has ${formatPosition(node)}`,
        ),
      ];
    }
  }
  const more = copy.log[expected.length];
  return more === undefined ? [] : [say('copies.log', copy, `goes on with ${formatPosition(more)}`)];
}

function checkDocumentsOf({ tree }: Evidence, copy: CopyRecord): ConsistencyFinding[] {
  const findings: ConsistencyFinding[] = [];
  const expected = new Set<string>();
  for (const [key, versions] of tree.final.versions) {
    const newest = versions.at(-1)!;
    const value = rowOf(newest, key)?.value;
    if (value === undefined) continue;
    expected.add(key);
    const document = copy.documents.get(key);
    const name = `${JSON.stringify(key)} at ${formatPosition(newest)}`;
    if (document === undefined) findings.push(say('copies.documents', copy, `lacks ${name}`));
    else if (document.value !== value || !samePosition(document, newest)) {
      findings.push(say('copies.documents', copy, `has ${formatPosition(document)} instead of ${name}`));
    }
  }
  for (const key of copy.documents.keys()) {
    if (!expected.has(key))
      findings.push(say('copies.documents', copy, `has ${JSON.stringify(key)}, which is deleted`));
  }
  return findings;
}
