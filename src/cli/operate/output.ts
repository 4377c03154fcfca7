/**
 * The same report in four forms: a table for people, JSON and YAML for programs, and tab-separated lines for the tools of a
 * shell. The first is made for eyes and may change; the others keep their fields.
 */
import { stringify } from 'yaml';
import { aligned } from '../table.ts';
import { usage } from './errors.ts';

export const FORMATS = ['pretty', 'json', 'yaml', 'tsv'] as const;
export type Format = (typeof FORMATS)[number];

/** How a row is meant. */
export type Tone = 'good' | 'warning' | 'bad' | 'dim' | 'plain';

export interface Column {
  readonly head: string;
  readonly align?: 'left' | 'right';
}

export interface Row {
  readonly cells: readonly string[];
  readonly tone?: Tone;
}

export interface Table {
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
}

export interface Report {
  /** For JSON and YAML. */
  readonly value: unknown;
  /** Every row, for `tsv`. */
  readonly table: Table;
  /** What people read; the table alone if absent. */
  readonly pretty?: (paint: Paint) => string;
  /** It names commands for the reader to type. Others may hold words of users, which stay as they are. */
  readonly advises?: boolean;
}

export type Paint = (text: string, tone: Tone) => string;

const SGR: Readonly<Record<Tone, string>> = {
  good: '32',
  warning: '33',
  bad: '31',
  dim: '2',
  plain: '',
};

export const colourless: Paint = (text) => text;

export const coloured: Paint = (text, tone) =>
  SGR[tone] === '' ? text : `\u001B[${SGR[tone]}m${text}\u001B[0m`;

/** https://no-color.org: set to anything but nothing, it means no. */
export function paintFor(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): Paint {
  const isWanted = (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
  return isTerminal && isWanted ? coloured : colourless;
}

export function readFormat(text: string): Format {
  const format = FORMATS.find((known) => known === text);
  if (format === undefined) throw usage(`--format must be one of ${FORMATS.join(', ')}, not "${text}".`);
  return format;
}

export function render(report: Report, format: Format, paint: Paint): string {
  switch (format) {
    case 'json':
      return `${JSON.stringify(report.value, null, 2)}\n`;
    case 'yaml':
      return stringify(report.value, { aliasDuplicateObjects: false });
    case 'tsv':
      return separated(report.table);
    case 'pretty':
      return report.pretty?.(paint) ?? pretty(report.table, paint);
    default:
      return format satisfies never;
  }
}

/** Whole rows are painted, after they were aligned: colours have no width. */
export function pretty({ columns, rows }: Table, paint: Paint): string {
  const texts = [columns.map(({ head }) => head), ...rows.map(({ cells }) => cells.map(printable))];
  const widths = columns.map((_, at) => Math.max(...texts.map((cells) => cells[at]?.length ?? 0)));
  const isLeft = (at: number): boolean => columns[at]?.align !== 'right';
  const padded = texts.map((cells) =>
    cells.map((cell, at) => (isLeft(at) ? cell.padEnd(widths[at]!) : cell)),
  );
  const lines = aligned(padded).trimEnd().split('\n');
  return lines
    .map((line, at) => `${paint(line, at === 0 ? 'dim' : (rows[at - 1]?.tone ?? 'plain'))}\n`)
    .join('');
}

export function separated({ columns, rows }: Table): string {
  const lines = [columns.map(({ head }) => head), ...rows.map(({ cells }) => cells)];
  return lines.map((cells) => `${cells.map(printable).join('\t')}\n`).join('');
}

/** What comes from elsewhere is one cell, and nothing that a terminal would obey. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ');
}

export function table(heads: readonly (string | Column)[], rows: readonly Row[]): Table {
  return { columns: heads.map((head) => (typeof head === 'string' ? { head } : head)), rows };
}

/** A number's column. */
export function right(head: string): Column {
  return { head, align: 'right' };
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}

const NAMED = 5;

/** A few names, and how many more. */
export function someOf(names: readonly string[]): string {
  const more = names.length - NAMED;
  return `${names.slice(0, NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

export function millis(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`;
}
