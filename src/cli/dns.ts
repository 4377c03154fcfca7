/** `baton dns`: the DNS server of the accounts as a process. */
import { Command } from 'commander';
import type { Logger } from 'pino';
import { collectDefaultMetrics, Registry } from 'prom-client';
import {
  DnsServer,
  type DnsSettings,
  following,
  readDnsSettings,
  recordsOf,
  registerDnsMetrics,
} from '../server/dns/index.ts';
import { HttpServer, statusRoutes, WELL } from '../server/http/index.ts';
import { UsageError } from './errors.ts';
import { logLevel, parseListen } from './flags.ts';
import { openLog } from './logger.ts';
import { toldToStop } from './stopping.ts';

interface DnsFlags {
  readonly config?: string;
  readonly zone?: string;
  readonly listen?: string;
  readonly http?: string;
  readonly record: readonly string[];
  readonly stopWithParent: boolean;
  readonly logLevel: string;
}

/** How a cluster file is read; also again, when the process is told to reload. */
export type ReadSettings = (path: string) => Promise<DnsSettings>;

export function dnsCommand(readSettings: ReadSettings = readDnsSettings): Command {
  return new Command('dns')
    .description('Run a DNS server, through which clients discover the regions of an account.')
    .option('--config <file>', 'cluster file that gives account, zone and address; reloaded on SIGHUP')
    .option('--zone <name>', 'DNS zone of the accounts')
    .option('--listen <host:port>', 'address to listen on, for UDP and TCP; port 0 picks a free port')
    .option('--http <host:port>', 'loopback address for /health, /liveness, /readiness and /metrics')
    .option(
      '--record <text>',
      'without a cluster file: the record of an account, as DNS serves it; can be repeated',
      (text: string, all: readonly string[]) => [...all, text],
      [],
    )
    .option(
      '--stop-with-parent',
      'stop when standard input is closed, which happens when the parent process ends',
      false,
    )
    .option('--log-level <level>', 'trace, debug, info, warn, error or silent', 'info')
    .addHelpText(
      'after',
      `
Examples:
  baton dns --config baton.yaml
  baton dns --zone baton.local --listen 127.0.0.1:4053 \\
    --record "v=baton1; account=demo; serial=1; consistency=Strong; region=west 10.0.0.1:4101; region=east 10.1.0.1:4101"
  dig @127.0.0.1 -p 4053 TXT demo.baton.local
`,
    )
    .action((flags: DnsFlags) => runDns(flags, readSettings));
}

async function runDns(flags: DnsFlags, readSettings: ReadSettings): Promise<void> {
  const log = openLog({ level: logLevel(flags.logLevel), base: { role: 'dns' } });
  const load = sourceOf(flags, readSettings);
  const settings = await load().catch(refuse);
  let { records } = settings;
  const { listen, zone } = placeOf(flags, settings);
  const server = await DnsServer.listen({ ...listen, zone, records: () => records }).catch(refuse);
  const http = await serveHttp(flags, server).catch(async (error: unknown) => {
    await server.close();
    return refuse(error);
  });
  const reload = async (): Promise<void> => {
    try {
      const next = await load();
      warnOfMoves(log, settings, next);
      records = following(records, next.records);
      const serials = Object.fromEntries([...records].map(([account, { serial }]) => [account, serial]));
      log.info({ serials }, 'records are read again');
    } catch (error) {
      log.error({ reason: (error as Error).message }, 'serving the old records: cannot reload');
    }
  };
  const onHangUp = (): void => void reload();
  process.on('SIGHUP', onHangUp);
  const accounts = [...records.keys()];
  const at = http && { http: `${http.address.host}:${http.address.port}` };
  log.info({ ...server.address, zone: server.zone, accounts, ...at }, 'dns is ready');
  await toldToStop(flags);
  log.info('stopping');
  process.off('SIGHUP', onHangUp);
  const { counters } = server;
  await server.close();
  await http?.close();
  log.info(counters, 'stopped');
}

async function serveHttp({ http }: DnsFlags, server: DnsServer): Promise<HttpServer | undefined> {
  if (http === undefined) return undefined;
  const metrics = new Registry();
  collectDefaultMetrics({ register: metrics });
  registerDnsMetrics(metrics, () => server.counters);
  const routes = statusRoutes({ health: () => WELL, readiness: () => WELL, metrics });
  return HttpServer.listen({ address: parseListen(http, '--http'), routes });
}

function sourceOf({ config, record }: DnsFlags, readSettings: ReadSettings): () => Promise<DnsSettings> {
  if (config !== undefined && record.length > 0)
    throw new UsageError('--config and --record cannot be combined.');
  if (config === undefined && record.length === 0)
    throw new UsageError('Give either --config or --record, which say what to serve.');
  return async () => (config === undefined ? { records: recordsOf(record) } : readSettings(config));
}

interface Place {
  readonly listen: { readonly host: string; readonly port: number };
  readonly zone: string;
}

function placeOf(flags: DnsFlags, settings: DnsSettings): Place {
  const listen = flags.listen === undefined ? settings.listen : parseListen(flags.listen);
  const zone = flags.zone ?? settings.zone;
  if (listen === undefined || zone === undefined)
    throw new UsageError('--listen and --zone are required, because no cluster file gives them.');
  return { listen, zone };
}

function warnOfMoves(log: Logger, before: DnsSettings, now: DnsSettings): void {
  const isMoved = before.listen?.host !== now.listen?.host || before.listen?.port !== now.listen?.port;
  if (isMoved || before.zone !== now.zone) log.warn('a new address or zone needs a restart');
}

/** What the zone or the cluster file has wrong is for whoever started this; everything else has a code of its own. */
function refuse(error: unknown): never {
  if (error instanceof RangeError) throw new UsageError(error.message);
  throw error;
}
