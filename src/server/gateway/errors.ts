/**
 * What a request is answered when it cannot be done. Clients of this API look at the status and the substatus; the code and
 * the sentence are for people. The codes are the few that such clients know.
 */
export const GATEWAY_CODES = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  408: 'RequestTimeout',
  409: 'Conflict',
  410: 'Gone',
  412: 'PreconditionFailed',
  413: 'RequestEntityTooLarge',
  429: 'TooManyRequests',
  431: 'RequestHeaderFieldsTooLarge',
  449: 'RetryWith',
  500: 'InternalServerError',
  503: 'ServiceUnavailable',
} as const;

export type GatewayCode = (typeof GATEWAY_CODES)[keyof typeof GATEWAY_CODES];

/** Substatuses that are given. There is no 1002: session reads are resolved here. */
export const SUBSTATUS = {
  /** The region that was asked does not take writes of this partition-set now. */
  notTheWriter: 3,
  /** The container has another `_rid` than the client believes. */
  nameCacheIsStale: 1000,
  /** The partition key of the request is not the one of the document. */
  wrongPartitionKey: 1001,
  /** More request units than the container may use. */
  tooManyUnits: 3200,
} as const;

export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  readonly status: number;
  readonly substatus: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;

  /** `message` goes to whoever asked: one sentence, nothing secret. */
  constructor(
    status: number,
    substatus: number,
    code: GatewayCode,
    message: string,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.status = status;
    this.substatus = substatus;
    this.code = code;
    this.headers = headers;
  }
}

export function badRequest(message: string): GatewayError {
  return new GatewayError(400, 0, 'BadRequest', message);
}

/** What this API has elsewhere and Baton has not. */
export function notSupported(what: string): GatewayError {
  return badRequest(`${what} not supported by this server.`);
}

export function notFound(message: string): GatewayError {
  return new GatewayError(404, 0, 'NotFound', message);
}

export function conflict(message: string): GatewayError {
  return new GatewayError(409, 0, 'Conflict', message);
}

export function preconditionFailed(message: string): GatewayError {
  return new GatewayError(412, 0, 'PreconditionFailed', message);
}

export function forbidden(message: string): GatewayError {
  return new GatewayError(403, 0, 'Forbidden', message);
}

export function unauthorized(message: string): GatewayError {
  return new GatewayError(401, 0, 'Unauthorized', message);
}

export function tooLarge(message: string): GatewayError {
  return new GatewayError(413, 0, 'RequestEntityTooLarge', message);
}

export function headerTooLarge(message: string): GatewayError {
  return new GatewayError(431, 0, 'RequestHeaderFieldsTooLarge', message);
}

/** Whether it was done is not known. */
export function timedOut(message: string): GatewayError {
  return new GatewayError(408, 0, 'RequestTimeout', message);
}

/** It was certainly not done: clients send it again, elsewhere. */
export function unavailable(message: string): GatewayError {
  return new GatewayError(503, 0, 'ServiceUnavailable', message);
}

export function methodNotAllowed(message: string): GatewayError {
  return new GatewayError(405, 0, 'MethodNotAllowed', message);
}

export function tooManyRequests(message: string, retryAfterMs: number): GatewayError {
  return new GatewayError(429, SUBSTATUS.tooManyUnits, 'TooManyRequests', message, {
    'x-ms-retry-after-ms': String(Math.max(1, Math.ceil(retryAfterMs))),
  });
}
