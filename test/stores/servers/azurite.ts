/**
 * Azurite, the emulator of Azure Blob Storage. It writes its tables to disk every few seconds and when it is asked to end: it
 * does not claim to survive a kill, as the service does. So `kill` ends it in an orderly way, and what the tests of bad days
 * show with it is that the store keeps its promises, not that the emulator does.
 */
import { once } from 'node:events';
import { createConnection } from 'node:net';
import { newDirectory } from '../../caspaxos/directories.ts';
import { findProgram } from '../../support/programs.ts';
import { until } from '../../support/until.ts';
import { freePort, ServerProcess, type StoreServer } from './server.ts';

export const AZURITE_ACCOUNT = 'batontests';
export const AZURITE_KEY = Buffer.from('a key for tests of this machine').toString('base64');
export const AZURITE_CONTAINER = 'acceptors';

export async function startAzurite(): Promise<StoreServer> {
  const program = findProgram('azurite');
  if (program.path === undefined) throw new Error(`azurite: ${program.why}; to get it: ${program.how}`);
  const port = await freePort();
  const directory = newDirectory();
  const data = `${directory}/data`;
  const address = ['--blobHost', '127.0.0.1', '--blobPort', String(port)];
  const quiet = ['--silent', '--skipApiVersionCheck', '--disableTelemetry'];
  const server = await ServerProcess.begin({
    kind: 'azure-blob',
    command: process.execPath,
    args: [program.path, ...address, '--location', data, ...quiet],
    env: { ...program.env, AZURITE_ACCOUNTS: `${AZURITE_ACCOUNT}:${AZURITE_KEY}` },
    port,
    data,
    directory,
    ask: () => listens(port),
    urlOf: (place) => {
      const credentials = `:${encodeURIComponent(AZURITE_KEY)}`;
      const prefix = encodeURIComponent(`${place}/`);
      return `azure-blob://${credentials}@127.0.0.1:${port}/${AZURITE_ACCOUNT}/${AZURITE_CONTAINER}?prefix=${prefix}`;
    },
  });
  return {
    kind: server.kind,
    urlOf: (place) => server.urlOf(place),
    stop: () => server.stop(),
    kill: () => end(server),
    start: () => server.start(),
    pause: () => server.pause(),
    resume: () => server.resume(),
    heal: () => server.heal(),
    empty: () => server.empty(),
    snapshot: () => server.snapshot(),
    close: () => server.close(),
  };
}

async function end(server: ServerProcess): Promise<void> {
  const { pid } = server;
  if (pid === undefined) return;
  process.kill(pid, 'SIGTERM');
  await until('the server has ended', () => !isRunning(pid));
  await server.kill();
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function listens(port: number): Promise<void> {
  const socket = createConnection({ host: '127.0.0.1', port });
  try {
    await once(socket, 'connect');
  } finally {
    socket.destroy();
  }
}
