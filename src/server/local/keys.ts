/** The keys of HTTP clients of a local cluster: made once, in files that only their owner reads. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ClusterConfig } from '../config/cluster-config.ts';
import { KEY_NAMES } from '../config/schema.ts';
import type { KeySources } from '../config/secrets.ts';
import { writeWhole } from './directory.ts';

const KEY_BYTES = 48;

function keyFile(directory: string, name: string): string {
  return join(directory, 'keys', name);
}

export function keySources(directory: string): KeySources {
  const at = { line: 1, column: 1 };
  return Object.fromEntries(
    KEY_NAMES.map((name) => [name, { at, kind: 'file', file: keyFile(directory, name) } as const]),
  );
}

/** Those that people put elsewhere are theirs. */
export async function makeKeys(directory: string, { keys }: ClusterConfig): Promise<void> {
  for (const name of KEY_NAMES) {
    const [file, source] = [keyFile(directory, name), keys[name]];
    if (source?.kind !== 'file' || source.file !== file || existsSync(file)) continue;
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeWhole(file, `${randomBytes(KEY_BYTES).toString('base64')}\n`);
  }
}
