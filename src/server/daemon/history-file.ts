/**
 * Lines in a file that does not grow without end: when it is full it becomes the old one, in the place of the one before.
 * Nothing is synced: a machine that crashes may lose the last lines, and a half-written one is passed over.
 */
import { readFileSync } from 'node:fs';
import { appendFile, rename } from 'node:fs/promises';

export type Warn = (sentence: string) => void;

export class HistoryFile {
  readonly #path: string;
  readonly #oldPath: string;
  readonly #what: string;
  readonly #warn: Warn;
  /** What is not being written yet. */
  #batch: string[] | undefined;
  #work: Promise<void> = Promise.resolve();
  #isTorn = false;

  /** `what` it is, for the sentence that says that it cannot be read or written. */
  constructor(path: string, what: string, warn: Warn) {
    this.#path = path;
    this.#what = what;
    this.#oldPath = `${path}.old`;
    this.#warn = warn;
  }

  /** Once, before anything is added. */
  read(): { readonly older: readonly string[]; readonly newer: readonly string[] } {
    const newer = this.#textOf(this.#path);
    this.#isTorn = newer !== '' && !newer.endsWith('\n');
    return { older: linesIn(this.#textOf(this.#oldPath)), newer: linesIn(newer) };
  }

  /** What is added in one turn is written together. */
  add(line: string): void {
    if (this.#batch !== undefined) return void this.#batch.push(line);
    const batch = [line];
    this.#batch = batch;
    this.#enqueue(() => this.#write(batch));
  }

  turnOver(): void {
    this.#batch = undefined;
    this.#enqueue(() => rename(this.#path, this.#oldPath));
  }

  /** Resolves when everything that was added is in the file, or cannot be. */
  async written(): Promise<void> {
    await this.#work;
  }

  async #write(lines: readonly string[]): Promise<void> {
    if (this.#batch === lines) this.#batch = undefined;
    const start = this.#isTorn ? '\n' : '';
    this.#isTorn = false;
    await appendFile(this.#path, `${start}${lines.join('\n')}\n`);
  }

  #enqueue(work: () => Promise<void>): void {
    this.#work = this.#work.then(work).catch((error: unknown) => this.#complain('written', error));
  }

  #textOf(path: string): string {
    try {
      return readFileSync(path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.#complain('read', error);
      return '';
    }
  }

  #complain(what: 'read' | 'written', error: unknown): void {
    const { code, message } = error as NodeJS.ErrnoException;
    this.#warn(`The ${this.#what} in ${this.#path} cannot be ${what}: ${code ?? message}.`);
  }
}

function linesIn(text: string): readonly string[] {
  return text.split('\n').filter((line) => line !== '');
}
