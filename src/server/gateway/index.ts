/** The HTTP gateway: an account over HTTP, for the public clients of that API. */
export { GATEWAY_ERRORS, type GatewayErrorCode, GatewayStartError } from './daemon-errors.ts';
export { GatewayDaemon, type GatewayDaemonOptions } from './gateway-daemon.ts';
