/** A Redis server that syncs before it answers. Its append-only file is all it has: a snapshot copies that. */
import { createConnection } from 'node:net';
import { newDirectory } from '../../caspaxos/directories.ts';
import { findProgram } from '../../support/programs.ts';
import { freePort, ServerProcess } from './server.ts';

/** `more` are settings in words, as `--tls-port 7000`; the last of a name counts. `credentials` are for the URLs. */
export async function startRedis(more: readonly string[] = [], credentials = ''): Promise<ServerProcess> {
  const program = findProgram('redis-server');
  if (program.path === undefined) throw new Error(`redis-server: ${program.why}; to get it: ${program.how}`);
  const port = await freePort();
  const directory = newDirectory();
  const data = `${directory}/data`;
  const settings = ['--port', String(port), '--bind', '127.0.0.1', '--dir', data];
  const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''];
  return ServerProcess.begin({
    kind: 'redis',
    command: program.path,
    args: [...settings, ...durable, ...more.flatMap((setting) => setting.split(' '))],
    env: program.env,
    port,
    data,
    directory,
    ask: () => ping(port),
    urlOf: (place) =>
      `redis://${credentials === '' ? '' : `${credentials}@`}127.0.0.1:${port}?prefix=${encodeURIComponent(place)}`,
  });
}

/** A server that is still loading answers, too, but not with this; one that wants to know who asks says so. */
function ping(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host: '127.0.0.1', port });
    const end = (error?: Error): void => {
      socket.destroy();
      if (error === undefined) resolve();
      else reject(error);
    };
    socket.setTimeout(1000, () => end(new Error('no answer')));
    socket.on('error', end);
    socket.on('close', () => end(new Error('closed')));
    socket.on('data', (answer) =>
      end(/^(?:\+PONG|-NOAUTH)/.test(answer.toString()) ? undefined : new Error(answer.toString())),
    );
    socket.write('PING\r\n');
  });
}
