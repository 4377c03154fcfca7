/** What the answers about items have in common. */
import { etagOf, type Position, present, type Version } from '../../../engine/index.ts';
import type { GatewayContext, GatewayRequest } from '../context.ts';
import { GATEWAY_CODES, type GatewayCode, GatewayError, tooManyRequests } from '../errors.ts';
import { headerOf } from '../headers.ts';
import { sessionToken } from './session.ts';
import type { ItemRange, Target } from './target.ts';

/** Everything that the parts of a request need to know of each other. */
export interface Call {
  readonly request: GatewayRequest;
  readonly context: GatewayContext;
  readonly target: Target;
  /** When it has to be over, on the host's clock. */
  readonly deadlineAt: number;
}

/** A client of a region's door gives a read up after two seconds and asks elsewhere: so it is told before. */
const READ_MS = 1800;
/** At the global door there is no elsewhere; but who cannot be answered now shall hear it while somebody still waits for it. */
const GLOBAL_READ_MS = 10_000;

export function timeLeft({ context, deadlineAt }: Call, kind: 'read' | 'write'): number {
  const left = Math.max(1, deadlineAt - context.host.now());
  if (kind === 'write') return left;
  return Math.min(left, context.door === undefined ? GLOBAL_READ_MS : READ_MS);
}

type Headers = Readonly<Record<string, string>>;

/** Of the container: clients keep session tokens by it. */
export function ownerHeaders({ request, target }: Call): Headers {
  const { database = '', container = '' } = request.resource;
  return {
    'x-ms-content-path': target.rid,
    'x-ms-alt-content-path': encodeURI(`dbs/${database}/colls/${container}`),
  };
}

export function placeHeaders(call: Call, range: ItemRange, position: Position): Headers {
  return {
    ...ownerHeaders(call),
    'x-ms-session-token': sessionToken(range, position),
    lsn: String(position.lsn),
    'x-ms-global-committed-lsn': String(position.lsn),
  };
}

export function versionHeaders(version: Pick<Version, 'epoch' | 'lsn'>): Headers {
  return { etag: etagOf(version), 'x-ms-item-lsn': String(version.lsn) };
}

export type ReadableVersion = Version & { readonly body: Uint8Array };

export function isReadable(version: Version | undefined): version is ReadableVersion {
  return version?.body !== undefined;
}

export function shownIn({ target }: Call, version: ReadableVersion, withLsn = false): Uint8Array {
  return present(version, target.names, withLsn);
}

/** What the writer judged and rejected. */
export function rejected(
  status: number,
  substatus: number,
  message: string | undefined,
  headers: Headers,
): GatewayError {
  const code: GatewayCode = GATEWAY_CODES[status as keyof typeof GATEWAY_CODES] ?? 'BadRequest';
  return new GatewayError(status, substatus, code, message ?? 'The request was rejected.', headers);
}

const KILOBYTE = 1024;

/** Request units: 1 for a read and 5 for a write, for each kilobyte begun. */
export function unitsOf(kind: 'read' | 'write', bytes: number): number {
  return (kind === 'read' ? 1 : 5) * Math.max(1, Math.ceil(bytes / KILOBYTE));
}

/** Throws 429. What a read costs is known when it is done, so it pays one unit first and the rest afterwards. */
export function pay({ context, target }: Call, units: number): void {
  const waitMs = context.throttle.charge(target.number, units);
  if (waitMs !== undefined)
    throw tooManyRequests('The container has used up its request units for this moment.', waitMs);
}

/** Nobody is refused for it any more. */
export function payRest({ context, target }: Call, units: number): void {
  if (units > 0) context.throttle.charge(target.number, units);
}

export function wantsNoBody({ request }: Call): boolean {
  return headerOf(request.headers, 'prefer')?.toLowerCase().includes('return=minimal') === true;
}
