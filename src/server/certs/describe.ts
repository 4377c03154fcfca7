/** What a certificate says, for people and for scripts. */
import type { X509Certificate } from 'node:crypto';
import { readCertificate } from './certificates.ts';
import { CertificateError } from './errors.ts';

export interface CertificateFacts {
  readonly subject: string;
  readonly issuer: string;
  readonly authority: boolean;
  /** Host names and IP addresses that it is good for. */
  readonly names: readonly string[];
  /** ISO timestamps. */
  readonly from: string;
  readonly expires: string;
  /** Whole days from now; below 0 once it has expired. */
  readonly daysLeft: number;
  readonly fingerprint: string;
}

const BLOCK = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Every certificate in a PEM text, in its order. */
export function describeCertificates(text: string, now: Date = new Date()): CertificateFacts[] {
  const blocks = text.match(BLOCK) ?? [];
  if (blocks.length === 0)
    throw new CertificateError('CERTIFICATE_INVALID', 'There is no certificate in PEM form in it.');
  return blocks.map((block) => factsOf(readCertificate(block), now));
}

function factsOf(certificate: X509Certificate, now: Date): CertificateFacts {
  const [from, expires] = [new Date(certificate.validFrom), new Date(certificate.validTo)];
  const names = certificate.subjectAltName?.split(', ') ?? [];
  return {
    subject: oneLine(certificate.subject),
    issuer: oneLine(certificate.issuer),
    authority: certificate.ca,
    names: names.map((name) => name.replace(/^(?:DNS|IP Address):/, '')),
    from: from.toISOString(),
    expires: expires.toISOString(),
    daysLeft: Math.floor((expires.getTime() - now.getTime()) / (24 * 3_600_000)),
    fingerprint: certificate.fingerprint256,
  };
}

function oneLine(name: string): string {
  return name.replaceAll('\n', ', ');
}
