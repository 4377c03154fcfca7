import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { encodeAccountRecord } from '../../client/index.ts';
import { following, readDnsSettings, recordsOf } from './cluster-records.ts';

const FILE = `
cluster: demo
account: { name: shop, consistency: Session }
regions:
  - name: west
    nodes: [{ name: west-1, listen: 127.0.0.1:4101, data: ./west-1 }]
  - name: east
    nodes: [{ name: east-1, listen: '[::1]:4102', data: ./east-1 }]
acceptors:
  - { name: a1, url: 'http://127.0.0.1:4001', data: ./a1 }
  - { name: a2, url: 'http://127.0.0.1:4002', data: ./a2 }
  - { name: a3, url: 'http://127.0.0.1:4003', data: ./a3 }
dns: { listen: 127.0.0.1:4053, zone: baton.local }
`;

function fileWith(text: string): string {
  const directory = mkdtempSync(join(tmpdir(), 'baton-dns-file-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, 'baton.yaml');
  writeFileSync(path, text);
  utimesSync(path, 1_700_000_000.9, 1_700_000_000.9);
  return path;
}

const RECORD = 'v=baton1; account=demo; serial=7; region=west 127.0.0.1:4101';

it('a cluster file gives the record of its account, and where to serve it', async () => {
  const { records, listen, zone } = await readDnsSettings(fileWith(FILE));
  expect([...records.values()].map(encodeAccountRecord)).toEqual([
    'v=baton1; account=shop; serial=1700000000; consistency=Session; region=west 127.0.0.1:4101; region=east [::1]:4102; cluster=demo',
  ]);
  expect([listen, zone]).toEqual([{ host: '127.0.0.1', port: 4053 }, 'baton.local']);
});

it('a file that is none is refused', async () => {
  await expect(readDnsSettings(fileWith('cluster: 7'))).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  await expect(readDnsSettings('/no/such/file')).rejects.toMatchObject({ code: 'CONFIG_UNREADABLE' });
});

it('texts give records, one for each account', () => {
  expect([...recordsOf([RECORD, RECORD.replace('demo', 'shop')]).keys()]).toEqual(['demo', 'shop']);
  const refused = expect.objectContaining({ code: 'ACCOUNT_RECORD_INVALID' }) as Error;
  for (const texts of [[RECORD, RECORD], ['demo'], ['v=baton1; account=demo'], ['v=baton2; account=demo']])
    expect(() => recordsOf(texts)).toThrow(refused);
});

it('serials go up when something changes, whatever the next ones say', () => {
  const last = recordsOf([RECORD]);
  const serialAfter = (text: string): number => following(last, recordsOf([text])).get('demo')!.serial;
  expect(serialAfter(RECORD)).toBe(7);
  expect(serialAfter(RECORD.replace('=7', '=9'))).toBe(9);
  expect(serialAfter(RECORD.replace('=7', '=3'))).toBe(7);
  expect(serialAfter(RECORD.replace('4101', '4102'))).toBe(8);
  expect(serialAfter(RECORD.replace('=7', '=3').replace('4101', '4102'))).toBe(8);
  expect(serialAfter(RECORD.replace('=7', '=9').replace('4101', '4102'))).toBe(9);
  expect([...following(last, recordsOf([RECORD.replace('demo', 'shop')])).keys()]).toEqual(['shop']);
});
