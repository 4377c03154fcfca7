/** Certificates for a local cluster that reaches beyond loopback, made anew for the addresses of every run. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { initAuthority, issueInto } from '../certs/index.ts';
import type { ClusterConfig } from '../config/cluster-config.ts';
import { nodesOf } from '../config/layout.ts';
import type { ClientTls } from './observer.ts';
import { CERTIFICATES } from './plan.ts';

/** Whose certificate people and their commands show. */
export const OPERATOR = 'operator';

export async function makeCertificates(directory: string, config: ClusterConfig): Promise<void> {
  const certificates = join(directory, CERTIFICATES);
  if (!existsSync(join(certificates, 'ca.pem'))) await initAuthority(certificates);
  const named = [
    ...nodesOf(config).map(({ name, address }) => ({ name, hosts: [address.host] })),
    ...config.acceptors.flatMap(({ name, serve }) => (serve ? [{ name, hosts: [serve.listen.host] }] : [])),
    ...config.gateways.map(({ name, address }) => ({ name, hosts: [address.host] })),
    { name: 'dns', hosts: ['127.0.0.1'] },
    { name: OPERATOR, hosts: ['127.0.0.1'] },
  ];
  for (const { name, hosts } of named) await issueInto(certificates, { name, hosts, force: true });
}

export function operatorTls(directory: string): ClientTls {
  const read = (name: string): string => readFileSync(join(directory, CERTIFICATES, name), 'utf8');
  return { ca: read('ca.pem'), cert: read(`${OPERATOR}.pem`), key: read(`${OPERATOR}.key`) };
}
