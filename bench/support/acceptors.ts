/** Acceptor services of ours. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from 'baton/server';
import { NODE, type Servers } from './servers.ts';

const CLI = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));

/** Each a process with a directory of its own; resolves to their URLs when all of them answer. */
export async function startAcceptors(servers: Servers, count: number): Promise<readonly string[]> {
  const directory = servers.directory();
  const log = join(directory, 'log');
  const urls: string[] = [];
  for (let number = 1; number <= count; number += 1) {
    const listen = `127.0.0.1:${await freePort()}`;
    const data = join(directory, `${number}`);
    servers.start(NODE, [CLI, 'acceptor', '--data', data, '--listen', listen, '--log-level', 'warn'], log);
    urls.push(`http://${listen}`);
  }
  await servers.until('starting the acceptors', log, async () => {
    await Promise.all(urls.map((url) => fetch(`${url}/health`)));
    return true;
  });
  return urls;
}
