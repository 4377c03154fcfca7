/** From the bytes of a cluster file to a configuration, or to one error with everything that is wrong with it. */
import { open } from 'node:fs/promises';
import { checkDraft } from './checks.ts';
import { buildConfig, type ClusterConfig } from './cluster-config.ts';
import { Draft } from './draft.ts';
import { ConfigError, type ConfigErrorCode, printable, type Problem } from './problems.ts';
import { CLUSTER_FILE } from './schema.ts';
import { translate } from './translate.ts';
import { MAX_FILE_BYTES, readYaml } from './yaml.ts';

export interface ParseOptions {
  /** For messages, and for what the file names relative to itself. */
  readonly path: string;
}

export function parseClusterFile(contents: string | Uint8Array, { path }: ParseOptions): ClusterConfig {
  const yaml = readYaml(textOf(contents, path));
  if (yaml.broken) throw new ConfigError('CONFIG_INVALID', path, yaml.problems);
  const parsed = CLUSTER_FILE.safeParse(yaml.value);
  const wrong = parsed.success ? [] : translate(parsed.error.issues, yaml);
  const draft = new Draft(yaml);
  checkDraft(draft);
  const problems = [...yaml.problems, ...wrong, ...beyond(draft.problems, wrong)];
  if (!parsed.success || problems.length > 0) throw new ConfigError('CONFIG_INVALID', path, problems);
  const { warnings } = draft;
  return buildConfig(parsed.data, { path, warnings, positionOf: yaml.positionOf });
}

export async function readClusterFile(path: string): Promise<ClusterConfig> {
  return parseClusterFile(await readBytes(path), { path });
}

/** A field whose form is wrong already has its sentence. */
function beyond(found: readonly Problem[], known: readonly Problem[]): Problem[] {
  const fields = new Set(known.map(({ field }) => field));
  return found.filter(({ field }) => !fields.has(field));
}

/** Reads no more than a good file can have: also from what never ends. */
async function readBytes(path: string): Promise<Uint8Array> {
  try {
    const file = await open(path, 'r');
    try {
      const bytes = new Uint8Array(MAX_FILE_BYTES + 1);
      let length = 0;
      while (length < bytes.length) {
        const { bytesRead } = await file.read(bytes, length, bytes.length - length);
        if (bytesRead === 0) break;
        length += bytesRead;
      }
      return bytes.subarray(0, length);
    } finally {
      await file.close();
    }
  } catch (error) {
    throw wholeFile(
      'CONFIG_UNREADABLE',
      path,
      `The cluster file ${printable(path)} cannot be read: ${reasonOf(error)}.`,
    );
  }
}

function textOf(contents: string | Uint8Array, path: string): string {
  const length = typeof contents === 'string' ? Buffer.byteLength(contents) : contents.length;
  if (length > MAX_FILE_BYTES) throw wholeFile('CONFIG_INVALID', path, 'The file is larger than 1 MiB.');
  if (typeof contents === 'string') return contents;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(contents);
  } catch {
    throw wholeFile('CONFIG_INVALID', path, 'The file is not UTF-8 text.');
  }
}

function wholeFile(code: ConfigErrorCode, path: string, sentence: string): ConfigError {
  return new ConfigError(code, path, [{ line: 1, column: 1, field: '', sentence }]);
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is none',
  EACCES: 'permission denied; run the command as a user who may read it',
  EISDIR: 'it is a directory',
};

function reasonOf(error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
  return REASONS[code] ?? code;
}
