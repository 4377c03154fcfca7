/**
 * Histories of a compare-and-set register as Jepsen logs them: text in, history out. The clock is the number of the
 * line. A line is a process, what happened, the operation and its argument:
 *
 *     INFO  jepsen.util - 3   :invoke :cas    [1 4]
 *
 * An operation ends in `:ok`, in `:fail`, in `:info` (nobody knows) or not at all. A compare-and-set that fails with
 * its two values was answered: it had found another value. Any other failure (of a read that timed out, say) means that
 * the operation did nothing, so it is left out; so is a read that ended in `:info`. Lines that are not about an
 * operation of a numbered process, such as those of the nemesis, are passed over.
 */
import type { Operation } from './history.ts';
import type { RegisterInput, RegisterOutput } from './models.ts';

export type JepsenOperation = Operation<RegisterInput<number>, RegisterOutput<number>>;

/** A line about an operation that does not make sense where it stands. */
export class JepsenLogError extends Error {
  override readonly name = 'JepsenLogError';
  readonly code = 'JEPSEN_LOG_MALFORMED';

  constructor(line: number, text: string, problem: string) {
    super(`line ${line}: ${problem}: ${text.trim()}`);
  }
}

const LINE = /jepsen\.util\s+-\s+(\d+)\s+:(invoke|ok|fail|info)\s+:(\w+)\s+(.*?)\s*$/;

/** Ordered by the lines of the calls. */
export function parseJepsenLog(text: string): JepsenOperation[] {
  const open = new Map<number, JepsenOperation>();
  const finished: JepsenOperation[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    const match = LINE.exec(line);
    if (match === null) continue;
    const [, processText, event, name, argument] = match as unknown as [
      string,
      string,
      string,
      string,
      string,
    ];
    const process = Number(processText);
    const at = index + 1;
    const called = open.get(process);
    if (event === 'invoke') {
      if (called !== undefined) throw new JepsenLogError(at, line, 'the process has an operation open');
      const input = parseInput(name, argument);
      if (input === undefined) throw new JepsenLogError(at, line, 'not an operation of a register');
      open.set(process, { process, start: at, input });
      continue;
    }
    if (called?.input.kind !== name)
      throw new JepsenLogError(at, line, 'the process has no such operation open');
    open.delete(process);
    const ended = end(called, event, argument, at);
    if (ended === 'malformed') throw new JepsenLogError(at, line, 'not an answer to the operation');
    if (ended !== 'did nothing') finished.push(ended);
  }
  for (const operation of open.values()) if (operation.input.kind !== 'read') finished.push(operation);
  return finished.sort((a, b) => a.start - b.start);
}

function parseInput(name: string, argument: string): RegisterInput<number> | undefined {
  if (name === 'read') return { kind: 'read' };
  if (name === 'write' && /^-?\d+$/.test(argument)) return { kind: 'write', value: Number(argument) };
  const pair = /^\[(-?\d+) (-?\d+)\]$/.exec(argument);
  return name === 'cas' && pair !== null
    ? { kind: 'cas', from: Number(pair[1]), to: Number(pair[2]) }
    : undefined;
}

function end(
  called: JepsenOperation,
  event: string,
  argument: string,
  at: number,
): JepsenOperation | 'did nothing' | 'malformed' {
  const { kind } = called.input;
  if (event === 'info') return kind === 'read' ? 'did nothing' : called;
  if (event === 'fail') {
    const refused = kind === 'cas' && argument.startsWith('[');
    return refused ? { ...called, end: at, output: { kind: 'refused' } } : 'did nothing';
  }
  if (kind !== 'read') return { ...called, end: at, output: { kind: 'done' } };
  if (!/^(nil|-?\d+)$/.test(argument)) return 'malformed';
  const value = argument === 'nil' ? null : Number(argument);
  return { ...called, end: at, output: { kind: 'value', value } };
}
