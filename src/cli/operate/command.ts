/** What all operators' commands share: finding the cluster, output formats, watching, and exit codes. */
import { Command } from 'commander';
import { endingInUsage } from '../errors.ts';
import { asTyped } from '../invocation.ts';
import { OperatedCluster } from './cluster.ts';
import { EXIT, type ExitCode, OperateError, usage } from './errors.ts';
import { findCluster } from './find.ts';
import type { ClusterView, PartitionSet } from './merge.ts';
import { type Format, type Paint, paintFor, readFormat, render, type Report } from './output.ts';
import type { Stage } from './stage.ts';

export interface CommonFlags {
  readonly cluster?: string;
  readonly format: string;
  readonly nodeTimeout: string;
}

export interface ScopeFlags {
  readonly partitionSet?: readonly string[];
  readonly container?: string;
}

export interface WatchFlags {
  readonly watch?: string | true;
}

export interface DangerFlags {
  readonly force: boolean;
  readonly dryRun: boolean;
}

export interface Context {
  readonly stage: Stage;
  readonly cluster: OperatedCluster;
  readonly format: Format;
  readonly paint: Paint;
  readonly print: (report: Report) => void;
  /** For people beside what is printed: how far it is, what comes next. */
  readonly note: (text: string) => void;
}

/** `examples` are shown in the help: every command has at least one. */
export function operatorCommand(name: string, description: string, examples: readonly string[]): Command {
  const command = new Command(name)
    .description(description)
    .option(
      '--cluster <file|dir>',
      'cluster file, or data directory of `baton up` (default: $BATON_CLUSTER, ./baton-data or ./baton.yaml)',
    )
    .option('-f, --format <format>', 'output format: pretty, json, yaml or tsv', 'pretty')
    .option('--node-timeout <ms>', 'how long to wait for the status of a node', '2000')
    .addHelpText(
      'after',
      `\nExample${examples.length > 1 ? 's' : ''}:\n${examples.map((line) => `  ${line}\n`).join('')}`,
    )
    .hook('preAction', (_, acting) => inherit(acting));
  return endingInUsage(command);
}

/** `baton config --cluster X set ...` means the same as `baton config set --cluster X ...`. */
function inherit(command: Command): void {
  const { parent } = command;
  if (parent === null) return;
  for (const name of command.options.map((option) => option.attributeName())) {
    const isSaidAbove = parent.getOptionValueSource(name) === 'cli';
    if (isSaidAbove && command.getOptionValueSource(name) !== 'cli') {
      command.setOptionValue(name, parent.getOptionValue(name));
    }
  }
}

export function withScope(command: Command): Command {
  return command
    .option(
      '--partition-set <names>',
      'only these partition-sets; can be repeated, or separated by commas',
      names,
    )
    .option('--container <name>', 'only the partition-sets of this container');
}

function names(text: string, others: readonly string[] = []): readonly string[] {
  return [...others, ...text.split(',').map((name) => name.trim())];
}

export function withWatch(command: Command): Command {
  return command.option('--watch [seconds]', 'repeat every 2 seconds, or at this interval');
}

export function withDanger(command: Command): Command {
  return command
    .option('--dry-run', 'show what would happen without doing it', false)
    .option('--force', 'do not ask for confirmation', false);
}

/** Runs a command and ends it with its exit code; what it cannot do is one line on standard error. */
export function running<A extends readonly unknown[]>(
  stage: Stage,
  work: (context: Context, ...args: A) => Promise<ExitCode>,
  flagsIn: (args: A) => CommonFlags,
): (...args: A) => Promise<void> {
  return async (...args) => {
    try {
      const context = await contextFor(stage, flagsIn(args));
      stage.end(await work(context, ...args));
    } catch (error) {
      if (!(error instanceof OperateError)) throw error;
      stage.err(asTyped(`baton: ${error.message} [${error.code}]\n`, stage.invocation));
      stage.end(error.exit);
    }
  };
}

async function contextFor(stage: Stage, flags: CommonFlags): Promise<Context> {
  const format = readFormat(flags.format);
  const timeoutMs = positive(flags.nodeTimeout, '--node-timeout');
  const found = await findCluster(flags.cluster, stage);
  const paint = paintFor(stage.isTerminal, stage.env);
  return {
    stage,
    cluster: new OperatedCluster(found, { timeoutMs, now: () => stage.now() }),
    format,
    paint,
    print: (report) => stage.out(rendered(report, format, paint, stage)),
    note: (text) => stage.err(asTyped(`${text}\n`, stage.invocation)),
  };
}

/** Commands in it are as the reader can type them; what programs read is the same everywhere. */
function rendered(report: Report, format: Format, paint: Paint, { invocation }: Stage): string {
  const text = render(report, format, paint);
  return format === 'pretty' && report.advises === true ? asTyped(text, invocation) : text;
}

export function positive(text: string, flag: string): number {
  const value = Number(text);
  if (!(value > 0 && Number.isFinite(value))) throw usage(`${flag} must be a number above 0, not "${text}".`);
  return value;
}

export function wholeNumber(text: string, flag: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw usage(`${flag} must be a whole number of at least 1, not "${text}".`);
  return value;
}

/** The partition-sets that are meant; all of them if nothing is said. */
export function chosen(
  { partitionSets }: ClusterView,
  { partitionSet, container }: ScopeFlags,
): readonly PartitionSet[] {
  const named = new Set(partitionSet);
  const missing = [...named].find((name) => !partitionSets.some((one) => one.name === name));
  if (missing !== undefined) {
    throw new OperateError(
      'PARTITION_SET_UNKNOWN',
      `The cluster has no partition-set ${missing}; \`baton list --all\` shows their names.`,
    );
  }
  if (container !== undefined && !partitionSets.some((one) => one.container === container)) {
    throw new OperateError('PARTITION_SET_UNKNOWN', `The cluster has no container ${container}.`);
  }
  return partitionSets.filter(
    (one) =>
      (named.size === 0 || named.has(one.name)) && (container === undefined || one.container === container),
  );
}

/** Their names; undefined: of all, also of those that the cluster file does not know. */
export async function scopedNames(
  cluster: OperatedCluster,
  flags: ScopeFlags,
): Promise<readonly string[] | undefined> {
  if (flags.partitionSet === undefined && flags.container === undefined) return undefined;
  return chosen(await cluster.look(), flags).map(({ name }) => name);
}

export function knownRegion({ regions, partitionSets }: ClusterView, name: string): string {
  const all = new Set([
    ...regions,
    ...partitionSets.flatMap(({ state }) => Object.keys(state?.regions ?? {})),
  ]);
  if (all.has(name)) return name;
  throw usage(`The cluster has no region ${name}; it has ${[...all].join(', ')}.`);
}

const CLEAR = '\u001B[H\u001B[2J';

/** Prints a report once, or again and again. While it is watched, an unreachable cluster is something to see. */
export async function watching(
  context: Context,
  { watch }: WatchFlags,
  make: () => Promise<{ readonly report: Report; readonly exit?: ExitCode }>,
): Promise<ExitCode> {
  if (watch === undefined) {
    const { report, exit = EXIT.ok } = await make();
    context.print(report);
    return exit;
  }
  const seconds = watch === true ? 2 : positive(watch, '--watch');
  const { stage, format } = context;
  const isScreen = stage.isTerminal && format === 'pretty';
  for (;;) {
    const text = await shown(context, make);
    const head = `every ${seconds} s; ${new Date(stage.now()).toISOString()}\n\n`;
    stage.out(isScreen ? `${CLEAR}${context.paint(head, 'dim')}${text}` : text);
    if (!(await stage.sleep(seconds * 1000))) return EXIT.ok;
  }
}

async function shown(
  { format, paint }: Context,
  make: () => Promise<{ readonly report: Report }>,
): Promise<string> {
  try {
    return render((await make()).report, format, paint);
  } catch (error) {
    if (!(error instanceof OperateError) || error.code !== 'CLUSTER_UNREACHABLE') throw error;
    const value = { error: { code: error.code, message: error.message } };
    const table = { columns: [{ head: 'ERROR' }], rows: [{ cells: [error.message], tone: 'bad' as const }] };
    return render({ value, table }, format, paint);
  }
}
