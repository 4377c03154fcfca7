/** Checks that every port of a cluster is free before any process is started. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Address } from '../../transport/index.ts';
import type { ClusterConfig } from '../config/cluster-config.ts';
import { nodesOf } from '../config/layout.ts';
import { LocalClusterError } from './errors.ts';

interface Use {
  readonly who: string;
  readonly address: Address;
  readonly udp?: boolean;
}

/** With network namespaces, only what belongs to no region shares its ports with the rest of this machine. */
export function listenersOf(config: ClusterConfig, inNamespaces: boolean): Use[] {
  const dns = config.dns ? [{ who: 'the DNS server', address: config.dns.listen, udp: true }] : [];
  const gateways = config.gateways
    .filter(({ region }) => !inNamespaces || region === undefined)
    .flatMap(({ name, listen, http }) => [
      { who: `gateway ${name}`, address: listen },
      ...(http ? [{ who: `the status of gateway ${name}`, address: http }] : []),
    ]);
  if (inNamespaces) return [...gateways, ...dns];
  return [
    ...config.acceptors.flatMap(({ name, serve }) =>
      serve ? [{ who: `acceptor ${name}`, address: serve.listen }] : [],
    ),
    ...nodesOf(config).flatMap(({ name, listen, http }) => [
      { who: `node ${name}`, address: listen },
      ...(http ? [{ who: `the HTTP API of node ${name}`, address: http }] : []),
    ]),
    ...gateways,
    ...dns,
  ];
}

export async function demandFreePorts(uses: readonly Use[]): Promise<void> {
  for (const { who, address, udp = false } of uses) {
    const reason = (await tcpProblem(address)) ?? (udp ? await udpProblem(address) : undefined);
    if (reason === undefined) continue;
    throw new LocalClusterError(
      'PORT_TAKEN',
      `Port ${address.port} on ${address.host}, needed for ${who}, ${WHY[reason] ?? `cannot be used (${reason});`} choose other ports for the whole cluster, for example with \`baton up --port-base 5100\`.`,
    );
  }
}

/** Each goes on with the way out that always helps. */
const WHY: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use by another process; stop that process, or',
  EACCES: 'cannot be used: permission denied;',
};

async function tcpProblem({ host, port }: Address): Promise<string | undefined> {
  const server = createServer();
  try {
    await once(server.listen(port, host), 'listening');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown';
  }
  server.close();
  await once(server, 'close');
  return undefined;
}

async function udpProblem({ host, port }: Address): Promise<string | undefined> {
  const socket = createSocket('udp4');
  try {
    const listening = once(socket, 'listening');
    socket.bind(port, host);
    await listening;
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown';
  } finally {
    socket.close();
  }
}
