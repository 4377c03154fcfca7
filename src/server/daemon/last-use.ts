/**
 * Where a node's directory was used last. The lock of a directory (`caspaxos/directory/lock.ts`) is one kernel's: it cannot see a process of
 * another machine on the same disk or on a copy of it, nor one from before the machine was switched off. So a directory that was last used
 * under another boot, or on another machine, is strange: whoever opens it waits until an earlier process can have no rights
 * any more (`failover/core/agent/predecessor.ts`). Only when all of its partition-sets have waited is the directory this boot's.
 *
 * A machine that was cloned while it ran is not told from the one that it was cloned from.
 */
import { readFileSync } from 'node:fs';
import { hostname, uptime } from 'node:os';
import { join } from 'node:path';
import { writeSafely } from './catalog-memory.ts';

const FILE = 'last-use.json';
const MINUTE_MS = 60_000;

export class LastUse {
  readonly #path: string;
  readonly #here: string;
  readonly #wasElsewhere: boolean;
  #isStrange: boolean;

  /** The caller holds the directory's lock. */
  constructor(directory: string, here = thisBoot()) {
    this.#path = join(directory, FILE);
    this.#here = here;
    const last = readBoot(this.#path);
    this.#isStrange = last !== here;
    this.#wasElsewhere = last !== undefined && last !== here;
  }

  /** Also of one that nobody has used: the register knows whether there was an earlier process. */
  get isStrange(): boolean {
    return this.#isStrange;
  }

  /** It was noted under another boot, or on another machine. */
  get wasElsewhere(): boolean {
    return this.#wasElsewhere;
  }

  /** No process of another boot has rights any more. Throws when it cannot be noted. */
  settle(): void {
    if (!this.#isStrange) return;
    writeSafely(this.#path, JSON.stringify({ boot: this.#here }));
    this.#isStrange = false;
  }
}

/** What cannot be read is another one. */
function readBoot(path: string): unknown {
  try {
    return (JSON.parse(readFileSync(path, 'utf8')) as { readonly boot?: unknown }).boot;
  } catch {
    return undefined;
  }
}

/** Linux draws a number at every boot. Elsewhere it is the machine's name and the minute in which it was switched on. */
export function thisBoot(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return `${hostname()} ${Math.round((Date.now() - uptime() * 1000) / MINUTE_MS)}`;
  }
}
