/** A certificate authority for a cluster, and certificates of it. */
export {
  AUTHORITY_DAYS,
  type AuthorityOptions,
  CERTIFICATE_DAYS,
  type CertificatePair,
  issueCertificate,
  type IssueOptions,
  makeAuthority,
  MOST_DAYS,
} from './certificates.ts';
export { type CertificateFacts, describeCertificates } from './describe.ts';
export { CERTIFICATE_ERRORS, CertificateError, type CertificateErrorCode } from './errors.ts';
export {
  type CertificateFiles,
  initAuthority,
  type InitOptions,
  issueInto,
  type IssueIntoOptions,
  readAuthority,
  readPem,
} from './files.ts';
