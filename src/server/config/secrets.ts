/**
 * Tokens and keys, and where they come from. What holds one never shows it: not as text, not as JSON, not in a debugger's
 * printout. `reveal` is the one way to it, so that every place that has a token in the clear can be found by that name.
 */
import { inspect } from 'node:util';
import { ConfigError, type Position, type Problem } from './problems.ts';
import { KEY_NAMES, type KeyName, TOKEN_NAMES, type TokenName } from './schema.ts';
import { REDACTED, wrongKey, wrongToken } from './values.ts';

export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  equals(other: Secret | undefined): boolean {
    return other !== undefined && other.#text === this.#text;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}

/** How the file names a token or a key. `at` is where it does. */
export type TokenSource = { readonly at: Position } & (
  | { readonly kind: 'text'; readonly secret: Secret }
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'env'; readonly env: string }
);

export type TokenSources = Readonly<Partial<Record<TokenName, TokenSource>>>;
export type Tokens = Readonly<Partial<Record<TokenName, Secret>>>;
export type KeySources = Readonly<Partial<Record<KeyName, TokenSource>>>;
export type Keys = Readonly<Partial<Record<KeyName, Secret>>>;

export interface SecretPlaces {
  /** The file's text; throws when it cannot be read. */
  readonly readFile: (path: string) => string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export function resolveSecrets(
  { path, tokens }: { readonly path: string; readonly tokens: TokenSources },
  places: SecretPlaces,
): Tokens {
  return resolveAll(
    { path, field: 'tokens', names: TOKEN_NAMES, sources: tokens, wrong: wrongToken },
    places,
  );
}

/** The keys that HTTP clients sign with, base64. */
export function resolveKeys(
  { path, keys }: { readonly path: string; readonly keys: KeySources },
  places: SecretPlaces,
): Keys {
  return resolveAll({ path, field: 'keys', names: KEY_NAMES, sources: keys, wrong: wrongKey }, places);
}

interface Asked<Name extends string> {
  readonly path: string;
  readonly field: string;
  readonly names: readonly Name[];
  readonly sources: Readonly<Partial<Record<Name, TokenSource>>>;
  readonly wrong: Wrong;
}

type Wrong = (text: string) => string | undefined;

function resolveAll<Name extends string>(
  { path, field, names, sources, wrong }: Asked<Name>,
  places: SecretPlaces,
): Partial<Record<Name, Secret>> {
  const resolved: Partial<Record<Name, Secret>> = {};
  const problems: Problem[] = [];
  for (const name of names) {
    const source = sources[name];
    if (source === undefined) continue;
    const found = findSecret(source, places, wrong);
    if (found instanceof Secret) resolved[name] = found;
    else problems.push({ ...source.at, field: `${field}.${name}`, sentence: found });
  }
  if (problems.length > 0) throw new ConfigError('CONFIG_SECRET', path, problems);
  return resolved;
}

/** The secret, or a sentence that says why there is none. */
export function findSecret(
  source: TokenSource,
  { readFile, env }: SecretPlaces,
  wrong: Wrong,
): Secret | string {
  if (source.kind === 'text') return source.secret;
  let text: string | undefined;
  if (source.kind === 'env') {
    text = Object.hasOwn(env, source.env) ? env[source.env] : undefined;
    if (text === undefined) return `The environment variable ${source.env} is not set.`;
  } else {
    try {
      text = readFile(source.file);
    } catch {
      return `The file ${source.file} cannot be read.`;
    }
  }
  const secret = text.trim();
  return wrong(secret) ?? new Secret(secret);
}
