/** What becomes of a journal's file on a disk that loses things, a block or a byte at a time. */
import { cpSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const BLOCK = 4096;

export interface JournalDamage {
  readonly name: string;
  readonly apply: (directory: string) => void;
}

/** Cut short at the beginning of every block, and in the middle of one. */
export function cuts(file: string, size: number): readonly JournalDamage[] {
  const lengths = [...Array.from({ length: size / BLOCK }, (_, block) => block * BLOCK), BLOCK + 100];
  return lengths.map((bytes) => ({
    name: `${file} cut to ${bytes} bytes`,
    apply: (directory) => truncateSync(join(directory, file), bytes),
  }));
}

/** Cut at every block up to that byte, and filled up with zeros to the size that it had. */
export function refills(file: string, usedBytes: number): readonly JournalDamage[] {
  return Array.from({ length: Math.ceil(usedBytes / BLOCK) }, (_, block) => ({
    name: `${file} full of zeros from block ${block}`,
    apply: (directory) => edited(join(directory, file), (content) => content.fill(0, block * BLOCK)),
  }));
}

/** A byte of it is another one. */
export function flips(file: string, places: readonly number[]): readonly JournalDamage[] {
  return places.map((at) => ({
    name: `${file} with another byte at ${at}`,
    apply: (directory) =>
      edited(join(directory, file), (content) => {
        content[at] = content[at]! ^ 0x10;
      }),
  }));
}

/** That of an earlier moment, of which there are copies. */
export function olderOnes(file: string, directories: readonly string[]): readonly JournalDamage[] {
  return directories.map((from, index) => ({
    name: `${file} of moment ${index}`,
    apply: (directory) => cpSync(join(from, file), join(directory, file)),
  }));
}

function edited(path: string, edit: (content: Buffer) => void): void {
  const content = readFileSync(path);
  edit(content);
  writeFileSync(path, content);
}
