/**
 * `baton lost-writes`: what regions had taken and history does not contain. They are kept where they were undone until
 * somebody has looked at them.
 */
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { inParallel, type LostWriteAt } from './cluster.ts';
import {
  type CommonFlags,
  type Context,
  type DangerFlags,
  operatorCommand,
  running,
  type ScopeFlags,
  scopedNames,
  wholeNumber,
  withDanger,
  withScope,
} from './command.ts';
import { EXIT, type ExitCode, OperateError, usage } from './errors.ts';
import { plural, pretty, type Report, right, type Row, table } from './output.ts';
import { type Lost, type LostWrites, readLostWrite, readLostWrites } from './records.ts';
import { confirm, type Stage } from './stage.ts';

interface ListFlags extends CommonFlags, ScopeFlags {
  readonly all: boolean;
}

interface ShownFlags extends ListFlags {
  readonly limit: string;
}

interface ExportFlags extends ListFlags {
  readonly out: string;
}

interface SettleFlags extends CommonFlags, DangerFlags {
  readonly all: boolean;
  readonly overwrite?: boolean;
}

export function lostWritesCommand(stage: Stage): Command {
  const examples = ['baton lost-writes', 'baton lost-writes show items-03/2/1841'];
  return withClosed(
    withScope(operatorCommand('lost-writes', 'Show and resolve writes that a failover undid.', examples)),
  )
    .option('--limit <n>', 'number of writes to show', '100')
    .enablePositionalOptions()
    .addCommand(showCommand(stage))
    .addCommand(exportCommand(stage))
    .addCommand(
      settleCommand(stage, 'reapply').option(
        '--overwrite',
        'also overwrite documents that have changed since',
        false,
      ),
    )
    .addCommand(settleCommand(stage, 'dismiss'))
    .action(running(stage, list, ([flags]) => flags));
}

function withClosed(command: Command): Command {
  return command.option('--all', 'also show resolved ones', false);
}

function showCommand(stage: Stage): Command {
  return operatorCommand('show', 'Show one lost write with its documents.', [
    'baton lost-writes show items-03/2/1841',
  ])
    .argument('<id>', 'PARTITION-SET/EPOCH/LSN, as `baton lost-writes` shows it')
    .action(running(stage, show, ([, flags]: [string, CommonFlags]) => flags));
}

function exportCommand(stage: Stage): Command {
  const examples = ['baton lost-writes export --out lost.jsonl'];
  return withClosed(
    withScope(operatorCommand('export', 'Export lost writes to a file, one JSON line each.', examples)),
  )
    .requiredOption('--out <file>', 'file to create')
    .action(running(stage, exportAll, ([flags]) => flags));
}

const SETTLING = {
  reapply: {
    description: 'Write lost writes again, unless their documents have changed since.',
    past: 'reapplied',
  },
  dismiss: { description: 'Give lost writes up: they are no longer listed as open.', past: 'dismissed' },
} as const;

function settleCommand(stage: Stage, how: keyof typeof SETTLING): Command {
  const examples = [`baton lost-writes ${how} items-03/2/1841`, `baton lost-writes ${how} --all --dry-run`];
  return withDanger(operatorCommand(how, SETTLING[how].description, examples))
    .argument('[id...]', 'PARTITION-SET/EPOCH/LSN, as `baton lost-writes` shows it')
    .option('--all', 'all open ones', false)
    .action(
      running(
        stage,
        (context, ids: readonly string[], flags: SettleFlags) => settle(context, how, ids, flags),
        ([, flags]) => flags,
      ),
    );
}

function isOpen({ copies }: Lost): boolean {
  return copies.some(({ closed }) => closed == null);
}

async function selected({ cluster, note }: Context, flags: ListFlags, limit?: number): Promise<LostWrites> {
  const names = await scopedNames(cluster, flags);
  const found = await readLostWrites(cluster, {
    isOpen: !flags.all,
    ...(names && { names }),
    ...(limit !== undefined && { limit }),
  });
  for (const { name, reason = '' } of found.silent)
    note(`${name} does not answer (${reason}): what it keeps is missing here.`);
  return found;
}

async function list(context: Context, flags: ShownFlags): Promise<ExitCode> {
  const limit = wholeNumber(flags.limit, '--limit');
  const { lost, hasMore, silent } = await selected(context, flags, limit);
  const rows = table(['ID', 'REGIONS', right('DOCUMENTS'), 'WRITTEN', 'UNDONE', 'STATE'], lost.map(rowOf));
  const more = `\nThere are more; --limit ${limit * 2} shows more, \`baton lost-writes export\` writes all of them to a file.\n`;
  context.print({
    value: { lostWrites: lost.map(valueOf), hasMore, notAsked: silent.map(({ name }) => name) },
    advises: true,
    table: rows,
    pretty: (paint) =>
      lost.length === 0 ? noneText(flags.all) : `${pretty(rows, paint)}${hasMore ? more : ''}`,
  });
  return EXIT.ok;
}

function noneText(all: boolean): string {
  return all ? 'There are no lost writes.\n' : 'There are no open lost writes.\n';
}

function rowOf(lost: Lost): Row {
  const [first] = lost.copies as [LostWriteAt];
  return {
    cells: [
      lost.id,
      lost.copies.map(({ region }) => region).join(', '),
      String(first.documents.length),
      first.writtenAt,
      first.undoneAt,
      stateOf(lost),
    ],
    tone: isOpen(lost) ? 'warning' : 'dim',
  };
}

function stateOf(lost: Lost): string {
  return isOpen(lost) ? 'open' : (lost.copies[0]!.closed ?? 'closed');
}

function valueOf(lost: Lost): object {
  const { node: _node, region: _region, closed: _closed, ...first } = lost.copies[0]!;
  return {
    id: lost.id,
    state: stateOf(lost),
    regions: lost.copies.map(({ region }) => region),
    ...first,
  };
}

async function byId({ cluster }: Context, id: string): Promise<Lost> {
  const found = await readLostWrite(cluster, id);
  if (found !== undefined) return found;
  throw new OperateError('REFUSED', `There is no lost write ${id} on the nodes that answer.`);
}

async function show(context: Context, id: string, _flags: CommonFlags): Promise<ExitCode> {
  context.print(showReport(await byId(context, id)));
  return EXIT.ok;
}

function showReport(lost: Lost): Report {
  const [{ documents, writtenAt, undoneAt }] = lost.copies as [LostWriteAt];
  const rows = documents.map(({ id, partitionKey, body }) => ({
    cells: [JSON.stringify(partitionKey), id, body === undefined ? '(deleted)' : JSON.stringify(body)],
  }));
  const whole = table(['PARTITION KEY', 'ID', 'DOCUMENT'], rows);
  const regions = lost.copies.map(({ region }) => region).join(', ');
  return {
    value: valueOf(lost),
    table: whole,
    pretty: (paint) =>
      `${lost.id}: ${stateOf(lost)}; written ${writtenAt}, undone ${undoneAt} in ${regions}\n\n${pretty(whole, paint)}`,
  };
}

async function exportAll(context: Context, flags: ExportFlags): Promise<ExitCode> {
  const { lost } = await selected(context, flags);
  const path = resolve(context.stage.cwd, flags.out);
  try {
    writeFileSync(path, lost.map((one) => `${JSON.stringify(valueOf(one))}\n`).join(''), {
      flag: 'wx',
      mode: 0o600,
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw usage(
      code === 'EEXIST' ? `The file ${path} already exists.` : `The file ${path} cannot be written: ${code}.`,
    );
  }
  context.print({
    value: { file: path, lostWrites: lost.length },
    table: table(['FILE', right('LOST WRITES')], [{ cells: [path, String(lost.length)] }]),
    pretty: () => `Wrote ${plural(lost.length, 'lost write')} to ${path}.\n`,
  });
  return EXIT.ok;
}

async function settle(
  context: Context,
  how: keyof typeof SETTLING,
  ids: readonly string[],
  flags: SettleFlags,
): Promise<ExitCode> {
  if (flags.all === ids.length > 0) throw usage('Name the lost writes, or use --all.');
  const lost = flags.all
    ? (await selected(context, { ...flags, all: false })).lost
    : await inParallel(ids, (id) => byId(context, id));
  const count = plural(lost.length, 'lost write');
  const plan =
    how === 'dismiss'
      ? `This discards ${count} for good.`
      : `This writes ${count} again${flags.overwrite === true ? ', also over documents that have changed since' : ''}.`;
  if (flags.dryRun) context.note(`${plan} Nothing was done.`);
  else if (lost.length > 0) await confirm(context.stage, plan, flags.force);
  const results = await inParallel(lost, (one) => settleOne(context, how, one, flags), 4);
  context.print(settledReport(results));
  return results.some(({ tone }) => tone === 'bad') ? EXIT.problem : EXIT.ok;
}

interface Settled {
  readonly id: string;
  readonly outcome: string;
  readonly why: string;
  readonly tone: 'good' | 'bad' | 'dim';
}

/** Reapplied it is by one of the nodes that keep it: the others see it come back. */
async function settleOne(
  { cluster }: Context,
  how: keyof typeof SETTLING,
  lost: Lost,
  { dryRun, overwrite = false }: SettleFlags,
): Promise<Settled> {
  const { id } = lost;
  const open = lost.copies.filter(({ closed }) => closed == null);
  if (open.length === 0) return { id, outcome: `already ${stateOf(lost)}`, why: '', tone: 'dim' };
  if (dryRun) return { id, outcome: `would be ${SETTLING[how].past}`, why: '', tone: 'dim' };
  for (const copy of how === 'reapply' ? open.slice(0, 1) : open) {
    const outcome = await cluster.settleLostWrite(copy, how, overwrite);
    if (outcome.kind === 'refusal') {
      return { id, outcome: 'refused', why: `${outcome.message} [${outcome.code}]`, tone: 'bad' };
    }
    if (outcome.kind === 'silence') {
      return { id, outcome: 'unknown', why: `${copy.node}: ${outcome.reason}`, tone: 'bad' };
    }
  }
  return { id, outcome: SETTLING[how].past, why: '', tone: 'good' };
}

function settledReport(results: readonly Settled[]): Report {
  const rows = results.map(({ id, outcome, why, tone }) => ({ cells: [id, outcome, why], tone }));
  const whole = table(['ID', 'OUTCOME', 'WHY'], rows);
  return {
    value: {
      lostWrites: results.map(({ id, outcome, why }) => ({ id, outcome, ...(why !== '' && { why }) })),
    },
    table: whole,
    pretty: (paint) => (results.length === 0 ? 'There are no open lost writes.\n' : pretty(whole, paint)),
  };
}
