/**
 * The machine's diagram, made from the table of its rules: as Mermaid for the documentation, and drawn with characters for
 * a terminal, one column to a phase and one arrow to a rule.
 */
import { type MachineRule, RULES } from './rules.ts';
import { type Phase, PHASES } from './state.ts';

interface Arrow {
  readonly name: string;
  readonly from: Phase;
  readonly to: Phase;
}

/** The one way that is no rule: an operator's intent raises the GCN in any phase. */
const FORCED: Pick<MachineRule, 'name' | 'from' | 'to'> = {
  name: 'forced failover',
  from: PHASES,
  to: 'Ungraceful',
};

function arrowsOf(rules: readonly Pick<MachineRule, 'name' | 'from' | 'to'>[]): readonly Arrow[] {
  return rules.flatMap(({ name, from, to }) => from.map((phase) => ({ name, from: phase, to: to ?? phase })));
}

export function mermaid(rules: readonly MachineRule[] = RULES): string {
  const arrows = arrowsOf([...rules, FORCED]);
  const edges = PHASES.flatMap((from) =>
    PHASES.map((to) => ({
      from,
      to,
      names: arrows.filter((arrow) => arrow.from === from && arrow.to === to).map(({ name }) => name),
    })),
  );
  return [
    'stateDiagram-v2',
    '    [*] --> Steady: created',
    ...edges
      .filter(({ names }) => names.length > 0)
      .map(({ from, to, names }) => `    ${from} --> ${to}: ${names.join(', ')}`),
  ].join('\n');
}

const WIDTH = 26;

export function drawing(rules: readonly MachineRule[] = RULES): string {
  const moves = [...rules, FORCED].filter(({ to }) => to !== undefined);
  const stays = rules.filter(({ to }) => to === undefined);
  return [
    ` ${PHASES.map((phase) => phase.padEnd(WIDTH)).join('')}`,
    bars(),
    ...arrowsOf(moves).map(row),
    bars(),
    ...stays.map((rule) => `${marks(rule)}${rule.name}`),
    bars(),
  ]
    .map((line) => line.trimEnd())
    .join('\n');
}

function bars(): string {
  return ` ${PHASES.map(() => '│'.padEnd(WIDTH)).join('')}`;
}

/** An arrow from one column to another; one that comes back to its own is written beside it. */
function row({ name, from, to }: Arrow): string {
  const [start, end] = [PHASES.indexOf(from), PHASES.indexOf(to)];
  const cells = Array.from(bars());
  if (start === end) {
    write(cells, column(start), `│◀┐ ${name}`);
    return cells.join('');
  }
  const [left, right] = [column(Math.min(start, end)), column(Math.max(start, end))];
  for (let at = left + 1; at < right; at += 1) cells[at] = cells[at] === '│' ? '┼' : '─';
  write(cells, left + 3, ` ${name} `);
  if (start < end) cells[right - 1] = '▶';
  else cells[left + 1] = '◀';
  return cells.join('');
}

function column(phase: number): number {
  return 1 + phase * WIDTH;
}

function write(cells: string[], at: number, text: string): void {
  for (const [offset, character] of Array.from(text).entries()) cells[at + offset] = character;
}

/** A dot in each column in which the rule applies. */
function marks({ from }: MachineRule): string {
  return ` ${PHASES.map((phase) => (from.includes(phase) ? '●' : '│').padEnd(WIDTH)).join('')}`.slice(
    0,
    -WIDTH + 6,
  );
}
