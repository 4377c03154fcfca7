/** An etcd cluster of one member, which elects itself quickly. */
import { newDirectory } from '../../caspaxos/directories.ts';
import { findProgram } from '../../support/programs.ts';
import { freePort, ServerProcess } from './server.ts';

/** A second port, for TLS with this certificate. */
export interface EtcdTls {
  readonly port: number;
  readonly cert: string;
  readonly key: string;
}

/** On the port given, or on a free one. Each is a cluster of its own. `more` are further flags. */
export async function startEtcd(
  tls?: EtcdTls,
  at?: number,
  more: readonly string[] = [],
): Promise<ServerProcess> {
  const program = findProgram('etcd');
  if (program.path === undefined) throw new Error(`etcd: ${program.why}; to get it: ${program.how}`);
  const port = at ?? (await freePort());
  const peer = `http://127.0.0.1:${await freePort()}`;
  const plain = `http://127.0.0.1:${port}`;
  const clients = tls === undefined ? plain : `${plain},https://127.0.0.1:${tls.port}`;
  const directory = newDirectory();
  const data = `${directory}/data`;
  return ServerProcess.begin({
    kind: 'etcd',
    command: program.path,
    args: Object.entries({
      name: 'default',
      'data-dir': data,
      logger: 'zap',
      'log-level': 'error',
      'listen-client-urls': clients,
      'advertise-client-urls': plain,
      'listen-peer-urls': peer,
      'initial-advertise-peer-urls': peer,
      'initial-cluster': `default=${peer}`,
      'heartbeat-interval': '20',
      'election-timeout': '100',
      ...(tls && { 'cert-file': tls.cert, 'key-file': tls.key }),
    })
      .flatMap(([name, value]) => [`--${name}`, value])
      .concat(more),
    env: program.env,
    port,
    data,
    directory,
    ask: () => answers(port),
    urlOf: (place) => `etcd://127.0.0.1:${port}?prefix=${encodeURIComponent(`${place}/`)}`,
  });
}

/** It has a leader, and so answers; one that wants to know who asks answers, too. */
async function answers(port: number): Promise<void> {
  await askEtcd(port, '/v3/kv/range', { key: 'AA==' }).catch((error: Error) => {
    if (!error.message.includes('user name is empty')) throw error;
  });
}

/** A request as an administrator's. */
export async function askEtcd(port: number, path: string, body: object, token = ''): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: token === '' ? {} : { authorization: token },
    signal: AbortSignal.timeout(30_000),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return JSON.parse(text);
}
