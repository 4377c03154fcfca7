/** DynamoDB, as dynalite does it: the same API over a LevelDB of its own. It takes any credentials. */
import { join } from 'node:path';
import { newDirectory } from '../../caspaxos/directories.ts';
import { findProgram } from '../../support/programs.ts';
import { freePort, ServerProcess } from './server.ts';

export async function startDynalite(options: readonly string[] = []): Promise<ServerProcess> {
  const program = findProgram('dynalite');
  if (program.path === undefined) throw new Error(`dynalite: ${program.why}`);
  const directory = newDirectory();
  const data = join(directory, 'data');
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const listening = ['--host', '127.0.0.1', '--port', String(port)];
  return ServerProcess.begin({
    kind: 'dynamodb',
    command: process.execPath,
    args: [program.path, ...listening, '--path', data, '--createTableMs', '0', ...options],
    env: program.env,
    port,
    data,
    directory,
    ask: async () => {
      await fetch(endpoint, { signal: AbortSignal.timeout(1000) });
    },
    urlOf: (place) =>
      `dynamodb://keyid:secret@eu-central-1/baton?endpoint=${encodeURIComponent(endpoint)}&prefix=${encodeURIComponent(place)}`,
  });
}
