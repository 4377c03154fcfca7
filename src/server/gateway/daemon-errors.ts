/** Why a gateway cannot start: one sentence, a stable code. */
export const GATEWAY_ERRORS = {
  GATEWAY_UNKNOWN: 'the cluster file has no gateway of that name',
  GATEWAY_KEYS_MISSING: 'the cluster file has no keys of the account',
} as const;

export type GatewayErrorCode = keyof typeof GATEWAY_ERRORS;

export class GatewayStartError extends Error {
  override readonly name = 'GatewayStartError';
  readonly code: GatewayErrorCode;

  constructor(code: GatewayErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
