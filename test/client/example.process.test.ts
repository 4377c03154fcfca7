/** The program in docs/client.md, as it stands there, against three regions and a DNS server. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BatonClient, BatonError, type ConnectOptions } from 'baton/client';
import { DnsServer } from 'baton/server';
import { expect, onTestFinished, test } from 'vitest';
import { RegionCluster, REGIONS } from './region-cluster.ts';

const GUIDE = fileURLToPath(new URL('../../docs/client.md', import.meta.url));

async function serveDns(cluster: RegionCluster): Promise<DnsServer> {
  const record = {
    account: 'demo',
    serial: 1,
    regions: REGIONS.map((region) => ({ region, addresses: [cluster.address(region)] })),
    extensions: ['cluster=shop'],
  };
  const records = () => new Map([['demo', record]]);
  return DnsServer.listen({ host: '127.0.0.1', port: 0, zone: 'baton.local', records });
}

/** The first program of the guide as a function of what it imports and where it prints. */
function program(): (
  read: () => string,
  client: Pick<typeof BatonClient, 'connect'>,
  error: typeof BatonError,
  console: { log: (line: string) => void },
) => Promise<void> {
  const [, text] = /```js\n(.*?)```/s.exec(readFileSync(GUIDE, 'utf8'))!;
  const [files, head, ...body] = text!.split('\n');
  expect(files).toBe("import { readFileSync } from 'node:fs';");
  expect(head).toBe("import { BatonClient, BatonError } from 'baton/client';");
  // oxlint-disable-next-line typescript/no-implied-eval, no-new-func
  return new Function(
    'readFileSync',
    'BatonClient',
    'BatonError',
    'console',
    `return (async () => {${body.join('\n')}})()`,
  ) as ReturnType<typeof program>;
}

test('it runs and prints what it should', async () => {
  const cluster = await RegionCluster.start();
  onTestFinished(() => cluster.end());
  const dns = await serveDns(cluster);
  onTestFinished(() => dns.close());
  const cacheDirectory = mkdtempSync(join(tmpdir(), 'baton-example-'));
  onTestFinished(() => rmSync(cacheDirectory, { recursive: true }));
  const servers = [`127.0.0.1:${dns.address.port}`];
  const connect = (options: ConnectOptions): Promise<BatonClient> => {
    expect(options).toEqual({ account: 'demo.baton.local', servers: ['127.0.0.1:4153'], token: 'secret' });
    return BatonClient.connect({ ...options, servers, cacheDirectory, timeoutMs: 120_000 });
  };
  const lines: string[] = [];
  const readToken = (): string => 'secret\n';
  await program()(readToken, { connect }, BatonError, { log: (line) => lines.push(line) });
  expect(lines).toEqual([
    'lamp costs 40',
    'PRECONDITION_FAILED, not applied',
    'lamp costs 30',
    'written lamp',
    'written lamp',
    'written lamp',
    'written lamp',
    'deleted lamp',
    expect.stringMatching(/^created in (?:west|east|north), attempt \d+$/),
  ]);
});
