/**
 * What every HTTP server of ours reads alike in the head of a request. Node keeps the first 2,000 fields of a header and drops the
 * others, which may hold the token or the signature: so its bound is taken off (`ALL_FIELDS`), and a request with more is refused. How many
 * bytes a header may have bounds the work before that.
 */

/** What is enough of Node's `IncomingMessage`. */
export interface RequestHead {
  url?: string | undefined;
  readonly headers: { host?: string | undefined };
  /** Name and value in turns. */
  readonly rawHeaders: readonly string[];
}

/** The `maxHeadersCount` of a server: none. */
export const ALL_FIELDS = 0;
export const MAX_FIELDS = 2000;
export const TOO_MANY_FIELDS = `The request has more than ${MAX_FIELDS} header fields.`;

export function hasTooManyFields({ rawHeaders }: RequestHead): boolean {
  return rawHeaders.length > 2 * MAX_FIELDS;
}

const ABSOLUTE = /^https?:\/\/(?<host>[^/?#@]+)(?<rest>(?:[/?].*)?)$/i;

/**
 * A target in absolute form, `http://host/path`, which proxies send and servers have to take (RFC 9112, 3.2.2), becomes the path, and its
 * host the one that was asked for, whatever the field Host says. Every other form stays as it is.
 */
export function takeAbsoluteForm(request: RequestHead): void {
  const { url = '' } = request;
  if (url.startsWith('/')) return;
  const { host, rest } = ABSOLUTE.exec(url)?.groups ?? {};
  if (host === undefined || rest === undefined) return;
  request.url = rest.startsWith('/') ? rest : `/${rest}`;
  request.headers.host = host;
}
