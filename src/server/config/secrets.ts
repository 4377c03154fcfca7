/**
 * Tokens, and where they come from. What holds a token never shows it: not as text, not as JSON, not in a debugger's
 * printout. `reveal` is the one way to it, so that every place that has a token in the clear can be found by that name.
 */
import { inspect } from 'node:util';
import { ConfigError, type Position, type Problem } from './problems.ts';
import { TOKEN_NAMES, type TokenName } from './schema.ts';
import { REDACTED, wrongToken } from './values.ts';

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

/** How the file names a token. `at` is where it does. */
export type TokenSource = { readonly at: Position } & (
  | { readonly kind: 'text'; readonly secret: Secret }
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'env'; readonly env: string }
);

export type TokenSources = Readonly<Partial<Record<TokenName, TokenSource>>>;
export type Tokens = Readonly<Partial<Record<TokenName, Secret>>>;

export interface SecretPlaces {
  /** The file's text; throws when it cannot be read. */
  readonly readFile: (path: string) => string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export function resolveSecrets(
  { path, tokens }: { readonly path: string; readonly tokens: TokenSources },
  places: SecretPlaces,
): Tokens {
  const resolved: Partial<Record<TokenName, Secret>> = {};
  const problems: Problem[] = [];
  for (const name of TOKEN_NAMES) {
    const source = tokens[name];
    if (source === undefined) continue;
    const found = lookUp(source, places);
    if (found instanceof Secret) resolved[name] = found;
    else problems.push({ ...source.at, field: `tokens.${name}`, sentence: found });
  }
  if (problems.length > 0) throw new ConfigError('CONFIG_SECRET', path, problems);
  return resolved;
}

function lookUp(source: TokenSource, { readFile, env }: SecretPlaces): Secret | string {
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
  const token = text.trim();
  return wrongToken(token) ?? new Secret(token);
}
