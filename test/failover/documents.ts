/**
 * The parts of documents that are made from code and transcripts. A part stands between `<!-- NAME:begin -->` and
 * `<!-- NAME:end -->`; a test fails when it is stale, and with UPDATE_DOCUMENTS=1 writes it anew.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { REFUSALS, RULES } from 'baton/failover';
import { CELLS } from './cells.ts';
import { INVARIANTS } from './invariants.ts';
import { EVENTS, type EventName, SITUATION_WORDS, SITUATIONS } from './situations.ts';

const ROOT = new URL('../../', import.meta.url);
export const SPEC = 'src/failover/core/machine/SPEC.md';
export const GUIDE = 'docs/failover.md';

export interface Part {
  readonly file: string;
  readonly name: string;
  readonly text: string;
}

/** The parts that do not need the machine's own diagram. */
export function parts(): readonly Part[] {
  return [
    { file: SPEC, name: 'situations', text: situations() },
    { file: SPEC, name: 'cells', text: cells() },
    { file: SPEC, name: 'invariants', text: invariants() },
    { file: GUIDE, name: 'rules', text: rules() },
    { file: GUIDE, name: 'refusals', text: refusals() },
    ...['writer-dies', 'switchover', 'graceful-fails', 'forced', 'no-durability'].map((name) => ({
      file: GUIDE,
      name: `trace ${name}`,
      text: trace(name),
    })),
  ];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells_: readonly string[]): string =>
    `| ${cells_.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n');
}

function situations(): string {
  return table(
    ['situation', 'what it is'],
    SITUATIONS.map((name) => [name, SITUATION_WORDS[name]]),
  );
}

function cells(): string {
  const events = Object.keys(EVENTS) as EventName[];
  return table(
    ['event', ...SITUATIONS],
    events.map((event) => [event, ...SITUATIONS.map((name) => CELLS[name][event].join('; '))]),
  );
}

function invariants(): string {
  return table(
    ['', 'invariant', 'enforced by', 'shown by'],
    INVARIANTS.map(({ id, says, enforcedBy, shownBy }) => [
      id,
      says,
      enforcedBy,
      shownBy.map((title) => `"${title}"`).join(', '),
    ]),
  );
}

function rules(): string {
  return table(
    ['rule', 'in', 'leads to', 'when', 'what happens'],
    RULES.map(({ name, from, to, when, does }) => [name, from.join(', '), to ?? '', when, does]),
  );
}

function refusals(): string {
  return table(
    ['code', 'meaning'],
    Object.entries(REFUSALS).map(([code, meaning]) => [`\`${code}\``, meaning]),
  );
}

function trace(name: string): string {
  const text = readFileSync(new URL(`test/failover/transcripts/${name}.txt`, ROOT), 'utf8');
  return `\`\`\`\n${text.trimEnd()}\n\`\`\``;
}

/** What stands between the marks. */
function marked(file: string, name: string): string {
  const [, rest] = textOf(file).split(`<!-- ${name}:begin -->`);
  const [part, end] = rest?.split(`<!-- ${name}:end -->`) ?? [];
  if (part === undefined || end === undefined) throw new Error(`${file} has no part ${name}`);
  return part;
}

export function readPart(file: string, name: string): string {
  return plain(marked(file, name));
}

/** As far as it matters: a formatter may pad tables and add empty lines. */
export function plain(text: string): string {
  const lines = text.split('\n').map((line) => line.trim().replace(/ +/g, ' ').replace(/-{3,}/g, '---'));
  return lines
    .filter((line) => line !== '')
    .map((line) => line.replace(/^\|[ |-]+\|$/, (rule) => rule.replaceAll(' ', '')))
    .join('\n');
}

export function rewriteIfAsked({ file, name, text }: Part): void {
  if (process.env['UPDATE_DOCUMENTS'] !== '1' || readPart(file, name) === plain(text)) return;
  const [begin, end] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];
  const old = begin + marked(file, name) + end;
  writeFileSync(
    new URL(file, ROOT),
    textOf(file).replace(old, () => `${begin}\n${text}\n${end}`),
  );
}

export function textOf(file: string): string {
  return readFileSync(new URL(file, ROOT), 'utf8');
}
