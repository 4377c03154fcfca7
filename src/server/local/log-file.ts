/**
 * The log of a process, which it writes by itself into a file: nothing of it depends on who started it. Whoever waits for the
 * process to be ready reads the file from where it ended before.
 */
import { closeSync, mkdirSync, openSync, readSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** A log this long is put aside when the process starts next. */
const LONGEST_BYTES = 16 * 1024 * 1024;
const READ_BYTES = 64 * 1024;

export interface LogLine {
  readonly msg?: string;
  readonly level?: number;
  readonly text: string;
}

export function openLog(path: string): number {
  mkdirSync(dirname(path), { recursive: true });
  if (sizeOf(path) > LONGEST_BYTES) renameSync(path, `${path}.old`);
  return openSync(path, 'a', 0o600);
}

export function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Gives the whole lines that came since it was last asked. */
export class LogReader {
  readonly #path: string;
  #at: number;
  #rest = '';

  constructor(path: string, from: number) {
    this.#path = path;
    this.#at = from;
  }

  read(): LogLine[] {
    const file = openSync(this.#path, 'r');
    try {
      const buffer = Buffer.alloc(READ_BYTES);
      for (let length = 1; length > 0;) {
        length = readSync(file, buffer, 0, buffer.length, this.#at);
        this.#at += length;
        this.#rest += buffer.toString('utf8', 0, length);
      }
    } finally {
      closeSync(file);
    }
    const lines = this.#rest.split('\n');
    this.#rest = lines.pop()!;
    return lines.map(parse);
  }
}

function parse(text: string): LogLine {
  try {
    const value = JSON.parse(text) as { msg?: string; level?: number } | null;
    return { ...(typeof value === 'object' && value !== null && value), text };
  } catch {
    return { text };
  }
}
