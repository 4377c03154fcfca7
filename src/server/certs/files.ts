/**
 * Certificates in a directory: `ca.pem` and `ca.key`, and `NAME.pem` and `NAME.key` of everybody else. Keys can be read by
 * their owner alone. Nothing that is there is overwritten unless that is asked for, and no reader meets half a file.
 */
import { randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type AuthorityOptions,
  type CertificatePair,
  issueCertificate,
  type IssueOptions,
  makeAuthority,
} from './certificates.ts';
import { CertificateError } from './errors.ts';

export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

const AUTHORITY = 'ca';
const PUBLIC = 0o644;
const PRIVATE = 0o600;

export interface InitOptions extends Omit<AuthorityOptions, 'renew'> {
  readonly force?: boolean;
  /** A new certificate for the key that is there. */
  readonly renew?: boolean;
}

export async function initAuthority(
  directory: string,
  { force = false, renew = false, ...options }: InitOptions = {},
): Promise<CertificateFiles> {
  const old = renew ? await readAuthority(directory) : undefined;
  const pair = await makeAuthority({ ...options, ...(old && { renew: old }) });
  return writePair(directory, AUTHORITY, pair, force || renew);
}

export interface IssueIntoOptions extends IssueOptions {
  /** Where the authority is; without it, where the certificate goes. */
  readonly authority?: string;
  readonly force?: boolean;
}

/** Also copies the authority's certificate, when it is elsewhere: whoever gets the files needs all three. */
export async function issueInto(
  directory: string,
  { authority = directory, force = false, ...options }: IssueIntoOptions,
): Promise<CertificateFiles & { readonly ca: string }> {
  if (options.name === AUTHORITY)
    throw new CertificateError(
      'CERTIFICATE_NAME',
      `"${AUTHORITY}" is the name of the authority's own files.`,
    );
  const by = await readAuthority(authority);
  const files = await writePair(directory, options.name, await issueCertificate(by, options), force);
  const ca = join(directory, `${AUTHORITY}.pem`);
  if (authority !== directory) await writeWhole(ca, by.cert, PUBLIC, true);
  return { ...files, ca };
}

export async function readAuthority(directory: string): Promise<CertificatePair> {
  const { cert, key } = filesOf(directory, AUTHORITY);
  return { cert: await readPem(cert), key: await readPem(key) };
}

export async function readPem(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new CertificateError(
      'CERTIFICATE_UNREADABLE',
      `The file ${path} cannot be read: ${codeOf(error)}.`,
    );
  }
}

function filesOf(directory: string, name: string): CertificateFiles {
  return { cert: join(directory, `${name}.pem`), key: join(directory, `${name}.key`) };
}

async function writePair(
  directory: string,
  name: string,
  { cert, key }: CertificatePair,
  force: boolean,
): Promise<CertificateFiles> {
  const files = filesOf(directory, name);
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw unwritable(directory, error);
  }
  await writeWhole(files.key, key, PRIVATE, force);
  try {
    await writeWhole(files.cert, cert, PUBLIC, force);
  } catch (error) {
    if (!force) await rm(files.key, { force: true });
    throw error;
  }
  return files;
}

async function writeWhole(path: string, text: string, mode: number, force: boolean): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    await writeFile(draft, text, { mode, flag: 'wx', flush: true });
    await (force ? rename(draft, path) : link(draft, path));
  } catch (error) {
    if (codeOf(error) === 'EEXIST')
      throw new CertificateError(
        'CERTIFICATE_EXISTS',
        `The file ${path} is there already; --force overwrites it.`,
      );
    throw unwritable(path, error);
  } finally {
    await rm(draft, { force: true });
  }
}

function unwritable(path: string, error: unknown): CertificateError {
  return new CertificateError('CERTIFICATE_UNREADABLE', `${path} cannot be written: ${codeOf(error)}.`);
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown';
}
