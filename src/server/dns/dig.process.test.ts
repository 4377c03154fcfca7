/** The answers of the DNS server, read by a resolver that is not ours: one that fits a datagram, one that needs TCP, one that is none. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import type { AccountRecord } from '../../client/index.ts';
import { needProgram } from '../../../test/support/programs.ts';
import { DnsServer } from './dns-server.ts';

function account(name: string, nodes: number): [string, AccountRecord] {
  const addresses = Array.from({ length: nodes }, (_, index) => `127.0.0.1:${4000 + index}`);
  return [
    name,
    { account: name, serial: 5, consistency: 'Session', regions: [{ region: 'west', addresses }] },
  ];
}

it('dig understands every answer', async (context) => {
  const { path, env } = needProgram(context, 'dig');
  const records = new Map([account('demo', 2), account('big', 200)]);
  const server = await DnsServer.listen({
    host: '127.0.0.1',
    port: 0,
    zone: 'baton.local',
    records: () => records,
  });
  onTestFinished(() => server.close());
  const { host, port } = server.address;
  const dig = async (...args: string[]): Promise<string> => {
    const all = [`@${host}`, '-p', String(port), '+timeout=5', '+norecurse', ...args];
    return (await promisify(execFile)(path, all, { env: { ...process.env, ...env } })).stdout;
  };
  expect(await dig('+short', 'TXT', 'demo.baton.local')).toContain('v=baton1; account=demo');
  expect(await dig('+short', 'TXT', 'big.baton.local')).toContain('v=baton1; account=big');
  const whole = await dig('TXT', 'nobody.baton.local');
  expect(whole).toMatch(/status: NXDOMAIN/);
  // That .local belongs to multicast DNS is for resolvers that are not told whom to ask.
  expect(whole).not.toMatch(/WARNING: (?!\.local)|malformed/i);
});
