/** Addresses of nodes as text: `10.0.0.1:4101`, `[::1]:4101`, `west-1.example.com:4101`. */
import { isIPv6 } from 'node:net';
import type { Address } from '../../transport/index.ts';

export { formatAddress } from '../../transport/index.ts';

const ADDRESS = /^(?:\[(?<ipv6>[\w.:%-]+)\]|(?<host>[\w.-]+)):(?<port>[1-9]\d{0,4})$/;
const LONGEST = 300;

export function parseAddress(text: string): Address | undefined {
  if (text.length > LONGEST) return undefined;
  const { ipv6, host = ipv6, port } = ADDRESS.exec(text)?.groups ?? {};
  if (host === undefined || Number(port) > 65_535) return undefined;
  if (ipv6 !== undefined && !isIPv6(ipv6)) return undefined;
  return { host, port: Number(port) };
}
