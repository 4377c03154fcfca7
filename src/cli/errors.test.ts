import { Command } from 'commander';
import { afterEach, expect, test, vi } from 'vitest';
import { endingInUsage, reportError, UsageError } from './errors.ts';

afterEach(() => {
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

function reported(error: unknown): { readonly text: string; readonly code: unknown } {
  const written: string[] = [];
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  reportError(error);
  return { text: written.join(''), code: process.exitCode };
}

class OfARoomError extends Error {
  override readonly name = 'OfARoomError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

test.each([
  [new UsageError('That is no flag.'), 'baton: That is no flag. [USAGE]\n', 2],
  [new OfARoomError('PORT_TAKEN', 'It is taken.'), 'baton: It is taken. [PORT_TAKEN]\n', 1],
  [new OfARoomError('DISK_FULL', 'There is no room.'), 'baton: There is no room. [DISK_FULL]\n', 1],
  [
    new OfARoomError('CONFIG_INVALID', 'a.yaml:1 x\na.yaml:2 y'),
    'a.yaml:1 x\na.yaml:2 y\nbaton: 2 problems [CONFIG_INVALID]\n',
    2,
  ],
])('%s is said in a line, and its exit code says whose matter it is', (error, text, code) => {
  expect(reported(error)).toEqual({ text, code });
});

test.each([
  ['EACCES', 'baton: Permission denied: /data/x.', 'PERMISSION_DENIED'],
  ['ENOSPC', 'baton: The disk is full: /data/x cannot be written.', 'DISK_FULL'],
])('%s of the system is said in a line with the way out', (code, sentence, expected) => {
  const { text, code: exit } = reported(
    Object.assign(new Error('x'), { code, syscall: 'open', path: '/data/x' }),
  );
  expect(text).toContain(sentence);
  expect(text).toMatch(new RegExp(`\\. \\[${expected}\\]\\n$`));
  expect(exit).toBe(1);
});

test('a defect is thrown with all it has', () => {
  for (const error of [new TypeError('x'), Object.assign(new Error('x'), { code: 'EIO', syscall: 'read' })])
    expect(() => reportError(error)).toThrow(error);
});

test('the help shows defaults as they are typed, and none that says nothing', () => {
  const program = endingInUsage(
    new Command('baton')
      .option('--format <name>', 'the format', 'pretty')
      .option('--host <names...>', 'the hosts', [])
      .option('--json', 'JSON', false),
  );
  const lines = program
    .helpInformation()
    .split('\n')
    .filter((line) => line.includes('--'));
  expect(lines.map((line) => line.trim().split(/ {2,}/)[1])).toEqual([
    'the format (default: pretty)',
    'the hosts',
    'JSON',
    'display help for command',
  ]);
});

test.each([
  [['--colour'], 2],
  [['inner', '--colour'], 2],
  [['inner', 'dance'], 2],
  [['dance'], 2],
  [['inner', '--help'], 0],
])('a command line of %j ends with %d', async (args, code) => {
  const inner = new Command('inner').action(() => {}).allowExcessArguments(false);
  const program = endingInUsage(new Command('baton').addCommand(inner));
  for (const stream of [process.stdout, process.stderr]) vi.spyOn(stream, 'write').mockReturnValue(true);
  vi.spyOn(process, 'exit').mockImplementation((exit) => {
    throw new Error(`exit ${exit}`);
  });
  await expect(program.parseAsync(args, { from: 'user' })).rejects.toThrow(`exit ${code}`);
});
