/** What etcd says when it does not do what it was asked, in words that name the way out. */
import { CasPaxosError, type ErrorCode } from '../errors.ts';

/** What may be tried after a refusal; `nothing` is the caller's to know. */
export type AfterRefusal = 'nothing' | 'authenticate' | 'another-endpoint' | 'smaller-request';

export interface Refusal {
  readonly error: CasPaxosError;
  readonly after: AfterRefusal;
}

interface KnownRefusal {
  readonly pattern: RegExp;
  readonly code: ErrorCode;
  readonly says: string;
  readonly after?: AfterRefusal;
}

const KNOWN: readonly KnownRefusal[] = [
  {
    pattern: /invalid auth token|revision in header is old|token is not provided/,
    code: 'UNAUTHORIZED',
    says: 'does not take the token that it gave to this user; look at its --auth-token',
    after: 'authenticate',
  },
  {
    pattern: /user name is empty|user name not found/,
    code: 'UNAUTHORIZED',
    says: 'asks for a user: write USER:PASSWORD@ before its host, or USER@ with the password in ETCD_PASSWORD',
    after: 'authenticate',
  },
  {
    pattern: /invalid user ID or password|authentication failed/,
    code: 'UNAUTHORIZED',
    says: 'does not know this user with this password',
  },
  {
    pattern: /permission denied/,
    code: 'UNAUTHORIZED',
    says: 'does not permit it; run: etcdctl role grant-permission ROLE --prefix=true readwrite PREFIX',
  },
  {
    pattern: /database space exceeded/,
    code: 'STORE_FAILED',
    says: 'is full (alarm NOSPACE); compact and defragment it, then run: etcdctl alarm disarm',
  },
  {
    pattern: /corrupt/,
    code: 'STORE_FAILED',
    says: 'has found its members to differ (alarm CORRUPT); replace the member that is wrong',
  },
  {
    pattern: /no leader|leader changed|server stopped|unhealthy|not capable|is a learner/,
    code: 'UNREACHABLE',
    says: 'has no leader at the moment: most of its members do not reach each other',
    after: 'another-endpoint',
  },
  {
    pattern: /timed out|deadline exceeded|transport is closing|connection refused/,
    code: 'TIMED_OUT',
    says: 'did not get an answer from most of its members in time',
    after: 'another-endpoint',
  },
  {
    pattern: /request is too large|larger than max/,
    code: 'REQUEST_TOO_LARGE',
    says: 'does not take a document of this size; its --max-request-bytes must be 1572864 or more',
    after: 'smaller-request',
  },
  {
    pattern: /too many operations/,
    code: 'STORE_FAILED',
    says: 'does not take 128 operations at a time; its --max-txn-ops must be 128 or more',
  },
];

/** Undefined: the answer is a good one. */
export function refusalIn(place: string, status: number, text: string): Refusal | undefined {
  if (status === 200) return undefined;
  const reason = reasonIn(text);
  const known = KNOWN.find(({ pattern }) => pattern.test(reason ?? ''));
  if (known !== undefined) {
    const error = new CasPaxosError(known.code, `Acceptor ${place} ${known.says}.`);
    return { error, after: known.after ?? 'nothing' };
  }
  const says =
    reason === undefined || status === 404
      ? 'does not answer as etcd 3.4 or newer; look at its address, at tls=on, and at its --enable-grpc-gateway'
      : `answered ${status} (${reason})`;
  return { error: new CasPaxosError('STORE_FAILED', `Acceptor ${place} ${says}.`), after: 'nothing' };
}

export function isAuthenticationOff(text: string): boolean {
  return /authentication is not enabled/.test(text);
}

function reasonIn(text: string): string | undefined {
  try {
    const { message, error } = JSON.parse(text) as { message?: unknown; error?: unknown };
    const reason = message ?? error;
    return typeof reason === 'string' ? reason.slice(0, 200) : undefined;
  } catch {
    return undefined;
  }
}
