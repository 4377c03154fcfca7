import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { issueCertificate, makeAuthority } from '../server/index.ts';
import { certsCommand } from './certs.ts';
import { UsageError } from './errors.ts';

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'baton-certs-cli-'));
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

/** What the command prints. */
async function certs(...args: readonly string[]): Promise<string> {
  let printed = '';
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += String(text);
    return true;
  });
  try {
    await certsCommand().parseAsync(args, { from: 'user' });
  } finally {
    spy.mockRestore();
  }
  return printed;
}

test('makes an authority and a certificate, and shows both', async () => {
  const made = await certs('init', '--out', directory, '--days', '100');
  expect(made).toContain(`Wrote ${join(directory, 'ca.pem')} and ${join(directory, 'ca.key')}.`);
  expect(made).toMatch(/subject +CN=Baton authority [0-9a-f]{8} \(authority\)/);
  expect(made).toContain(` certs issue NAME --host HOST --out ${directory}`);
  const issued = await certs(
    'issue',
    'west-1',
    '--host',
    'west.example',
    '127.0.0.1',
    '--out',
    directory,
    '--days',
    '40',
  );
  expect(issued).toMatch(/names +west-1, west\.example, 127\.0\.0\.1\n/);
  const shown = await certs('show', join(directory, 'west-1.pem'));
  expect(shown).toMatch(/subject +CN=west-1\n +issuer +CN=Baton authority/);
  expect(shown).toMatch(/expires +\d{4}-\d\d-\d\dT[\d:.]+Z \((39|40) days left\)/);
  for (const text of [made, issued, shown]) expect(text).not.toContain('PRIVATE');
});

test('prints JSON', async () => {
  const authority = JSON.parse(await certs('init', '--out', directory, '--json')) as Record<string, unknown>;
  expect(authority).toMatchObject({
    cert: join(directory, 'ca.pem'),
    key: join(directory, 'ca.key'),
    authority: true,
  });
  const issued = JSON.parse(await certs('issue', 'a', '--out', directory, '--json')) as Record<
    string,
    unknown
  >;
  expect(issued).toMatchObject({ ca: authority['cert'], names: ['a'], issuer: authority['subject'] });
  const shown = JSON.parse(await certs('show', join(directory, 'a.pem'), '--json')) as {
    certificates: unknown[];
  };
  expect(shown.certificates).toEqual([expect.objectContaining({ subject: 'CN=a', authority: false })]);
});

test('shows what has expired, and what soon will', async () => {
  const authority = await makeAuthority();
  const day = 24 * 3_600_000;
  const issue = (now: number) =>
    issueCertificate(authority, { name: 'a', hosts: [], days: 10, now: new Date(now) });
  const file = join(directory, 'a.pem');
  writeFileSync(file, (await issue(Date.now() - 20 * day)).cert + (await issue(Date.now())).cert);
  expect(await certs('show', file)).toMatch(/\(EXPIRED\)[^]*\((9|10) days left, SOON\)/);
});

test('renews, and overwrites when forced', async () => {
  await certs('init', '--out', directory);
  const key = readFileSync(join(directory, 'ca.key'), 'utf8');
  await certs('init', '--out', directory, '--renew');
  expect(readFileSync(join(directory, 'ca.key'), 'utf8')).toBe(key);
  await certs('init', '--out', directory, '--force');
  expect(readFileSync(join(directory, 'ca.key'), 'utf8')).not.toBe(key);
});

test('refuses in one line, and makes nothing', async () => {
  const refusals: readonly (readonly [RegExp, ...string[]])[] = [
    [/--days must be a positive whole number/, 'init', '--out', directory, '--days', 'x'],
    [/--days must be at most 36500/, 'init', '--out', directory, '--days', '99999'],
    [/cannot be read: ENOENT\. \[CERTIFICATE_UNREADABLE\]$/, 'issue', 'a', '--out', directory],
    [/cannot be read: ENOENT\. \[CERTIFICATE_UNREADABLE\]$/, 'show', join(directory, 'none')],
    [
      /no certificate in PEM form in it\. \[CERTIFICATE_INVALID\]$/,
      'show',
      new URL(import.meta.url).pathname,
    ],
  ];
  for (const [message, ...args] of refusals) {
    const error: unknown = await certs(...args).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(UsageError);
    const { message: sentence, code } = error as UsageError;
    expect(`${sentence} [${code}]`).toMatch(message);
  }
  expect(readdirSync(directory)).toEqual([]);
});

test('every command has an example in its help', () => {
  for (const command of certsCommand().commands) {
    let help = '';
    command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
    expect(help).toMatch(/Example:\n {2}baton certs /);
  }
});
