/** What a Redis server says when it refuses, as an error of ours. The first word of an answer is its kind. */
import { CasPaxosError, type ErrorCode } from '../errors.ts';
import { COMMANDS, EARLIER, INCOMPLETE } from './redis-scripts.ts';

const KINDS: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  NOAUTH: ['UNAUTHORIZED', 'wants a password: put it into the URL or into REDIS_PASSWORD'],
  WRONGPASS: ['UNAUTHORIZED', 'refused the user name or the password'],
  LOADING: ['UNREACHABLE', 'is still loading its data'],
  READONLY: ['STORE_FAILED', 'has become a replica, which answers from the past: use the URL of its master'],
  MOVED: [
    'STORE_FAILED',
    'leaves its prefix to another server of its cluster: use the URL of that master, or a server of its own',
  ],
  OOM: ['STORE_FAILED', 'has no memory left for writes: raise maxmemory'],
  [INCOMPLETE]: [
    'STORE_FAILED',
    'has keys of an earlier version of Baton (texts, versions, keys) that are not whole, or stand beside newer documents: replace it',
  ],
  [EARLIER]: [
    'UNREACHABLE',
    'holds documents of an earlier version of Baton, which are moved on the next connection',
  ],
};

/** For answers to the library's own commands, which hold nothing secret. */
export function refusal(url: string, answer: string): CasPaxosError {
  const kind = KINDS[kindOf(answer)];
  if (kind !== undefined) return new CasPaxosError(kind[0], `Acceptor ${url} ${kind[1]}.`);
  if (/\bNOPERM\b|ACL failure|The user executing the script/.test(answer)) {
    const what = /\bkeys?\b/.test(answer)
      ? "the keys of the URL's prefix: allow ~{PREFIX}:*"
      : `all that it needs: allow ${COMMANDS}`;
    return new CasPaxosError('UNAUTHORIZED', `Acceptor ${url} does not allow this user ${what}.`);
  }
  return new CasPaxosError('STORE_FAILED', `Acceptor ${url} refused: ${answer}`);
}

/** For answers to the greeting, which may quote what it was sent: only their kind is told. */
export function refusalOfGreeting(url: string, answer: string, database: number): CasPaxosError {
  const kind = KINDS[kindOf(answer)];
  if (kind !== undefined) return new CasPaxosError(kind[0], `Acceptor ${url} ${kind[1]}.`);
  if (kindOf(answer) === 'NOPERM')
    return new CasPaxosError('UNAUTHORIZED', `Acceptor ${url} does not allow this user the command SELECT.`);
  if (/\bAUTH\b/i.test(answer))
    return new CasPaxosError(
      'UNAUTHORIZED',
      `Acceptor ${url} takes no password, but was given one: leave it out of the URL and of REDIS_PASSWORD.`,
    );
  return new CasPaxosError('STORE_FAILED', `Acceptor ${url} has no database ${database}.`);
}

/** Servers before version 7 put the place in the script before what a command said in it. */
export function kindOf(answer: string): string {
  return answer.replace(/^ERR Error running script .*@user_script: ?\d+: -?/s, '').split(' ', 1)[0]!;
}
