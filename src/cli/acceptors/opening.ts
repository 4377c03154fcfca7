/** From a URL to what is surveyed behind it: a store by its conditional writes, a service by its role. */
import {
  type Acceptor,
  type AcceptorStore,
  CasPaxosError,
  isService,
  openAcceptor,
  openStore,
  type ServiceTls,
} from '../../caspaxos/index.ts';
import { type Place, secretsIn, withoutSecrets } from './place.ts';

export interface OpenOptions {
  readonly timeoutMs: number;
  readonly token: string | undefined;
  /** For services: a store's certificates stand in its URL. */
  readonly tls: () => ServiceTls;
}

export type Opening =
  | { readonly kind: 'store'; readonly open: () => AcceptorStore }
  | { readonly kind: 'service'; readonly open: () => Acceptor };

export function openFor(url: string, options: OpenOptions): Opening {
  if (isService(url)) return { kind: 'service', open: () => openAcceptor(url, options) };
  return { kind: 'store', open: () => openStore(url, { timeoutMs: options.timeoutMs })! };
}

/** Whatever it is, one sentence with a code, and nothing in it that the URL keeps to itself. */
export function asError(
  error: unknown,
  url: string,
  { url: place }: Place,
): { readonly code: string; readonly message: string } {
  const code = error instanceof CasPaxosError ? error.code : 'STORE_FAILED';
  const said = error instanceof Error ? error.message : String(error);
  const message = said.includes(place) ? said : `Acceptor ${place}: ${said}`;
  return { code, message: withoutSecrets(message, secretsIn(url)).replaceAll(/\s+/g, ' ') };
}
