/**
 * A first port for a cluster whose ports follow from it (`baton up --port-base`). They lie where neither the system nor
 * `freePort` gives any out, in stretches that do not overlap, and all of a stretch are tried: two test files at once, or two runs of the
 * tests, do not get the same.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';

const FIRST = 5000;
const STRETCH = 500;
const STRETCHES = 14;
/** Of a small cluster: nodes, DNS, the nodes' HTTP, acceptors, gateways, their HTTP. */
const OFFSETS = [1, 2, 3, 53, 101, 102, 103, 201, 202, 203, 204, 205, 300, 301, 302, 303, 400, 401, 402, 403];

let tried = process.pid;

export async function freePortBase(): Promise<number> {
  for (let tries = 0; tries < STRETCHES; tries += 1) {
    const base = FIRST + (tried++ % STRETCHES) * STRETCH;
    const free = await Promise.all(OFFSETS.map((offset) => isFree(base + offset)));
    if (free.every(Boolean)) return base;
  }
  throw new Error(`no stretch of ports from ${FIRST} on is free`);
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
