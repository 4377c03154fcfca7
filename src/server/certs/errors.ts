/** What can go wrong with certificates: one sentence, a stable `code`. */
export const CERTIFICATE_ERRORS = {
  CERTIFICATE_EXISTS: 'A file is there already.',
  CERTIFICATE_UNREADABLE: 'A file cannot be read or written.',
  CERTIFICATE_INVALID: 'A file is not what it should be: a certificate, or the key of one.',
  CERTIFICATE_NAME: 'A name or a host cannot stand in a certificate.',
  AUTHORITY_EXPIRED: 'The authority is no longer valid; renew it first.',
} as const;

export type CertificateErrorCode = keyof typeof CERTIFICATE_ERRORS;

export class CertificateError extends Error {
  override readonly name = 'CertificateError';
  readonly code: CertificateErrorCode;

  constructor(code: CertificateErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
