/**
 * Failures of the transport: one sentence, a stable `code`, and whether the request may have been carried out. Only
 * `rejected` is proof that it was not; a caller that repeats an `unknown` one must make it harmless first.
 */
export const RPC_ERRORS = {
  VERSION_UNSUPPORTED: 'the two sides share no version of the protocol',
  CLUSTER_DIFFERENT: 'the other side belongs to another cluster',
  NODE_DIFFERENT: 'another node answers at that address than was expected',
  NOT_AUTHORIZED: 'the token or the certificate is not accepted',
  SUPERSEDED: 'a later connection of the same link has taken its place',
  TOO_MANY_CONNECTIONS: 'the listener has as many connections as it takes',
  HANDSHAKE_INVALID: 'what was said first is not the handshake of this protocol',
  HANDSHAKE_TIMED_OUT: 'the handshake was not completed in time',
  UNREACHABLE: 'no connection could be made',
  CONNECTION_LOST: 'the connection ended before the answer came',
  CLOSED: 'this connection, or its other side, is closing or closed',
  PEER_SILENT: 'nothing was heard from the other side for too long',
  PEER_STALLED: 'the other side does not read what it is sent',
  PROTOCOL_VIOLATION: 'the other side sent something that this protocol does not allow',
  FRAME_TOO_LARGE: 'a message is larger than its receiver takes',
  BUSY: 'too much is under way; try again after the delay that the error names',
  TIMED_OUT: 'the answer did not come in time',
  ABORTED: 'the caller gave up',
  METHOD_UNKNOWN: 'the other side has no such method',
  HANDLER_FAILED: 'the other side could not carry out the request',
  LISTEN_REFUSED: 'listening beyond loopback needs TLS and a way to know who calls',
  LISTEN_FAILED: 'the address cannot be listened on',
} as const;

export type RpcErrorCode = keyof typeof RPC_ERRORS;

/** `rejected`: certainly not carried out, now or later. */
export type CallOutcome = 'rejected' | 'unknown';

export interface RpcErrorOptions {
  readonly outcome?: CallOutcome | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly cause?: unknown;
}

/** `code` is one of `RPC_ERRORS`, or what a handler on the other side threw. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: string;
  readonly outcome: CallOutcome;
  /** 0 when there is nothing to wait for. */
  readonly retryAfterMs: number;

  constructor(code: RpcErrorCode | (string & {}), message: string, options: RpcErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.outcome = options.outcome ?? 'rejected';
    this.retryAfterMs = options.retryAfterMs ?? 0;
  }
}

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
