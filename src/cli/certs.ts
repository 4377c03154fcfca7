/** `baton certs`: a certificate authority for a cluster, and certificates of it. */
import { Command } from 'commander';
import {
  AUTHORITY_DAYS,
  CERTIFICATE_DAYS,
  CertificateError,
  type CertificateFacts,
  describeCertificates,
  initAuthority,
  issueInto,
  MOST_DAYS,
  readPem,
} from '../server/certs/index.ts';
import { UsageError } from './errors.ts';
import { positiveInteger } from './flags.ts';
import { asTyped } from './invocation.ts';

interface InitFlags {
  readonly out: string;
  readonly days: string;
  readonly renew: boolean;
  readonly force: boolean;
  readonly json: boolean;
}

interface IssueFlags extends Omit<InitFlags, 'renew'> {
  readonly host: readonly string[];
  readonly ca?: string;
}

/** A certificate that ends sooner is said to end soon. */
const SOON_DAYS = 30;

export function certsCommand(): Command {
  return new Command('certs')
    .description('Create a certificate authority for a cluster, and issue certificates.')
    .addCommand(initCommand())
    .addCommand(issueCommand())
    .addCommand(showCommand());
}

function initCommand(): Command {
  return new Command('init')
    .description(
      'Create a certificate authority: ca.pem, to be copied to every machine, and ca.key, to be kept secret.',
    )
    .requiredOption('--out <dir>', 'directory for the files; created if it does not exist')
    .option('--days <n>', 'days until it expires', String(AUTHORITY_DAYS))
    .option('--renew', 'make a new certificate for the existing key; issued certificates stay valid', false)
    .option('--force', 'replace an existing authority; certificates that it issued become invalid', false)
    .option('--json', 'print JSON', false)
    .addHelpText('after', '\nExample:\n  baton certs init --out ./certs\n')
    .action((flags: InitFlags) => reporting(() => runInit(flags)));
}

function issueCommand(): Command {
  return new Command('issue')
    .description('Issue a certificate for a node, acceptor, gateway, client or operator.')
    .argument('<name>', 'its name in the cluster file, which its peers check')
    .requiredOption('--out <dir>', 'directory for NAME.pem and NAME.key')
    .option('--host <host...>', 'host names and IP addresses under which others reach it', [])
    .option('--ca <dir>', 'directory with ca.pem and ca.key (default: that of --out)')
    .option(
      '--days <n>',
      'days until it expires; limited by the expiry of the authority',
      String(CERTIFICATE_DAYS),
    )
    .option('--force', 'replace an existing certificate', false)
    .option('--json', 'print JSON', false)
    .addHelpText(
      'after',
      '\nExample:\n  baton certs issue west-1 --host west-1.db.example 10.1.0.1 --out ./certs\n',
    )
    .action((name: string, flags: IssueFlags) => reporting(() => runIssue(name, flags)));
}

function showCommand(): Command {
  return new Command('show')
    .description('Show the subject, names and expiry of a certificate.')
    .argument('<file>', 'PEM file with one or more certificates')
    .option('--json', 'print JSON', false)
    .addHelpText('after', '\nExample:\n  baton certs show ./certs/west-1.pem\n')
    .action((file: string, flags: { readonly json: boolean }) => reporting(() => runShow(file, flags)));
}

async function runInit({ out, days, renew, force, json }: InitFlags): Promise<void> {
  const { cert, key } = await initAuthority(out, { days: daysIn(days), renew, force });
  const facts = await factsIn(cert);
  const next = asTyped(
    `Keep ${key} secret, and off the nodes. Next:\n  baton certs issue NAME --host HOST --out ${out}\n`,
  );
  print(json, { cert, key, ...facts[0]! }, `${written(cert, key)}${described(facts)}${next}`);
}

async function runIssue(name: string, { out, days, host, ca, force, json }: IssueFlags): Promise<void> {
  const files = await issueInto(out, {
    name,
    hosts: host,
    days: daysIn(days),
    force,
    ...(ca !== undefined && { authority: ca }),
  });
  const facts = await factsIn(files.cert);
  print(json, { ...files, ...facts[0]! }, `${written(files.cert, files.key)}${described(facts)}`);
}

async function runShow(file: string, { json }: { readonly json: boolean }): Promise<void> {
  const certificates = await factsIn(file);
  print(json, { certificates }, described(certificates));
}

async function factsIn(file: string): Promise<CertificateFacts[]> {
  return describeCertificates(await readPem(file));
}

function print(json: boolean, value: object, text: string): void {
  process.stdout.write(json ? `${JSON.stringify(value)}\n` : text);
}

function written(cert: string, key: string): string {
  return `Wrote ${cert} and ${key}.\n`;
}

function described(certificates: readonly CertificateFacts[]): string {
  return certificates.map(describe).join('\n');
}

function describe({
  subject,
  issuer,
  names,
  from,
  expires,
  daysLeft,
  authority,
  fingerprint,
}: CertificateFacts): string {
  const left = daysLeft < 0 ? 'EXPIRED' : `${daysLeft} days left${daysLeft < SOON_DAYS ? ', SOON' : ''}`;
  const rows = [
    ['subject', `${subject}${authority ? ' (authority)' : ''}`],
    ['issuer', issuer],
    ...(names.length > 0 ? [['names', names.join(', ')]] : []),
    ['from', from],
    ['expires', `${expires} (${left})`],
    ['SHA-256', fingerprint],
  ];
  return rows.map(([key, value]) => `  ${key!.padEnd(9)}${value}\n`).join('');
}

function daysIn(text: string): number {
  const days = positiveInteger(text, '--days');
  if (days > MOST_DAYS) throw new UsageError(`--days must be at most ${MOST_DAYS}, not "${text}".`);
  return days;
}

/** An error about certificates is an error of the command line. */
async function reporting(run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (error instanceof CertificateError) throw new UsageError(error.message, error.code);
    throw error;
  }
}
