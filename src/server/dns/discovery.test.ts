/** Both sides together: what a client knows of an account while the DNS server comes and goes. */
import { createSocket } from 'node:dgram';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { AccountDirectory, type AccountRecord, resolveAccount } from '../../client/index.ts';
import { freePort } from '../local/free-port.ts';
import { DnsServer } from './dns-server.ts';

function record(serial: number, nodes = 1): AccountRecord {
  const regions = ['west', 'east', 'süd'].map((region, index) => ({
    region,
    addresses: Array.from({ length: nodes }, (_, node) => `127.0.0.1:${4000 + 1000 * index + node}`),
  }));
  return { account: 'demo', serial, consistency: 'Strong', regions };
}

async function scene() {
  const cacheDirectory = mkdtempSync(join(tmpdir(), 'baton-dns-'));
  const port = await freePort();
  let served = record(1);
  let server: DnsServer | undefined;
  const stop = async (): Promise<void> => {
    await server?.close();
    server = undefined;
  };
  onTestFinished(async () => {
    await stop();
    rmSync(cacheDirectory, { recursive: true, force: true });
  });
  return {
    options: {
      name: 'demo.baton.local',
      servers: [`127.0.0.1:${port}`],
      cacheDirectory,
      timeoutMs: 2000,
      refreshMs: 50,
    },
    serve: (next: AccountRecord): void => {
      served = next;
    },
    start: async (): Promise<DnsServer> => {
      const records = () => new Map([['demo', served]]);
      server = await DnsServer.listen({ host: '127.0.0.1', port, zone: 'baton.local', records });
      return server;
    },
    stop,
  };
}

it('a client finds its account, small or large', async () => {
  const { options, serve, start } = await scene();
  const server = await start();
  expect(await resolveAccount(options)).toEqual({ record: record(1), source: 'dns', problem: undefined });
  serve(record(2, 200));
  expect(await resolveAccount(options)).toMatchObject({ record: record(2, 200), source: 'dns' });
  expect(server.counters).toMatchObject({ truncated: 1, tcp: 1 });
});

it('a dead DNS stops nobody who has ever known the account, in this process or an earlier one', async () => {
  const { options, serve, start, stop } = await scene();
  await expect(resolveAccount(options)).rejects.toMatchObject({ code: 'ACCOUNT_UNRESOLVED' });
  await start();
  const directory = AccountDirectory.open(options);
  onTestFinished(() => directory.close());
  expect(await directory.current()).toEqual(record(1));
  await directory.refresh();

  await stop();
  expect(await directory.refresh()).toMatchObject({ kind: 'kept', problem: { code: 'ACCOUNT_UNRESOLVED' } });
  expect(await directory.current()).toEqual(record(1));
  const later = AccountDirectory.open(options);
  onTestFinished(() => later.close());
  expect(await later.current()).toEqual(record(1));
  expect(later.source).toBe('disk');

  serve(record(2));
  const changes = [directory, later].map(
    (one) => new Promise<AccountRecord>((resolve) => one.onChange(resolve)),
  );
  await start();
  expect(await Promise.all(changes)).toEqual([record(2), record(2)]);
});

it('a client that waits gets its account when DNS comes', async () => {
  const { options, start } = await scene();
  const directory = AccountDirectory.open(options);
  onTestFinished(() => directory.close());
  await directory.refresh();
  const waiting = directory.current({ timeoutMs: 50_000 });
  await start();
  expect(await waiting).toEqual(record(1));
});

it('a server that does not answer is given up in time', async () => {
  const { options } = await scene();
  const silent = createSocket('udp4');
  onTestFinished(() => {
    silent.close();
  });
  const port = Number(options.servers[0]!.split(':')[1]);
  await new Promise<void>((resolve) => {
    silent.bind(port, '127.0.0.1', resolve);
  });
  await expect(resolveAccount({ ...options, timeoutMs: 100 })).rejects.toMatchObject({
    code: 'ACCOUNT_UNRESOLVED',
  });
});
