import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { CLI, run, runCli } from './run-cli.ts';

describe('baton', () => {
  test('--help names every command', async () => {
    const { code, stdout } = await runCli('--help');
    expect(code).toBe(0);
    expect(stdout).toMatch(/\bacceptor\b/);
    expect(stdout).toMatch(/\bdemo\b/);
  });

  test.each(['acceptor', 'demo'])('%s --help shows an example', async (command) => {
    const { code, stdout } = await runCli(command, '--help');
    expect(code).toBe(0);
    expect(stdout).toMatch(/Examples?:\n {2}.*\b(?:acceptor|demo) /);
  });

  test('an unknown command is one line and a way out', async () => {
    const { code, stderr } = await runCli('fly');
    expect(code).toBe(2);
    expect(stderr).toContain("unknown command 'fly'");
    expect(stderr).toMatch(/See `.+ --help`\. \[USAGE\]\n$/);
  });

  test.each([
    ['node', '--name', 'west-1'],
    ['chaos', 'dance'],
    ['certs', 'init'],
    ['sim', 'duel', '--colour'],
    ['list', '--colour'],
  ])('%s %s ends as a wrong command line does', async (...args) => {
    const { code, stderr } = await runCli(...args);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^baton: .* See `.* --help`\. \[USAGE\]\n$/);
  });

  test.each([
    [
      ['acceptor', '--data', 'x', '--listen', 'nowhere'],
      '--listen must have the form HOST:PORT, not "nowhere".',
    ],
    [['acceptor', '--data', 'x', '--listen', 'h:99999'], '--listen must have the form HOST:PORT'],
    [
      ['acceptor', '--data', 'x', '--max-request-bytes', '-1'],
      '--max-request-bytes must be a positive whole number',
    ],
    [['acceptor', '--data', 'x', '--token-file', '/nonexistent'], '--token-file'],
    [
      ['acceptor', '--data', 'x', '--tls-cert', '/nonexistent'],
      '--tls-cert and --tls-key must be given together.',
    ],
    [['acceptor', '--data', 'x', '--listen', '0.0.0.0:0'], '[LISTEN_REFUSED]'],
    [
      ['acceptor', '--data', 'x', '--log-level', 'loud'],
      '--log-level must be one of trace, debug, info, warn, error or silent, not "loud".',
    ],
    [['demo', '--seconds', 'soon'], '--seconds must be a positive whole number, not "soon".'],
  ] as const)('%j is refused in one line, before anything is made', async (args, message) => {
    const directory = mkdtempSync(join(tmpdir(), 'baton-cli-'));
    const inDirectory = args.map((argument) => (argument === 'x' ? join(directory, 'data') : argument));
    const { code, stderr, stdout } = await runCli(...inDirectory);
    expect(code).toBe(message === '[LISTEN_REFUSED]' ? 1 : 2);
    expect(stdout).toBe('');
    expect(stderr).toContain(message);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(readdirSync(directory)).toEqual([]);
    rmSync(directory, { recursive: true });
  });
});

describe('baton demo', () => {
  test('proves that nothing was lost or applied twice, and leaves nothing behind', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'baton-cli-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const args = [CLI, 'demo', '--json', '--seconds', '3', '--registers', '50'];
    const { code, stdout } = await run(process.execPath, args, undefined, { TMPDIR: directory });
    const result = JSON.parse(stdout) as Record<string, number>;
    expect(result).toMatchObject({ registers: 50, lost: 0, twice: 0, holds: true });
    expect(result['acknowledged']).toBe(result['found']);
    expect(result['acknowledged']).toBeGreaterThan(0);
    expect(code).toBe(0);
    expect(readdirSync(directory)).toEqual([]);
  });

  test('tells its story to people', async () => {
    const { code, stdout } = await runCli('demo', '--seconds', '3', '--acceptors', '3', '--proposers', '2');
    expect(code).toBe(0);
    expect(stdout).toMatch(/kill -9 \d+: acceptor 2 is gone/);
    expect(stdout).toContain('acceptor 2 is back');
    expect(stdout).toMatch(/\d+ changes\/s +\d+ conflicts\/s +p50 [\d.]+ ms +p99 [\d.]+ ms/);
    expect(stdout).toContain('Nothing was lost, nothing was applied twice.');
  });
});
