/**
 * Whether a database file is whole. LMDB maps the file into memory and believes what it says of its own length: reading a page behind
 * the end of a file that was cut short ends the process with SIGBUS, without a line. So the end is compared before LMDB opens it. And
 * what LMDB itself refuses in the two pages at the beginning ends the process with SIGSEGV in its binding: so they are looked at, too.
 *
 * A file may be shorter than its last page number says, if the pages at the end are free. Only then the trees are walked, and every
 * page that one of them names must be there. The layout is that of LMDB's data version 2 on machines of 64 bits.
 *
 *   page:  number u64 | transaction u64 | pad u16 | flags u16 | lower u16 | upper u16 | offsets of nodes u16 ...
 *   meta:  a page's header | magic u32 | version u32 | address u64 | map size u64 | free tree | main tree | last page u64 | transaction u64
 *   tree:  page size u32 | flags u16 | depth u16 | four counts u64 | root u64
 *   node:  low u16 | high u16 | flags u16 | key bytes u16 | key | data
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';

const MAGIC = 0xbeefc0de;
const VERSION = 2;
const HEADER = 24;
const META_BYTES = 144;
const TREE_BYTES = 48;
const NODE_BYTES = 8;
const LOWEST_PAGE_SIZE = 256;
const LARGEST_PAGE_SIZE = 64 * 1024;
/** More than an address space has. */
const LARGEST_MAP = 2n ** 47n;
const BRANCH = 0x01;
const LEAF = 0x02;
const META = 0x08;
/** Of a node: its data is on pages of its own; its data is a tree. */
const ON_PAGES = 0x01;
const IS_TREE = 0x02;
const NO_ROOT = 2n ** 64n - 1n;

interface Meta {
  readonly pageSize: number;
  readonly roots: readonly bigint[];
  readonly lastPage: bigint;
  readonly transaction: bigint;
}

/** A sentence without its full stop that says what is missing in `data.mdb` of the directory; undefined when nothing is, or no such file. */
export function missingInDatabase(directory: string): string | undefined {
  const path = join(directory, 'data.mdb');
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return missingIn(new DatabaseFile(fd), path);
  } finally {
    closeSync(fd);
  }
}

function missingIn(file: DatabaseFile, path: string): string | undefined {
  // LMDB makes a database of an empty file.
  if (file.size === 0) return undefined;
  const meta = newestMeta(file);
  if (meta === undefined)
    return `The file ${path} is no database, or its first pages are damaged: it has ${file.size} bytes`;
  const { pageSize, lastPage } = meta;
  // Asked for after the meta pages were read: another process may be writing to the file.
  const { size } = file;
  const pages = BigInt(Math.floor(size / pageSize));
  if (pages > lastPage || isWhole(file, meta, pages)) return undefined;
  const named = (lastPage + 1n) * BigInt(pageSize);
  return `The file ${path} was cut short: it has ${size} of ${named} bytes`;
}

/** The one that LMDB would take. It takes none unless both can be read. */
function newestMeta(file: DatabaseFile): Meta | undefined {
  const first = metaAt(file, 0);
  const second = first && metaAt(file, first.pageSize);
  if (first === undefined || second === undefined) return undefined;
  return second.transaction > first.transaction ? second : first;
}

function metaAt(file: DatabaseFile, at: number): Meta | undefined {
  const page = file.read(at, HEADER + META_BYTES);
  if (page === undefined) return undefined;
  const meta = page.subarray(HEADER);
  if ((page.readUInt16LE(18) & META) === 0) return undefined;
  if (meta.readUInt32LE(0) !== MAGIC || (meta.readUInt32LE(4) & 0xffff) !== VERSION) return undefined;
  if (meta.readBigUInt64LE(16) > LARGEST_MAP) return undefined;
  const [free, main] = [meta.subarray(24), meta.subarray(24 + TREE_BYTES)];
  const pageSize = free.readUInt32LE(0);
  if (pageSize < LOWEST_PAGE_SIZE || pageSize > LARGEST_PAGE_SIZE) return undefined;
  const roots = [rootOf(free), rootOf(main)];
  return { pageSize, roots, lastPage: meta.readBigUInt64LE(120), transaction: meta.readBigUInt64LE(128) };
}

function rootOf(tree: Buffer): bigint {
  return tree.readBigUInt64LE(40);
}

/** Whether every page that a tree names is before the end. */
function isWhole(file: DatabaseFile, { pageSize, roots }: Meta, pages: bigint): boolean {
  const waiting = roots.filter((root) => root !== NO_ROOT);
  // A damaged file may name a page again and again.
  for (let left = pages; waiting.length > 0; left -= 1n) {
    const number = waiting.pop()!;
    if (number >= pages || left < 0n) return false;
    const page = file.read(Number(number) * pageSize, pageSize);
    if (page === undefined) return false;
    for (const { first, count, isInner } of namedOn(page)) {
      if (first + count > pages) return false;
      if (isInner) waiting.push(first);
    }
  }
  return true;
}

interface Named {
  readonly first: bigint;
  readonly count: bigint;
  /** A page of a tree, which names others. */
  readonly isInner: boolean;
}

function* namedOn(page: Buffer): Generator<Named> {
  const flags = page.readUInt16LE(18);
  if ((flags & (BRANCH | LEAF)) === 0) return;
  const nodes = Math.min(page.readUInt16LE(20) >> 1, (page.length - HEADER) >> 1);
  for (let node = 0; node < nodes; node += 1) {
    const at = HEADER + page.readUInt16LE(HEADER + 2 * node);
    if (at + NODE_BYTES > page.length) return;
    const low = BigInt(page.readUInt32LE(at));
    const nodeFlags = page.readUInt16LE(at + 4);
    if ((flags & BRANCH) !== 0) {
      yield { first: low | (BigInt(nodeFlags) << 32n), count: 1n, isInner: true };
      continue;
    }
    const data = page.subarray(at + NODE_BYTES + page.readUInt16LE(at + 6));
    if ((nodeFlags & IS_TREE) !== 0 && data.length >= TREE_BYTES) {
      const root = rootOf(data);
      if (root !== NO_ROOT) yield { first: root, count: 1n, isInner: true };
    } else if ((nodeFlags & ON_PAGES) !== 0 && data.length >= 24) {
      yield { first: data.readBigUInt64LE(0), count: data.readBigUInt64LE(16), isInner: false };
    }
  }
}

class DatabaseFile {
  readonly #fd: number;

  constructor(fd: number) {
    this.#fd = fd;
  }

  get size(): number {
    return fstatSync(this.#fd).size;
  }

  /** Undefined: it ends before. */
  read(at: number, bytes: number): Buffer | undefined {
    const content = Buffer.allocUnsafe(bytes);
    for (let done = 0; done < bytes;) {
      const read = readSync(this.#fd, content, done, bytes - done, at + done);
      if (read === 0) return undefined;
      done += read;
    }
    return content;
  }
}
