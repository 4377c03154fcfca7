/**
 * What went wrong with DynamoDB, in a sentence. The client's own errors are not passed on: they hold the request with its
 * signature.
 */
import { CasPaxosError } from '../errors.ts';

export interface DynamoDbPlace {
  readonly url: string;
  readonly table: string;
  readonly timeoutMs: number;
}

/** As IAM names it, behind `dynamodb:`. */
export type DynamoDbAction = 'BatchGetItem' | 'CreateTable' | 'DescribeTable' | 'PutItem' | 'Query';

const CREDENTIALS_REFUSED = new Set([
  'CredentialsProviderError',
  'ExpiredTokenException',
  'IncompleteSignatureException',
  'InvalidAccessKeyId',
  'InvalidClientTokenId',
  'InvalidSignatureException',
  'MissingAuthenticationTokenException',
  'SignatureDoesNotMatch',
  'TokenProviderError',
  'UnrecognizedClientException',
]);
const THROTTLED = new Set([
  'LimitExceededException',
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'ThrottlingException',
]);
/** What is wrong with one write, or with its moment; the others of its batch may be well. */
const OF_ONE_WRITE = new Set([
  ...THROTTLED,
  'InternalServerError',
  'ItemCollectionSizeLimitExceededException',
  'ReplicatedWriteConflictException',
  'TransactionConflictException',
  'ValidationException',
]);
const NETWORK =
  /^(?:E(?:CONN|HOST|NET|PIPE|PROTO|NOTFOUND|AI_)|CERT_|ERR_TLS|ERR_SSL|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;

export function nameOfError(error: unknown): string {
  return error instanceof Error ? error.name : '';
}

export function concernsOneWrite(error: unknown): boolean {
  return OF_ONE_WRITE.has(nameOfError(error));
}

export function isMissingTable(error: unknown): boolean {
  return nameOfError(error) === 'ResourceNotFoundException';
}

export function dynamoDbFailure(place: DynamoDbPlace, action: DynamoDbAction, error: unknown): CasPaxosError {
  if (error instanceof CasPaxosError) return error;
  const { url, table, timeoutMs } = place;
  const name = nameOfError(error);
  const code = networkCode(error);
  if (name === 'AbortError' || name === 'TimeoutError')
    return new CasPaxosError('TIMED_OUT', `Acceptor ${url} did not answer within ${timeoutMs} ms.`);
  if (code !== undefined)
    return new CasPaxosError('UNREACHABLE', `Acceptor ${url} cannot be reached (${code}).`);
  if (name === 'AccessDeniedException') {
    const message = `Acceptor ${url} does not allow it: grant dynamodb:${action} on the table ${table}.`;
    return new CasPaxosError('UNAUTHORIZED', message);
  }
  if (CREDENTIALS_REFUSED.has(name)) {
    const message = `Acceptor ${url} does not accept the credentials, or there are none (${name}): put KEYID:SECRET@ into the URL, or give them where the AWS client looks for them.`;
    return new CasPaxosError('UNAUTHORIZED', message);
  }
  if (isMissingTable(error)) return missingTable(place);
  if (THROTTLED.has(name)) {
    const message = `Acceptor ${url} is throttled (${name}): give the table ${table} more throughput.`;
    return new CasPaxosError('STORE_FAILED', message);
  }
  const reason = error instanceof Error ? error.message : String(error);
  return new CasPaxosError('STORE_FAILED', `Acceptor ${url} failed (${name}): ${reason}`);
}

export function missingTable({ url, table }: DynamoDbPlace): CasPaxosError {
  return new CasPaxosError(
    'STORE_FAILED',
    `Acceptor ${url} has no table ${table}: if it was deleted, the acceptor has lost its memory; replace it.`,
  );
}

function networkCode(error: unknown): string | undefined {
  const { code, errors } = error as { readonly code?: unknown; readonly errors?: readonly unknown[] };
  if (typeof code === 'string' && NETWORK.test(code)) return code;
  // One for each address of a name.
  return Array.isArray(errors) && errors.length > 0 ? networkCode(errors[0]) : undefined;
}
