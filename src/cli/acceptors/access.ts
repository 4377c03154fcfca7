/** How acceptors are reached: the flags of all commands that connect to some. */
import { readFileSync } from 'node:fs';
import type { ServiceTls } from '../../caspaxos/index.ts';
import { usage } from '../operate/errors.ts';
import type { Stage } from '../operate/stage.ts';
import type { OpenOptions } from './opening.ts';

export interface AccessFlags {
  readonly timeoutMs: string;
  readonly tokenFile?: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

export function accessFrom(stage: Stage, flags: AccessFlags): OpenOptions {
  const tls = tlsFrom(flags);
  return {
    timeoutMs: wholeNumber(flags.timeoutMs, '--timeout-ms'),
    token: tokenFrom(stage, flags),
    tls: () => tls,
  };
}

export function wholeNumber(text: string, flag: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw usage(`${flag} must be a whole number of at least 1, not "${text}".`);
  return value;
}

function tlsFrom({ ca, cert, key }: AccessFlags): ServiceTls {
  if ((cert === undefined) !== (key === undefined)) throw usage('--cert and --key must be given together.');
  return {
    ...(ca !== undefined && { ca: readText(ca, '--ca') }),
    ...(cert !== undefined && { cert: readText(cert, '--cert') }),
    ...(key !== undefined && { key: readText(key, '--key') }),
  };
}

function tokenFrom(stage: Stage, { tokenFile }: AccessFlags): string | undefined {
  const text =
    tokenFile === undefined ? stage.env['BATON_ACCEPTOR_TOKEN'] : readText(tokenFile, '--token-file');
  const token = text?.trim();
  return token === '' ? undefined : token;
}

function readText(path: string, flag: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw usage(`The file given with ${flag} cannot be read: ${path}.`);
  }
}
