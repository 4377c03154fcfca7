/** `baton node`: a node of a cluster as a process. */
import { Command } from 'commander';
import type { Logger } from 'pino';
import { type ClusterConfig, formatAddress, formatProblem, readClusterFile } from '../server/config/index.ts';
import { NodeDaemon } from '../server/daemon/index.ts';
import { logLevel, positiveInteger } from './flags.ts';
import { openLog } from './logger.ts';
import { forOwnerOnly } from './owner.ts';
import { toldToStop } from './stopping.ts';
import { version } from './version.ts';

interface NodeFlags {
  readonly config: string;
  readonly name: string;
  readonly stopWithin: string;
  readonly stopWithParent: boolean;
  readonly logLevel?: string;
}

export function nodeCommand(): Command {
  return new Command('node')
    .description('Run a node, which stores the partition-sets of its region and serves clients.')
    .requiredOption('--config <file>', 'cluster file; reloaded on SIGHUP')
    .requiredOption('--name <name>', 'name of this node in the cluster file')
    .option('--stop-within <ms>', 'how long it may take to move its writes away when it stops', '10000')
    .option(
      '--stop-with-parent',
      'stop when standard input is closed, which happens when the parent process ends',
      false,
    )
    .option(
      '--log-level <level>',
      'trace, debug, info, warn, error or silent (default: that of the cluster file)',
    )
    .addHelpText('after', '\nExample:\n  baton node --config baton.yaml --name west-1\n')
    .action(runNode);
}

async function runNode(flags: NodeFlags): Promise<void> {
  forOwnerOnly();
  const stopWithin = positiveInteger(flags.stopWithin, '--stop-within');
  const asked = flags.logLevel === undefined ? undefined : logLevel(flags.logLevel);
  let hangUp = (): void => {};
  process.on('SIGHUP', () => hangUp());
  const config = await readClusterFile(flags.config);
  const log = openLog({ level: asked ?? config.log.level, base: { node: flags.name } });
  for (const warning of config.warnings) log.warn(formatProblem(config.path, warning));
  const stop = new AbortController();
  const told = toldToStop(flags);
  void told.then(() => stop.abort(new Error('The node was told to stop.')));
  const daemon = await started(config, flags, log, stop.signal);
  if (daemon === undefined) return;
  hangUp = () => void reload(daemon, flags.config, log, asked === undefined);
  log.info(about(daemon), 'node is ready');
  const reason = await told;
  log.info({ reason }, 'stopping: moving the writes away');
  await daemon.stop(stopWithin);
  log.info('stopped');
}

/** Undefined: it was told to stop before it was ready. */
async function started(
  config: ClusterConfig,
  { name, stopWithParent }: NodeFlags,
  log: Logger,
  signal: AbortSignal,
): Promise<NodeDaemon | undefined> {
  try {
    return await NodeDaemon.start(config, name, { logger: log, version: version(), signal });
  } catch (error) {
    if (!signal.aborted) {
      if (stopWithParent) process.stdin.destroy();
      throw error;
    }
    log.info('stopped before it was ready');
    return undefined;
  }
}

function about(daemon: NodeDaemon): object {
  const { region, address, http, partitionSets } = daemon;
  return {
    region,
    listen: formatAddress(address),
    ...(http && { http: formatAddress(http) }),
    partitionSets: partitionSets.length,
    pid: process.pid,
  };
}

async function reload(daemon: NodeDaemon, path: string, log: Logger, setsLevel: boolean): Promise<void> {
  try {
    const config = await readClusterFile(path);
    const { live, restart, refused } = daemon.reload(config);
    if (setsLevel) log.level = config.log.level;
    for (const { sentence } of [...restart, ...refused]) log.warn(sentence);
    log.info({ applied: live.map(({ field }) => field) }, 'configuration is read again');
  } catch (error) {
    log.error({ reason: (error as Error).message }, 'keeping the old configuration: cannot reload');
  }
}
