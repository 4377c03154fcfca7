/** `baton acceptor`: the acceptor service as a process. */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { pino } from 'pino';
import { AcceptorServer, DiskAcceptor, refuseToListenOpenly } from '../caspaxos/index.ts';
import { UsageError } from './errors.ts';
import { positiveInteger } from './flags.ts';

interface AcceptorFlags {
  readonly data: string;
  readonly listen: string;
  readonly tokenFile?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly maxRequestBytes: string;
  readonly stopWithParent: boolean;
  readonly logLevel: string;
}

export function acceptorCommand(): Command {
  return new Command('acceptor')
    .description('Run an acceptor: it keeps registers on this disk for proposers elsewhere.')
    .requiredOption('--data <dir>', 'directory for its data; made if it is not there')
    .option('--listen <host:port>', 'where to listen; port 0 picks a free one', '127.0.0.1:7400')
    .option(
      '--token-file <file>',
      'file with the bearer token that proposers must send (or BATON_ACCEPTOR_TOKEN)',
    )
    .option('--tls-cert <file>', 'PEM certificate; needed, with a token, to listen beyond loopback')
    .option('--tls-key <file>', 'PEM private key of the certificate')
    .option('--max-request-bytes <n>', 'largest request that is read', '4194304')
    .option('--stop-with-parent', 'stop when standard input ends, as it does when the parent is gone', false)
    .option('--log-level <level>', 'trace, debug, info, warn, error or silent', 'info')
    .addHelpText('after', '\nExample:\n  baton acceptor --data ./acceptor-1 --listen 127.0.0.1:7401\n')
    .action(runAcceptor);
}

async function runAcceptor(flags: AcceptorFlags): Promise<void> {
  const maxRequestBytes = positiveInteger(flags.maxRequestBytes, '--max-request-bytes');
  const options = { ...parseListen(flags.listen), token: token(flags), tls: tls(flags), maxRequestBytes };
  const log = pino({ level: logLevel(flags), base: { role: 'acceptor' } });
  refuseToListenOpenly(options);
  const acceptor = await DiskAcceptor.open({ directory: flags.data });
  let server: AcceptorServer;
  try {
    server = await AcceptorServer.listen(acceptor, options);
  } catch (error) {
    await acceptor.close();
    throw error;
  }
  const { id, sequence, configuration } = acceptor;
  log.info(
    { url: server.url, data: flags.data, id, sequence, set: configuration?.number ?? 0 },
    'acceptor is ready',
  );
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, resolve);
    if (flags.stopWithParent) process.stdin.resume().once('end', resolve).once('error', resolve);
  });
  log.info({ id }, 'stopping: answering what was begun');
  process.stdin.destroy();
  await server.close();
  await acceptor.close();
  log.info({ id, ...acceptor.counters }, 'stopped');
}

function parseListen(listen: string): { host: string; port: number } {
  const match = /^(?:\[(?<ipv6>[^\]]+)\]|(?<host>[^:]+)):(?<port>\d{1,5})$/.exec(listen);
  const port = Number(match?.groups?.['port']);
  if (match === null || port > 65_535)
    throw new UsageError(`--listen needs the form HOST:PORT, not "${listen}".`);
  return { host: (match.groups?.['ipv6'] ?? match.groups?.['host'])!, port };
}

function logLevel({ logLevel: level }: AcceptorFlags): string {
  if (level === 'silent' || level in pino.levels.values) return level;
  throw new UsageError(`--log-level does not know "${level}".`);
}

function token({ tokenFile }: AcceptorFlags): string | undefined {
  const text =
    tokenFile === undefined ? process.env['BATON_ACCEPTOR_TOKEN'] : readText(tokenFile, '--token-file');
  const trimmed = text?.trim();
  if (trimmed === '') throw new UsageError('The acceptor token is empty.');
  return trimmed;
}

function tls({ tlsCert, tlsKey }: AcceptorFlags): { cert: string; key: string } | undefined {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined)
    throw new UsageError('--tls-cert and --tls-key go together.');
  return { cert: readText(tlsCert, '--tls-cert'), key: readText(tlsKey, '--tls-key') };
}

function readText(path: string, flag: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw new UsageError(`The file that ${flag} names cannot be read: ${path}`);
  }
}
