/**
 * The last good record of an account, on disk, so that a client can start while DNS is down. A file for each account and
 * set of DNS servers; two local clusters may well have the same name.
 *
 *   baton-account 1 CHECKSUM
 *   {"name": "demo.baton.local", "servers": [], "confirmedAt": 1700000000000, "text": "v=baton1; ..."}
 *
 * A file is replaced as a whole, by renaming a new one over it. One that is damaged, newer, or about another account is as
 * good as none. Nothing here ever fails the caller: a cache that cannot be used costs one question to DNS.
 */
import { createHash } from 'node:crypto';
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { type AccountRecord, findAccountRecord, RECORD_LIMITS } from './account-record.ts';

const FORMAT = 'baton-account 1';
const LARGEST_FILE = 2 * RECORD_LIMITS.bytes + 4096;
const NAME_SHOWN = 100;

export interface KeptRecord {
  readonly record: AccountRecord;
  readonly text: string;
  /** When DNS last said so, by the wall clock. */
  readonly confirmedAt: number;
}

export interface RecordCacheOptions {
  readonly directory: string;
  /** The whole DNS name, in lower case. */
  readonly name: string;
  readonly account: string;
  readonly servers: readonly string[];
  /** Makes names of temporary files that nobody else uses. */
  readonly uniqueId: () => string;
}

export function defaultCacheDirectory(env: NodeJS.ProcessEnv = process.env): string {
  const xdg = env['XDG_CACHE_HOME'];
  const base = xdg !== undefined && isAbsolute(xdg) ? xdg : join(homedir(), '.cache');
  return join(base, 'baton');
}

export class RecordCache {
  readonly path: string;
  readonly #options: RecordCacheOptions;
  /** Writes go one after the other, or an older record could replace a newer one. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: RecordCacheOptions) {
    const { directory, name, servers } = options;
    const hash = createHash('sha256')
      .update([name, ...servers].join('\n'))
      .digest('hex')
      .slice(0, 16);
    this.#options = options;
    this.path = join(directory, `${name.slice(0, NAME_SHOWN)}-${hash}.record`);
  }

  async load(): Promise<KeptRecord | undefined> {
    try {
      const about = await stat(this.path);
      if (!about.isFile() || about.size > LARGEST_FILE) return undefined;
      return this.#read(await readFile(this.path, 'utf8'));
    } catch {
      return undefined;
    }
  }

  /** Whether the record is on disk now. */
  save(kept: Pick<KeptRecord, 'text' | 'confirmedAt'>): Promise<boolean> {
    const saved = this.#last.then(() => this.#write(kept));
    this.#last = saved;
    return saved;
  }

  #read(content: string): KeptRecord | undefined {
    const end = content.indexOf('\n');
    const body = content.slice(end + 1);
    if (end < 0 || content.slice(0, end) !== `${FORMAT} ${checksum(body)}`) return undefined;
    const { name, servers, confirmedAt, text } = JSON.parse(body) as Record<string, unknown>;
    if (name !== this.#options.name || !isDeepList(servers, this.#options.servers)) return undefined;
    if (typeof text !== 'string' || typeof confirmedAt !== 'number') return undefined;
    const found = findAccountRecord([[text]], this.#options.account);
    return found?.kind === 'record' ? { record: found.record, text, confirmedAt } : undefined;
  }

  async #write({ text, confirmedAt }: Pick<KeptRecord, 'text' | 'confirmedAt'>): Promise<boolean> {
    const { directory, name, servers, uniqueId } = this.#options;
    const body = `${JSON.stringify({ name, servers, confirmedAt, text })}\n`;
    const temporary = `${this.path}.${uniqueId()}.tmp`;
    try {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      const file = await open(temporary, 'wx', 0o600);
      try {
        await file.writeFile(`${FORMAT} ${checksum(body)}\n${body}`);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(temporary, this.path);
      return true;
    } catch {
      await rm(temporary, { force: true }).catch(() => {});
      return false;
    }
  }
}

function checksum(body: string): string {
  return crc32(body).toString(16).padStart(8, '0');
}

function isDeepList(value: unknown, expected: readonly string[]): boolean {
  return JSON.stringify(value) === JSON.stringify(expected);
}
