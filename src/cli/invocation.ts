/**
 * In which form the reader can type a `baton` command. Texts name commands as `baton up`; what is printed for people has them as
 * they work where this process was started: from a global installation, through npx, or from a file.
 */
import { basename, delimiter, dirname, relative, sep } from 'node:path';

export interface Invocation {
  /** The file that Node was started with, as it was named: a link is not followed. */
  readonly script: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

/** `baton`, `npx baton` or `node PATH`. */
export function programName({ script, env, cwd }: Invocation = ownInvocation()): string {
  if (script === undefined) return 'baton';
  // npx, and scripts of package.json, put this folder on the PATH of what they run; the reader's shell has it not.
  if (dirname(script).endsWith(`node_modules${sep}.bin`)) return 'npx baton';
  if (basename(script) === 'baton')
    return (env['PATH'] ?? '').split(delimiter).includes(dirname(script)) ? 'baton' : shellPath(script, cwd);
  // npm runs the file itself in a clone (`npm start`), and where links are not made (npx on Windows).
  if (env['npm_command'] !== undefined) return 'npx baton';
  return `node ${shellPath(script, cwd)}`;
}

/** A command in backticks, after a colon or a parenthesis, or at the start of an indented line. */
const COMMAND = /(?<=[`(]|: |^ +(?:\$ )?)baton (?=[a-z-])/gm;

/** Texts for people, with the commands in them as they can be typed. */
export function asTyped(text: string, invocation?: Invocation): string {
  return text.replaceAll(COMMAND, `${programName(invocation)} `);
}

function ownInvocation(): Invocation {
  return { script: process.argv[1], env: process.env, cwd: process.cwd() };
}

function shellPath(path: string, cwd: string): string {
  const inside = relative(cwd, path);
  const shown = inside.startsWith('..') ? path : inside;
  return /^[\w./@:\\-]+$/.test(shown) ? shown : `'${shown}'`;
}
