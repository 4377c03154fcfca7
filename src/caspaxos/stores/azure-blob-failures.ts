/**
 * What Azure Blob Storage says when it does not do what it was asked. Its client's errors carry the whole request, with a
 * signature in the URL where one is used: none of them goes further than this file.
 */
import { CasPaxosError } from '../errors.ts';

/** Somebody else wrote the blob, or nobody did: read again. */
const CONFLICTS = new Set(['BlobAlreadyExists', 'ConditionNotMet', 'TargetConditionNotMet', 'BlobNotFound']);

interface ClientError {
  readonly name?: string;
  readonly statusCode?: number;
  readonly code?: string;
  readonly details?: { readonly errorCode?: string };
}

export function isConflict(error: unknown): boolean {
  return CONFLICTS.has(serviceCode(error) ?? '');
}

export function isNoBlob(error: unknown): boolean {
  return serviceCode(error) === 'BlobNotFound';
}

export function isContainerThere(error: unknown): boolean {
  return serviceCode(error) === 'ContainerAlreadyExists';
}

export function azureBlobFailure(place: string, error: unknown): CasPaxosError {
  if (error instanceof CasPaxosError) return error;
  const { statusCode, name } = error as ClientError;
  const code = serviceCode(error);
  const says = (what: string): string => `Acceptor ${place} ${what}.`;
  if (statusCode === 401 || statusCode === 403) {
    const what = `does not permit it (${code ?? statusCode}); it needs the account's key, or an identity with the role Storage Blob Data Contributor on the container`;
    return new CasPaxosError('UNAUTHORIZED', says(what));
  }
  if (code === 'ContainerNotFound' || code === 'ContainerBeingDeleted') {
    const what = 'has lost its container; bring it back from where it went, or replace the acceptor';
    return new CasPaxosError('STORE_FAILED', says(what));
  }
  if (statusCode === 413)
    return new CasPaxosError('REQUEST_TOO_LARGE', says('does not take a document of this size'));
  if (statusCode !== undefined)
    return new CasPaxosError('STORE_FAILED', says(`answered ${statusCode} (${code ?? 'no reason'})`));
  if (name === 'RestError') {
    const what = `cannot be reached (${code ?? 'no reason'})`;
    return new CasPaxosError('UNREACHABLE', says(what));
  }
  // An identity that could not be had, above all; such errors tell a person what to do and hold no secrets.
  const reason = error instanceof Error ? error.message.split('\n')[0]! : String(error);
  const isIdentity = /Credential|Authentication/.test(name ?? '');
  return new CasPaxosError(isIdentity ? 'UNAUTHORIZED' : 'STORE_FAILED', says(`failed (${reason})`));
}

function serviceCode(error: unknown): string | undefined {
  const { details, code } = error as ClientError;
  return details?.errorCode ?? code;
}
