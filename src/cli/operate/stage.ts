/** What a command stands on: where it prints, whom it can ask, whose clock it reads. Tests put another one under it. */
import { randomBytes } from 'node:crypto';
import { hostname, userInfo } from 'node:os';
import { createInterface } from 'node:readline/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Invocation } from '../invocation.ts';
import { OperateError } from './errors.ts';

/** Nodes take no longer one. */
const LONGEST_NAME = 64;

export interface Stage {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** How this process was started, if that is not to be looked up. */
  readonly invocation?: Invocation;
  /** Whether people watch what is printed. */
  readonly isTerminal: boolean;
  /** Whom intents come from. */
  readonly who: string;
  out(text: string): void;
  err(text: string): void;
  /** Absent when nobody is there to answer. */
  readonly ask?: (question: string) => Promise<string>;
  now(): number;
  /** Ends early, with `false`, when somebody interrupts. */
  sleep(ms: number): Promise<boolean>;
  /** Of a wish: when it was made, and what no other has. */
  newId(): string;
  end(exitCode: number): void;
}

export function processStage(): Stage {
  const { stdin, stdout, stderr, env } = process;
  const canAsk = stdin.isTTY && stderr.isTTY;
  return {
    env,
    cwd: process.cwd(),
    isTerminal: stdout.isTTY,
    who: `${userName()}@${hostname()}`.slice(0, LONGEST_NAME),
    out: (text) => {
      if (stdout.listenerCount('error', onBrokenPipe) === 0) stdout.on('error', onBrokenPipe);
      stdout.write(text);
    },
    err: (text) => void stderr.write(text),
    ...(canAsk && { ask: askOnTerminal }),
    now: () => Date.now(),
    sleep: interruptibleSleep,
    newId: () => `${Date.now().toString(36)}-${randomBytes(6).toString('hex')}`,
    end: (code) => (process.exitCode = code),
  };
}

/** `baton list | head`: nobody reads the rest. */
function onBrokenPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'operator';
  }
}

async function askOnTerminal(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await terminal.question(question);
  } finally {
    terminal.close();
  }
}

async function interruptibleSleep(ms: number): Promise<boolean> {
  const interrupt = new AbortController();
  const onInterrupt = (): void => interrupt.abort();
  process.once('SIGINT', onInterrupt);
  try {
    await delay(ms, undefined, { signal: interrupt.signal });
    return true;
  } catch {
    return false;
  } finally {
    process.off('SIGINT', onInterrupt);
  }
}

/** When a wish of these commands was made, by its id. */
export function timeOfId(id: string): number | undefined {
  const stamp = /-(?<time>[0-9a-z]{8,9})-[0-9a-f]{12}$/.exec(id)?.groups?.['time'];
  return stamp === undefined ? undefined : Number.parseInt(stamp, 36);
}

/** Says what will happen, and goes on only when somebody wants it. */
export async function confirm(stage: Stage, what: string, force: boolean): Promise<void> {
  if (force) return;
  if (stage.ask === undefined) {
    stage.err(`${what}\n`);
    throw new OperateError(
      'ANSWER_NEEDED',
      'The command needs a confirmation and there is no terminal to ask on; --force skips the question, --dry-run shows what would happen.',
    );
  }
  const answer = await stage.ask(`${what}\nContinue? [y/N] `);
  if (!/^y(?:es)?$/i.test(answer.trim())) {
    throw new OperateError('NOT_CONFIRMED', 'Nothing was done.');
  }
}
