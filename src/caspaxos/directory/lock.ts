/**
 * One process at a time has a data directory, whatever it is numbered, and in whichever namespaces it runs: it holds a listening Unix socket there,
 * and the kernel closes that when the process ends, however it ends. A process number proves nothing: in containers everybody is 1.
 *
 * Whoever wants the directory first makes a socket of its own appear in it, already listening, under a name that is never used again; then it tries
 * all the others that stand there. One that refuses will never answer again, and is taken away; one that answers is somebody who has the
 * directory or wants it too. So of two that try each other at least one finds the other, and never both have it. If both find each other,
 * the lesser name stays and looks again.
 *
 * Whoever has it takes away the sockets of those that were killed before they had appeared. One of them may only be about to listen: it
 * finds its socket gone when it gives it its name, and begins anew.
 */
import { randomBytes } from 'node:crypto';
import { closeSync, constants, openSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { asCasPaxosError, CasPaxosError } from '../errors.ts';

const NAME = /^owner-(\d+)-[0-9a-f]{16}\.sock$/;
/** Of a process that was about to appear. */
const UNNAMED = /^new-owner-\d+-[0-9a-f]{16}\.sock$/;
/** The kernel takes no more for the path of a socket, and Node would cut it off. */
const MOST_PATH_BYTES = 100;
const LOOKS = 10;
const LOOK_AGAIN_MS = 20;
const MOST_BEGINNINGS = 10;

export interface DirectoryLock {
  release(): void;
}

/** Throws DATA_LOCKED when another process has the directory, or this one has it already. */
export async function lockDirectory(directory: string): Promise<DirectoryLock> {
  const own = await appear(directory);
  try {
    for (let look = 1; ; look += 1) {
      const others = await othersIn(own);
      if (others.length === 0) {
        await takeAwayUnnamed(own);
        return own;
      }
      if (look < LOOKS && others.every((name) => own.name < name)) {
        await pause(LOOK_AGAIN_MS);
        continue;
      }
      const [, pid] = NAME.exec(others[0]!)!;
      throw new CasPaxosError(
        'DATA_LOCKED',
        `The data directory ${directory} is in use by process ${pid}; stop that process, or use another directory.`,
      );
    }
  } catch (error) {
    own.release();
    throw asCasPaxosError(error, 'STORE_FAILED', `The data directory ${directory} cannot be locked`);
  }
}

interface Own extends DirectoryLock {
  readonly name: string;
  readonly directory: string;
  /** Of a file in the directory, for the kernel. */
  pathOf(this: void, name: string): string;
}

/** It listens before it has the name by which others look for it: what refuses under such a name is gone for good. */
async function appear(directory: string, beginning = 1): Promise<Own> {
  const name = `owner-${process.pid}-${randomBytes(8).toString('hex')}.sock`;
  const fd = opened(directory);
  const pathOf = (of: string): string => socketPath(directory, fd, of);
  let server: Server | undefined;
  let isReleased = false;
  const release = (): void => {
    if (isReleased) return;
    isReleased = true;
    rmSync(join(directory, name), { force: true });
    server?.close();
    closeSync(fd);
  };
  try {
    server = await listen(pathOf(`new-${name}`));
    renameSync(join(directory, `new-${name}`), join(directory, name));
    return { name, directory, pathOf, release };
  } catch (error) {
    release();
    const { code, syscall } = error as NodeJS.ErrnoException;
    const wasTakenAway = code === 'ENOENT' && syscall === 'rename';
    if (wasTakenAway && beginning < MOST_BEGINNINGS) return await appear(directory, beginning + 1);
    const why = `The data directory ${directory} cannot be locked; it has to lie where Unix sockets can be made`;
    throw asCasPaxosError(error, 'STORE_FAILED', why);
  }
}

function opened(directory: string): number {
  try {
    return openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
  } catch (error) {
    throw asCasPaxosError(error, 'STORE_FAILED', `The data directory ${directory} cannot be opened`);
  }
}

/** Those that answer. */
async function othersIn({ name, directory, pathOf }: Own): Promise<readonly string[]> {
  const others: string[] = [];
  for (const other of readdirSync(directory)) {
    if (other === name || !NAME.test(other)) continue;
    if (await answers(pathOf(other), join(directory, other))) others.push(other);
    else rmSync(join(directory, other), { force: true });
  }
  return others;
}

/** Nothing depends on it: what cannot be tried, or taken away, stays. */
async function takeAwayUnnamed({ directory, pathOf }: Own): Promise<void> {
  for (const name of readdirSync(directory)) {
    if (!UNNAMED.test(name)) continue;
    const isAlive = await answers(pathOf(name), join(directory, name)).catch(() => true);
    if (!isAlive) rmSync(join(directory, name), { force: true });
  }
}

function listen(path: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', reject);
    // Of this process alone, also where a cluster of processes shares its ports.
    server.listen({ path, exclusive: true }, () => resolve(server));
    server.unref();
  });
}

/** A process that is stopped or busy answers too: the kernel does it for it. */
function answers(path: string, file: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(false);
      else if (error.code === 'EAGAIN' || error.code === 'ECONNRESET') resolve(true);
      else if (error.code === 'EACCES') reject(ofSomebodyElse(file));
      else reject(error);
    });
  });
}

function ofSomebodyElse(file: string): CasPaxosError {
  return new CasPaxosError(
    'STORE_FAILED',
    `The lock ${file} is another user's, who may have the directory open: see that no such process runs, and remove it.`,
  );
}

function socketPath(directory: string, fd: number, name: string): string {
  const path = join(directory, name);
  if (Buffer.byteLength(path) <= MOST_PATH_BYTES) return path;
  if (process.platform === 'linux') return `/proc/self/fd/${fd}/${name}`;
  throw new CasPaxosError(
    'STORE_FAILED',
    `The path of the data directory ${directory} is too long: shorten it.`,
  );
}
