/**
 * A port for a server that is named before it runs, or that comes back where it was. Ports that the system gives out
 * (`listen(0)`, and every outgoing connection) are of no use for that: between two lives of the server somebody else's
 * connection may get the same one. So these lie below the range it gives out from, each process and each of its threads has its
 * own few, and none is given twice.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { threadId } from 'node:worker_threads';

const FIRST = 12_000;
const EACH = 32;
const PROCESSES = 640;

/** Neighbouring processes are far apart: whoever lays a whole cluster out from one port reaches beyond its own few. */
const first = FIRST + (((process.pid + threadId * 97) * 251) % PROCESSES) * EACH;
let given = 0;

export async function freePort(): Promise<number> {
  while (given < EACH * PROCESSES) {
    const port = FIRST + ((first - FIRST + given++) % (EACH * PROCESSES));
    if (await isFree(port)) return port;
  }
  throw new Error(`no port between ${FIRST} and ${FIRST + EACH * PROCESSES} is free`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
