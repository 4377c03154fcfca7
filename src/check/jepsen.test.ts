import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { casRegister, checkLinearizability, explainLinearizability, parseJepsenLog } from 'baton/check';

/** Recorded histories and their verdicts: reference data that the repository does not have. */
const folder = fileURLToPath(new URL('../../../shared/data/jepsen-etcd', import.meta.url));

if (existsSync(folder))
  test('the 52 histories of etcd get the verdicts that porcupine gave them', () => {
    const expected = JSON.parse(readFileSync(`${folder}/verdicts.json`, 'utf8')) as Record<string, boolean>;
    const verdicts = Object.keys(expected).map((name): [string, string] => {
      const history = parseJepsenLog(readFileSync(`${folder}/${name}`, 'utf8'));
      return [name, checkLinearizability(casRegister<number>(), history).verdict];
    });
    expect(verdicts).toHaveLength(52);
    expect(verdicts).toEqual(
      Object.entries(expected).map(([name, good]) => [name, good ? 'linearizable' : 'not linearizable']),
    );
  });

const log = (...lines: string[]) => lines.map((line) => `INFO  jepsen.util - ${line}\n`).join('');

describe('the parser', () => {
  test('reads every form of line that the histories have', () => {
    const text = log(
      '0\t:invoke\t:read\tnil',
      '1   :invoke :write  3',
      '0\t:ok\t:read\tnil',
      '2\t:invoke\t:cas\t[3 4]',
      '1   :ok     :write  3',
      '2\t:ok\t:cas\t[3 4]',
      '2\t:invoke\t:cas\t[0 1]',
      '2\t:fail\t:cas\t[0 1]',
      '3\t:invoke\t:read\tnil',
      '3\t:ok\t:read\t4',
    );
    const model = casRegister<number>();
    const lines = parseJepsenLog(text).map(
      ({ process, start, end, input, output }) =>
        `${process} ${start}-${end} ${model.describe!(input, output)}`,
    );
    expect(lines).toEqual([
      '0 1-3 read -> null',
      '1 2-5 write 3 -> done',
      '2 4-6 cas 3 to 4 -> done',
      '2 7-8 cas 0 to 1 -> refused',
      '3 9-10 read -> 4',
    ]);
  });

  test('leaves open what ended in :info or not at all, and drops what did nothing', () => {
    const text = log(
      '0 :invoke :write 1',
      '0 :info :write :timed-out',
      '1 :invoke :cas [1 2]',
      '2 :invoke :read nil',
      '2 :fail :read :timed-out',
      '2 :invoke :read nil',
      '3 :invoke :read nil',
      '3 :info :read :timed-out',
      '4 :invoke :write 7',
      '4 :fail :write :refused',
    );
    const history = parseJepsenLog(`INFO  jepsen.core - starting\n${text}\n`);
    expect(history).toEqual([
      { process: 0, start: 2, input: { kind: 'write', value: 1 } },
      { process: 1, start: 4, input: { kind: 'cas', from: 1, to: 2 } },
    ]);
  });

  test('passes over the nemesis', () => {
    expect(parseJepsenLog(log(':nemesis :info :start nil', ':nemesis :info :stop nil'))).toEqual([]);
  });

  test.each([
    [
      'a second call of a busy process',
      ['0 :invoke :read nil', '0 :invoke :read nil'],
      'line 2: the process has an',
    ],
    ['an answer without a call', ['0 :ok :read 1'], 'line 1: the process has no such'],
    [
      'an answer to another call',
      ['0 :invoke :read nil', '0 :ok :write 1'],
      'line 2: the process has no such',
    ],
    ['an operation of something else', ['0 :invoke :enqueue 1'], 'line 1: not an operation'],
    ['a read of no number', ['0 :invoke :read nil', '0 :ok :read :x'], 'line 2: not an answer'],
  ])('refuses %s', (_, lines, message) => {
    expect(() => parseJepsenLog(log(...lines))).toThrow(message);
    expect(() => parseJepsenLog(log(...lines))).toThrow(
      expect.objectContaining({ code: 'JEPSEN_LOG_MALFORMED' }),
    );
  });

  test('a bad log is explained', () => {
    const text = log(
      '0 :invoke :write 1',
      '0 :ok :write 1',
      '1 :invoke :write 2',
      '2 :invoke :cas [1 3]',
      '2 :ok :cas [1 3]',
      '0 :invoke :read nil',
      '0 :ok :read 1',
    );
    const verdict = checkLinearizability(casRegister<number>(), parseJepsenLog(text));
    expect(explainLinearizability(verdict, casRegister<number>())).toMatchInlineSnapshot(`
      "not linearizable: the only key
      after this order, the one that explains the longest time,
        write 1 -> done (process 0, from 1 to 2)
        cas 1 to 3 -> done (process 2, from 4 to 5)
      the state is 3, and nothing that may come next by its time explains
        read -> 1 (process 0, from 6 to 7)"
    `);
  });
});
