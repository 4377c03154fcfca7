/** What an HTTP request is answered when it cannot be done: a status, a stable code, one sentence. */
export const HTTP_ERRORS = {
  BAD_REQUEST: 'the request cannot be understood',
  NOT_AUTHORIZED: 'the token or the certificate is not accepted',
  ROLE_TOO_WEAK: 'the token is that of viewers, and this changes something',
  HOST_REFUSED: 'the request names a host that this server is not',
  NOT_FOUND: 'there is nothing at that path',
  METHOD_NOT_ALLOWED: 'that path has no such method',
  BODY_TOO_LARGE: 'the body of the request is larger than is taken',
  BODY_NOT_JSON: 'the body of the request is not JSON, or is not called that',
  HEADER_TOO_LARGE: 'the header of the request has more bytes, or more fields, than are taken',
  REQUEST_TIMEOUT: 'the request did not come whole in time',
  INTERNAL: 'the server failed; its log says why',
  HTTP_LISTEN_FAILED: 'the address cannot be listened on',
  HTTP_LISTEN_REFUSED: 'listening beyond loopback needs TLS',
} as const;

export type HttpErrorCode = keyof typeof HTTP_ERRORS;

export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly status: number;
  readonly code: HttpErrorCode | (string & {});

  constructor(status: number, code: HttpErrorCode | (string & {}), message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export function badRequest(message: string): HttpError {
  return new HttpError(400, 'BAD_REQUEST', message);
}
