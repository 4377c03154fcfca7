/** Each trap of tla-checker that `tla.ts` promises to turn into an error. */
import { describe, expect, it } from 'vitest';
import { canonicalValue } from './tla-syntax.ts';
import { check, checkAndCollect, configurationFrom, moduleFrom } from './tla.ts';

const counter = (more = ''): string => `---- MODULE counter ----
EXTENDS Naturals
CONSTANT Max
VARIABLES count, seen

Init == count = 0 /\\ seen = {}
Next == count < Max /\\ count' = count + 1 /\\ seen' = seen \\cup {[at |-> count, pair |-> <<count, TRUE>>]}
Small == count <= 3
Known == count >= 0
${more}
====
`;

const configured = (text: string): string => `INIT Init\nNEXT Next\n${text}\n`;
const module = moduleFrom(counter());
const run = (text: string) => check(module, configurationFrom(module, 'test', configured(text)));
const refusing = (work: () => unknown): unknown => {
  try {
    work();
  } catch (error) {
    return (error as { code: string }).code;
  }
  return 'nothing was refused';
};

describe('the runner of tla-checker', () => {
  it('passes with the number of states, and names the invariant that fails', () => {
    expect(run('CONSTANT Max = 3\nINVARIANTS Known Small')).toEqual({ outcome: 'pass', states: 4 });
    expect(run('CONSTANT Max = 9\nINVARIANTS Known Small')).toMatchObject({
      outcome: 'violated',
      invariant: 'Small',
      trace: { length: 5 },
    });
  });

  it('refuses a configuration that checks nothing', () => {
    expect(refusing(() => run('CONSTANT Max = 3'))).toBe('no-invariant');
    expect(refusing(() => run('CONSTANT Max = 3\nINVARIANT Unheard'))).toBe('ConfigError');
  });

  it('refuses what the checker ignores or gets wrong', () => {
    for (const directive of ['SYMMETRY Perms', 'PROPERTY Live', 'VIEW View', 'CONSTRAINT Small']) {
      expect(refusing(() => run(`CONSTANT Max = 3\nINVARIANT Small\n${directive}`))).toBe('directive');
    }
  });

  it('refuses constants that are missing, unknown, given twice or misspelt', () => {
    expect(refusing(() => run('INVARIANT Small'))).toBe('constant');
    expect(refusing(() => run('CONSTANTS\n  Max = 3\n  Min = 0\nINVARIANT Small'))).toBe('constant');
    expect(refusing(() => run('CONSTANTS\n  Max = 3\n  Max = 4\nINVARIANT Small'))).toBe('constant');
    expect(refusing(() => run('CONSTANTS\n  Max = TREU\nINVARIANT Small'))).toBe('model-value');
  });

  it('takes a limit for a failure', () => {
    const configuration = configurationFrom(module, 'test', configured('CONSTANT Max = 50\nINVARIANT Known'));
    expect(refusing(() => check(module, configuration, 10))).toBe('MaxStatesExceeded');
  });

  it('refuses a definition that the parser drops', () => {
    const unreadable =
      'Odd(S, h) ==\n  IF /\\ h > 0\n     /\\ TRUE => \\A m \\in S : m = h\n     /\\ TRUE\n  THEN 1 ELSE 2';
    expect(refusing(() => moduleFrom(counter(unreadable)))).toBe('dropped');
  });

  it('refuses a name that nobody defines, and one that is defined twice', () => {
    expect(refusing(() => moduleFrom(counter('Later == Undefined > 1')))).toBe('undefined');
    expect(refusing(() => moduleFrom(counter('Natural == count \\in Nat')))).toBe('undefined');
    expect(refusing(() => moduleFrom(counter('Small == TRUE')))).toBe('defined-twice');
  });

  it('collects every state in canonical form', () => {
    const configuration = configurationFrom(module, 'test', configured('CONSTANT Max = 2\nINVARIANT Small'));
    expect([...checkAndCollect(module, configuration).keys]).toEqual([
      '{"count":0,"seen":[]}',
      '{"count":1,"seen":[{"at":0,"pair":[0,true]}]}',
      '{"count":2,"seen":[{"at":0,"pair":[0,true]},{"at":1,"pair":[1,true]}]}',
    ]);
  });
});

describe('canonical values', () => {
  it('do not depend on the order of sets and fields', () => {
    expect(canonicalValue('{3, 1, 2}')).toBe(canonicalValue('{2, 3, 1}'));
    expect(canonicalValue('[b |-> {}, a |-> <<>>]')).toBe('{"a":[],"b":[]}');
    expect(canonicalValue('(0 :> <<1, 2>> @@ 1 :> "x")')).toBe('[[0,[1,2]],[1,"x"]]');
  });
});
