/**
 * A certificate authority for one cluster, and certificates of it. One certificate serves both ways, because a node is a
 * server to some and a client to others. Its common name is the name of the node: that is how the other side knows who
 * calls. Keys are ECDSA on P-256.
 */
import { createPrivateKey, KeyObject, randomBytes, webcrypto, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { isHost, wrongName } from '../config/values.ts';
import { CertificateError } from './errors.ts';
import { x509 } from './x509.ts';

export interface CertificatePair {
  /** PEM. */
  readonly cert: string;
  /** PEM, PKCS #8. */
  readonly key: string;
}

export interface AuthorityOptions {
  readonly days?: number;
  readonly now?: Date;
  /** Makes a new certificate for this authority's key: what it issued stays good. */
  readonly renew?: CertificatePair;
}

export interface IssueOptions {
  readonly name: string;
  /** Host names and IP addresses that it is reached at, besides its name. */
  readonly hosts: readonly string[];
  readonly days?: number;
  readonly now?: Date;
}

export const AUTHORITY_DAYS = 3650;
export const CERTIFICATE_DAYS = 365;
export const MOST_DAYS = 36_500;
const DAY_MS = 24 * 3_600_000;
/** Clocks differ: one that is a day behind, which nothing else minds, must not keep a node from talking to the others. */
const EARLIER_MS = 2 * DAY_MS;

type Keys = webcrypto.CryptoKeyPair;

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

export async function makeAuthority(options: AuthorityOptions = {}): Promise<CertificatePair> {
  const { days = AUTHORITY_DAYS, now = new Date(), renew } = options;
  const library = await x509();
  const keys = renew === undefined ? await newKeys() : await keysOf(renew);
  const name =
    renew === undefined ? `Baton authority ${randomBytes(4).toString('hex')}` : commonName(renew.cert);
  const cert = await library.X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [name] }],
    ...validity(now, days),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new library.BasicConstraintsExtension(true, 0, true),
      new library.KeyUsagesExtension(library.KeyUsageFlags.keyCertSign | library.KeyUsageFlags.cRLSign, true),
      await library.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: pem(cert.toString('pem')), key: exported(keys.privateKey) };
}

export async function issueCertificate(
  authority: CertificatePair,
  options: IssueOptions,
): Promise<CertificatePair> {
  const { name, hosts, days = CERTIFICATE_DAYS, now = new Date() } = options;
  const names = alternativeNames(name, hosts);
  const library = await x509();
  const signer = await keysOf(authority);
  const issuer = new library.X509Certificate(authority.cert);
  if (issuer.notAfter <= now)
    throw new CertificateError(
      'AUTHORITY_EXPIRED',
      `The authority expired on ${day(issuer.notAfter)}; renew it first.`,
    );
  const { notBefore, notAfter } = validity(now, days);
  const keys = await newKeys();
  const cert = await library.X509CertificateGenerator.create({
    subject: [{ CN: [name] }],
    issuer: issuer.subject,
    notBefore,
    notAfter: notAfter < issuer.notAfter ? notAfter : issuer.notAfter,
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: signer.privateKey,
    extensions: [
      new library.BasicConstraintsExtension(false, undefined, true),
      new library.KeyUsagesExtension(library.KeyUsageFlags.digitalSignature, true),
      new library.ExtendedKeyUsageExtension([
        library.ExtendedKeyUsage.serverAuth,
        library.ExtendedKeyUsage.clientAuth,
      ]),
      new library.SubjectAlternativeNameExtension(names),
      await library.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await library.AuthorityKeyIdentifierExtension.create(signer.publicKey),
    ],
  });
  return { cert: pem(cert.toString('pem')), key: exported(keys.privateKey) };
}

interface AlternativeName {
  readonly type: 'dns' | 'ip';
  readonly value: string;
}

function alternativeNames(name: string, hosts: readonly string[]): AlternativeName[] {
  const wrong = wrongName(name);
  if (wrong !== undefined) throw new CertificateError('CERTIFICATE_NAME', wrong);
  const all = new Set([name, ...hosts.map((host) => host.toLowerCase())]);
  return [...all].map((value) => {
    if (isIP(value) !== 0) return { type: 'ip', value };
    if (!isHost(value))
      throw new CertificateError(
        'CERTIFICATE_NAME',
        `${JSON.stringify(value)} is neither a host name nor an IP address.`,
      );
    return { type: 'dns', value };
  });
}

function validity(now: Date, days: number): { readonly notBefore: Date; readonly notAfter: Date } {
  if (!Number.isInteger(days) || days < 1 || days > MOST_DAYS)
    throw new RangeError(`A certificate is good for 1 to ${MOST_DAYS} days.`);
  return {
    notBefore: new Date(now.getTime() - EARLIER_MS),
    notAfter: new Date(now.getTime() + days * DAY_MS),
  };
}

function newKeys(): Promise<Keys> {
  return webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
}

/** The keys of an authority that was read from somewhere: it must be one, and the key must be its own. */
async function keysOf({ cert, key }: CertificatePair): Promise<Keys> {
  const certificate = readCertificate(cert);
  const privateKey = readKey(key);
  if (!certificate.ca || !certificate.verify(certificate.publicKey))
    throw new CertificateError('CERTIFICATE_INVALID', 'The certificate is not that of an authority.');
  if (!certificate.checkPrivateKey(privateKey))
    throw new CertificateError('CERTIFICATE_INVALID', 'The key is not the key of the certificate.');
  if (privateKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1')
    throw new CertificateError(
      'CERTIFICATE_INVALID',
      'The key of the authority is not an ECDSA key on P-256.',
    );
  const { subtle } = webcrypto;
  const [pkcs8, spki] = [
    privateKey.export({ type: 'pkcs8', format: 'der' }),
    certificate.publicKey.export({ type: 'spki', format: 'der' }),
  ];
  return {
    privateKey: await subtle.importKey('pkcs8', pkcs8, ALGORITHM, true, ['sign']),
    publicKey: await subtle.importKey('spki', spki, ALGORITHM, true, ['verify']),
  };
}

export function readCertificate(text: string): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch {
    throw new CertificateError('CERTIFICATE_INVALID', 'This is not a certificate in PEM form.');
  }
}

function readKey(text: string): KeyObject {
  try {
    return createPrivateKey(text);
  } catch {
    throw new CertificateError('CERTIFICATE_INVALID', 'This is not a private key in PEM form.');
  }
}

function commonName(cert: string): string {
  return /^CN=(.*)$/m.exec(readCertificate(cert).subject)?.[1] ?? 'Baton authority';
}

function exported(key: webcrypto.CryptoKey): string {
  return pem(KeyObject.from(key).export({ type: 'pkcs8', format: 'pem' }).toString());
}

function pem(text: string): string {
  return `${text.trim()}\n`;
}

function day(date: Date): string {
  return date.toISOString().slice(0, 10);
}
