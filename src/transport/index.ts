/** The transport between nodes, and between clients and nodes. */
export { formatAddress } from './address.ts';
export type { CallOptions } from './calls.ts';
export { Connection, type ConnectionHandlers } from './connection.ts';
export { type Address, dial, type DialOptions } from './dial.ts';
export { type CallOutcome, RPC_ERRORS, RpcError, type RpcErrorCode } from './errors.ts';
export type { Payload } from './frames.ts';
export type { Identity, PeerRole } from './handshake.ts';
export { type ConnectionLimits, DEFAULT_LIMITS } from './limits.ts';
export { type Caller, Listener, type ListenOptions } from './listener.ts';
export { PeerLink, type PeerLinkOptions, type SendResult } from './peer-link.ts';
export type { RequestContext, RequestHandler } from './requests.ts';
export { isLoopback, type RpcTls } from './tls.ts';
export { OLDEST_PROTOCOL_VERSION, PROTOCOL_VERSION } from './wire.ts';
