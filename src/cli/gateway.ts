/** `baton gateway`: a door for HTTP clients as a process, of a region or of the whole account. */
import { Command } from 'commander';
import type { Logger } from 'pino';
import {
  type ClusterConfig,
  formatAddress,
  formatProblem,
  gatewayOf,
  readClusterFile,
} from '../server/config/index.ts';
import { GatewayDaemon } from '../server/gateway/index.ts';
import { logLevel, positiveInteger } from './flags.ts';
import { openLog } from './logger.ts';
import { toldToStop } from './stopping.ts';
import { version } from './version.ts';

interface GatewayFlags {
  readonly config: string;
  readonly name: string;
  readonly stopWithin: string;
  readonly stopWithParent: boolean;
  readonly logLevel?: string;
}

export function gatewayCommand(): Command {
  return new Command('gateway')
    .description('Run a gateway, which serves the Azure Cosmos DB HTTP API.')
    .requiredOption('--config <file>', 'cluster file; reloaded with its keys on SIGHUP')
    .requiredOption('--name <name>', 'name of this gateway in the cluster file')
    .option('--stop-within <ms>', 'how long to wait for open requests when it stops', '10000')
    .option(
      '--stop-with-parent',
      'stop when standard input is closed, which happens when the parent process ends',
      false,
    )
    .option(
      '--log-level <level>',
      'trace, debug, info, warn, error or silent (default: that of the cluster file)',
    )
    .addHelpText('after', '\nExample:\n  baton gateway --config baton.yaml --name west-gateway\n')
    .action(runGateway);
}

async function runGateway(flags: GatewayFlags): Promise<void> {
  const stopWithin = positiveInteger(flags.stopWithin, '--stop-within');
  const asked = flags.logLevel === undefined ? undefined : logLevel(flags.logLevel);
  let hangUp = (): void => {};
  process.on('SIGHUP', () => hangUp());
  const config = await readClusterFile(flags.config);
  const log = openLog({ level: asked ?? config.log.level, base: { role: 'gateway', name: flags.name } });
  for (const warning of config.warnings) log.warn(formatProblem(config.path, warning));
  const stop = new AbortController();
  const told = toldToStop(flags);
  void told.then(() => stop.abort(new Error('The gateway was told to stop.')));
  const daemon = await started(config, flags, log, stop.signal);
  if (daemon === undefined) return;
  hangUp = () => void reload(daemon, flags.config, log, asked === undefined);
  log.info(about(daemon, config, flags.name), 'gateway is ready');
  const reason = await told;
  log.info({ reason }, 'stopping: answering what was begun');
  await daemon.stop(stopWithin);
  log.info('stopped');
}

/** Undefined: it was told to stop before it was ready. */
async function started(
  config: ClusterConfig,
  { name, stopWithParent }: GatewayFlags,
  log: Logger,
  signal: AbortSignal,
): Promise<GatewayDaemon | undefined> {
  try {
    return await GatewayDaemon.start(config, name, { logger: log, version: version(), signal });
  } catch (error) {
    if (!signal.aborted) {
      if (stopWithParent) process.stdin.destroy();
      throw error;
    }
    log.info('stopped before it was ready');
    return undefined;
  }
}

function about({ address, http }: GatewayDaemon, config: ClusterConfig, name: string): object {
  const region = gatewayOf(config, name)?.region;
  return {
    ...(region === undefined ? { global: true } : { region }),
    listen: formatAddress(address),
    ...(http && { http: formatAddress(http) }),
    pid: process.pid,
  };
}

async function reload(daemon: GatewayDaemon, path: string, log: Logger, setsLevel: boolean): Promise<void> {
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
