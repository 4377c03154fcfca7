/** Requests to a node. What goes wrong is one error with the node's own code and sentence. */

export class ApiError extends Error {
  readonly code: string;
  readonly status: number;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
  }
}

export interface Asking {
  readonly token: string | undefined;
  readonly body?: unknown;
  readonly timeoutMs?: number;
}

const USUAL_MS = 8000;

export async function ask<T>(url: string, { token, body, timeoutMs = USUAL_MS }: Asking): Promise<T> {
  const answer = await reach(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      ...authorization(token),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(timeoutMs),
  });
  if (!answer.ok) throw await errorOf(answer);
  return (await answer.json()) as T;
}

export function authorization(token: string | undefined): Record<string, string> {
  return token === undefined ? {} : { authorization: `Bearer ${token}` };
}

export async function reach(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { ...init, cache: 'no-store', credentials: 'omit', redirect: 'error' });
  } catch (error) {
    const isLate = error instanceof DOMException && error.name === 'TimeoutError';
    throw new ApiError(
      0,
      isLate ? 'NO_ANSWER' : 'UNREACHABLE',
      isLate ? 'The node did not answer in time.' : 'The node cannot be reached.',
    );
  }
}

export async function errorOf(answer: Response): Promise<ApiError> {
  try {
    const { error } = (await answer.json()) as { error: { code: string; message: string } };
    return new ApiError(answer.status, error.code, error.message);
  } catch {
    return new ApiError(answer.status, 'NOT_UNDERSTOOD', `The node answered with status ${answer.status}.`);
  }
}

/** Of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
