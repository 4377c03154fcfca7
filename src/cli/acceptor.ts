/** `baton acceptor`: the acceptor service as a process. */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import type { Logger } from 'pino';
import {
  AcceptorServer,
  type AcceptorServerOptions,
  DiskAcceptor,
  NODE_HOST,
  refuseToListenOpenly,
} from '../caspaxos/index.ts';
import { Refusals } from '../protocol/index.ts';
import { UsageError } from './errors.ts';
import { logLevel, parseListen, positiveInteger } from './flags.ts';
import { openLog } from './logger.ts';
import { forOwnerOnly } from './owner.ts';
import { toldToStop } from './stopping.ts';

interface AcceptorFlags {
  readonly config?: string;
  readonly name?: string;
  readonly data?: string;
  readonly listen?: string;
  readonly tokenFile?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly tlsCa?: string;
  readonly maxRequestBytes: string;
  readonly stopWithParent: boolean;
  readonly logLevel?: string;
}

interface Place {
  readonly data: string;
  readonly server: AcceptorServerOptions;
  readonly level: string;
}

const DEFAULT_LISTEN = '127.0.0.1:7400';

export function acceptorCommand(): Command {
  return new Command('acceptor')
    .description('Run an acceptor, which stores CASPaxos registers on the local disk.')
    .option(
      '--config <file>',
      'cluster file that gives its data directory and address; needs --name; reloaded on SIGHUP',
    )
    .option('--name <name>', 'name of this acceptor in the cluster file')
    .option('--data <dir>', 'without a cluster file: data directory; created if it does not exist')
    .option(
      '--listen <host:port>',
      `without a cluster file: address to listen on; port 0 picks a free port (default: "${DEFAULT_LISTEN}")`,
    )
    .option(
      '--token-file <file>',
      'file with the bearer token that proposers must send (or BATON_ACCEPTOR_TOKEN)',
    )
    .option('--tls-cert <file>', 'PEM certificate; required, with a token, to listen beyond loopback')
    .option('--tls-key <file>', 'PEM private key of the certificate')
    .option('--tls-ca <file>', 'PEM authority: proposers must show a certificate that it issued')
    .option('--max-request-bytes <n>', 'largest request that is accepted', '4194304')
    .option(
      '--stop-with-parent',
      'stop when standard input is closed, which happens when the parent process ends',
      false,
    )
    .option('--log-level <level>', 'trace, debug, info, warn, error or silent (default: "info")')
    .addHelpText(
      'after',
      `
Examples:
  baton acceptor --data ./acceptor-1 --listen 127.0.0.1:7401
  baton acceptor --config baton.yaml --name a1
`,
    )
    .action(runAcceptor);
}

async function runAcceptor(flags: AcceptorFlags): Promise<void> {
  forOwnerOnly();
  let hangUp = (): void => {};
  process.on('SIGHUP', () => hangUp());
  const load = async (): Promise<Place> => (flags.config === undefined ? placeIn(flags) : fromFile(flags));
  const place = await load();
  const { data, server: options, level } = place;
  const log = openLog({
    level,
    base: { role: 'acceptor', ...(flags.name !== undefined && { name: flags.name }) },
  });
  refuseToListenOpenly(options);
  const acceptor = await DiskAcceptor.open({ directory: data });
  const refusals = new Refusals(NODE_HOST, (said) => log.warn(said, 'Callers were not let in.'));
  let server: AcceptorServer;
  try {
    const onRefused = (kind: string, reason: string, from: string): void => refusals.note(kind, reason, from);
    server = await AcceptorServer.listen(acceptor, { ...options, onRefused });
  } catch (error) {
    await acceptor.close();
    throw error;
  }
  const { id, sequence, configuration } = acceptor;
  hangUp = () => void reload(load, place, server, log);
  log.info({ url: server.url, data, id, sequence, set: configuration?.number ?? 0 }, 'acceptor is ready');
  if (acceptor.retired !== undefined)
    log.error({ id, ...acceptor.retired }, 'acceptor is retired: it refuses everything');
  await toldToStop(flags);
  log.info({ id }, 'stopping: answering what was begun');
  await server.close();
  await acceptor.close();
  log.info({ id, ...acceptor.counters }, 'stopped');
}

/** Token, certificate and log level hold at once; streams that are open stay. */
async function reload(
  load: () => Promise<Place>,
  place: Place,
  server: AcceptorServer,
  log: Logger,
): Promise<void> {
  try {
    const next = await load();
    server.renew(next.server);
    log.level = next.level;
    const isMoved =
      next.data !== place.data ||
      next.server.host !== place.server.host ||
      next.server.port !== place.server.port;
    if (isMoved) log.warn('a new address or another directory needs a restart');
    log.info('configuration is read again');
  } catch (error) {
    log.error({ reason: (error as Error).message }, 'keeping the old configuration: cannot reload');
  }
}

function placeIn(flags: AcceptorFlags): Place {
  if (flags.name !== undefined) throw new UsageError('--name needs --config.');
  if (flags.data === undefined) throw new UsageError('Give either --data, or --config and --name.');
  const maxRequestBytes = positiveInteger(flags.maxRequestBytes, '--max-request-bytes');
  const listen = parseListen(flags.listen ?? DEFAULT_LISTEN);
  const server = { ...listen, token: token(flags), tls: tls(flags), maxRequestBytes };
  return { data: flags.data, server, level: logLevel(flags.logLevel ?? 'info') };
}

/** Everything that the file can say, it says. */
async function fromFile(flags: AcceptorFlags): Promise<Place> {
  const { config: path, name, data, listen, tokenFile, tlsCert, tlsKey, tlsCa } = flags;
  if (path === undefined || name === undefined) throw new UsageError('--config needs --name.');
  for (const given of [data, listen, tokenFile, tlsCert, tlsKey, tlsCa])
    if (given !== undefined)
      throw new UsageError(
        `"${given}" cannot be combined with --config: the cluster file gives that setting.`,
      );
  const maxRequestBytes = positiveInteger(flags.maxRequestBytes, '--max-request-bytes');
  const { acceptorOf, readClusterFile, resolveSecrets } = await import('../server/config/index.ts');
  const config = await readClusterFile(path);
  const acceptor = acceptorOf(config, name);
  if (acceptor === undefined) throw new UsageError(`The cluster file ${path} has no acceptor ${name}.`);
  const { serve } = acceptor;
  if (serve === undefined)
    throw new UsageError(`Acceptor ${name} has no \`data\` in ${path}, so this command cannot run it.`);
  const files = serve.secure ? (await import('../server/daemon/index.ts')).readTls(config, name) : undefined;
  const tokens = resolveSecrets(config, { readFile: (file) => readFileSync(file, 'utf8'), env: process.env });
  return {
    data: serve.data,
    server: {
      ...serve.listen,
      token: tokens.acceptor?.reveal(),
      tls: files && { ca: String(files.ca), cert: String(files.cert), key: String(files.key) },
      maxRequestBytes,
    },
    level: logLevel(flags.logLevel ?? config.log.level),
  };
}

function token({ tokenFile }: AcceptorFlags): string | undefined {
  const text =
    tokenFile === undefined ? process.env['BATON_ACCEPTOR_TOKEN'] : readText(tokenFile, '--token-file');
  const trimmed = text?.trim();
  if (trimmed === '') throw new UsageError('The acceptor token is empty.');
  return trimmed;
}

function tls({ tlsCert, tlsKey, tlsCa }: AcceptorFlags): AcceptorServerOptions['tls'] {
  if (tlsCa !== undefined && tlsCert === undefined)
    throw new UsageError('--tls-ca needs --tls-cert and --tls-key.');
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined)
    throw new UsageError('--tls-cert and --tls-key must be given together.');
  return {
    cert: readText(tlsCert, '--tls-cert'),
    key: readText(tlsKey, '--tls-key'),
    ...(tlsCa !== undefined && { ca: readText(tlsCa, '--tls-ca') }),
  };
}

function readText(path: string, flag: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw new UsageError(`The file given with ${flag} cannot be read: ${path}.`);
  }
}
