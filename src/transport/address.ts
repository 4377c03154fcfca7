import type { Address } from './dial.ts';

/** `10.0.0.1:4101`, `[::1]:4101`, `west-1.example.com:4101`. */
export function formatAddress({ host, port }: Address): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
