/**
 * The tokens of a local cluster, one for each door: of nodes among themselves, of clients, of acceptors, of those who may look
 * and of those who may act. A port on loopback is open to everybody on the machine, so none goes without. They are made once, in
 * files that only their owner reads, as the processes and the commands do that act for the owner.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClusterConfig } from '../config/cluster-config.ts';
import { TOKEN_NAMES, type TokenName } from '../config/schema.ts';
import { resolveSecrets } from '../config/secrets.ts';
import { writeWhole } from './directory.ts';

const TOKEN_BYTES = 24;

function tokenFile(directory: string, name: string): string {
  return join(directory, `${name}.token`);
}

/** Names those that people did not put elsewhere. */
export function withTokens(config: ClusterConfig, directory: string): ClusterConfig {
  const at = { line: 1, column: 1 };
  const made = TOKEN_NAMES.map(
    (name) => [name, { at, kind: 'file', file: tokenFile(directory, name) }] as const,
  );
  return { ...config, tokens: { ...Object.fromEntries(made), ...config.tokens } };
}

export async function makeTokens(directory: string, { tokens }: ClusterConfig): Promise<void> {
  for (const name of TOKEN_NAMES) {
    const [file, source] = [tokenFile(directory, name), tokens[name]];
    if (source?.kind !== 'file' || source.file !== file || existsSync(file)) continue;
    await writeWhole(file, `${randomBytes(TOKEN_BYTES).toString('base64url')}\n`);
  }
}

/** Throws a ConfigError if it cannot be read. */
export function readToken({ path, tokens }: ClusterConfig, name: TokenName): string {
  const places = { readFile: (file: string) => readFileSync(file, 'utf8'), env: process.env };
  return resolveSecrets({ path, tokens: { [name]: tokens[name]! } }, places)[name]!.reveal();
}
