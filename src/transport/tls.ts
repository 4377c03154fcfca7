/**
 * Who may be listened to, and how it is known who calls. With a certificate authority on both sides TLS is mutual: each
 * side shows a certificate of that authority. A listener without one shows its certificate and asks callers for a token.
 */
import { isIP, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { RpcError } from './errors.ts';

export interface RpcTls {
  /** PEM. The authority that the other side's certificate must come from. */
  readonly ca?: string | Buffer | undefined;
  readonly cert?: string | Buffer | undefined;
  readonly key?: string | Buffer | undefined;
  /** For who dials: the name that the certificate must carry, when it is not the address. */
  readonly servername?: string | undefined;
}

export function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1') return true;
  return isIP(host) === 4 && host.startsWith('127.');
}

/** Secure by default: beyond this machine only with TLS, and only for callers that prove who they are. */
export function refuseOpenRpc(host: string, tls: RpcTls | undefined, hasToken: boolean): void {
  if (isLoopback(host)) return;
  if (tls !== undefined && (tls.ca !== undefined || hasToken)) return;
  throw new RpcError(
    'LISTEN_REFUSED',
    `Refusing to listen on ${host}: beyond loopback a node needs a TLS certificate, and a certificate authority or a token for who calls.`,
  );
}

/** The common name in the certificate that the other side showed and that was found good. */
export function certificateName(socket: Socket): string | undefined {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  const name = socket.getPeerCertificate().subject?.CN;
  return Array.isArray(name) ? name[0] : name;
}
