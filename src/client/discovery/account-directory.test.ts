import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { SimHost } from '../../../test/failover/sim-host.ts';
import { AccountDirectory, type DnsDiscovery } from './account-directory.ts';
import { type AccountRecord, encodeAccountRecord } from './account-record.ts';
import type { TxtAnswer } from './lookup.ts';
import { defaultCacheDirectory } from './record-cache.ts';
import { resolveAccount } from './resolve-account.ts';

const HOUR = 3_600_000;
const DOWN: TxtAnswer = { kind: 'failed', reason: 'ETIMEOUT' };

/** A DNS that says what the test wants. */
class FakeDns {
  answer: TxtAnswer = DOWN;
  asked = 0;
  readonly names = new Set<string>();
  #held: ((answer: TxtAnswer) => void)[] | undefined;

  ask(name: string): Promise<TxtAnswer> {
    this.asked += 1;
    this.names.add(name);
    if (this.#held === undefined) return Promise.resolve(this.answer);
    return new Promise((resolve) => {
      this.#held!.push(resolve);
    });
  }

  hold(): void {
    this.#held = [];
  }

  cancel(): void {
    for (const resolve of this.#held ?? []) resolve({ kind: 'failed', reason: 'ECANCELLED' });
    this.#held = undefined;
  }

  serve(...records: AccountRecord[]): void {
    this.answer = {
      kind: 'found',
      txt: [['v=spf1 -all'], ...records.map((one) => [encodeAccountRecord(one)])],
    };
  }
}

function record(serial: number, port = 4000 + serial): AccountRecord {
  return { account: 'demo', serial, regions: [{ region: 'west', addresses: [`127.0.0.1:${port}`] }] };
}

let host: SimHost;
let dns: FakeDns;
let cacheDirectory: string;

beforeEach(() => {
  host = new SimHost();
  dns = new FakeDns();
  const root = mkdtempSync(join(tmpdir(), 'baton-discovery-'));
  cacheDirectory = join(root, 'made', 'when-needed');
  return () => rmSync(root, { recursive: true, force: true });
});

function options(more: Partial<DnsDiscovery> = {}): DnsDiscovery {
  return { name: 'demo.baton.local', host, lookup: dns, cacheDirectory, ...more };
}

function open(more: Partial<DnsDiscovery> = {}): AccountDirectory {
  const directory = AccountDirectory.open(options(more));
  onTestFinished(() => directory.close());
  return directory;
}

/** An earlier process of this machine has seen that record. */
async function seenBefore(seen: AccountRecord): Promise<void> {
  dns.serve(seen);
  await resolveAccount(options());
  dns.answer = DOWN;
}

function cacheFile(): string {
  const [name, ...more] = readdirSync(cacheDirectory);
  expect(more).toEqual([]);
  return join(cacheDirectory, name!);
}

describe('the directory of an account', () => {
  it('knows what DNS says', async () => {
    dns.serve(record(3), record(4));
    const directory = open({ name: 'Demo.Baton.LOCAL.' });
    expect(directory.known).toBeUndefined();
    expect(await directory.current()).toEqual(record(4));
    expect([directory.source, [...dns.names]]).toEqual(['dns', ['demo.baton.local']]);
  });

  it('keeps it while DNS is down, says nothing, has lost the name, or talks nonsense', async () => {
    dns.serve(record(3));
    const directory = open();
    await directory.refresh();
    const failures: [TxtAnswer, string][] = [
      [DOWN, 'ACCOUNT_UNRESOLVED'],
      [{ kind: 'absent' }, 'ACCOUNT_NOT_FOUND'],
      [{ kind: 'found', txt: [['v=spf1 -all']] }, 'ACCOUNT_NOT_FOUND'],
      [{ kind: 'found', txt: [['v=baton1; account=demo']] }, 'ACCOUNT_RECORD_INVALID'],
      [{ kind: 'found', txt: [['v=baton2; account=demo']] }, 'ACCOUNT_RECORD_NEWER'],
      [
        { kind: 'found', txt: [[encodeAccountRecord({ ...record(9), account: 'shop' })]] },
        'ACCOUNT_RECORD_INVALID',
      ],
    ];
    for (const [answer, code] of failures) {
      dns.answer = answer;
      host.stall(10 * HOUR);
      expect(await directory.refresh()).toMatchObject({ kind: 'kept', problem: { code } });
      expect(directory.problem).toMatchObject({ code });
      expect(await directory.current()).toEqual(record(3));
    }
    dns.serve(record(3));
    expect(await directory.refresh()).toEqual({ kind: 'same' });
    expect(directory.problem).toBeUndefined();
  });

  it('has it from disk at once when DNS is down from the start', async () => {
    await seenBefore(record(3));
    dns.hold();
    const directory = open();
    expect(await directory.current()).toEqual(record(3));
    expect(directory.source).toBe('disk');
  });

  it('waits for DNS when there is nothing else, and asks again and again', async () => {
    const directory = open();
    const waiting = directory.current({ timeoutMs: 60_000 });
    await directory.refresh();
    for (let round = 0; round < 5; round += 1) {
      host.run(host.now() + 5000);
      await directory.refresh();
    }
    dns.serve(record(1));
    host.run(host.now() + 10_000);
    await directory.refresh();
    expect(await waiting).toEqual(record(1));
  });

  it('says why when it has waited for long enough', async () => {
    const directory = open();
    const waiting = directory.current({ timeoutMs: 1000 });
    const failed = expect(waiting).rejects.toMatchObject({ code: 'ACCOUNT_UNRESOLVED' });
    await directory.refresh();
    host.run(1000);
    await failed;
    expect(directory.problem?.message).toBe('DNS does not answer for demo.baton.local (ETIMEOUT).');
  });

  it('tells of changes, and only of changes', async () => {
    const told: number[] = [];
    dns.serve(record(1));
    const directory = open();
    const stop = directory.onChange(({ serial }) => told.push(serial));
    for (const serial of [1, 1, 2, 2, 3]) {
      dns.serve(record(serial));
      await directory.refresh();
      host.run(host.now());
    }
    expect(told).toEqual([1, 2, 3]);
    stop();
    dns.serve(record(4));
    await directory.refresh();
    host.run(host.now());
    expect(told).toEqual([1, 2, 3]);
  });

  it('asks once for all who ask at the same time', async () => {
    dns.serve(record(1));
    const directory = open();
    await Promise.all([directory.refresh(), directory.refresh(), directory.current()]);
    expect(dns.asked).toBe(1);
  });

  it('asks again after its interval, and sooner after a failure, ever later up to the interval', async () => {
    dns.serve(record(1));
    const directory = open({ refreshMs: 60_000 });
    const next = async (): Promise<number> => {
      await directory.refresh();
      await new Promise(setImmediate);
      const asked = dns.asked;
      const from = host.now();
      while (dns.asked === asked) {
        host.run(host.now() + 1);
        await Promise.resolve();
        await Promise.resolve();
        await Promise.resolve();
      }
      return host.now() - from;
    };
    const first = await next();
    expect(first).toBeGreaterThanOrEqual(45_000);
    expect(first).toBeLessThanOrEqual(75_001);
    dns.answer = DOWN;
    const delays: number[] = [];
    for (let failure = 0; failure < 12; failure += 1) delays.push(await next());
    expect(delays[1]).toBeLessThanOrEqual(1000);
    expect(delays.slice(1)).toEqual(delays.slice(1).sort((a, b) => a - b));
    expect(delays.at(-1)).toBeLessThanOrEqual(60_001);
    expect(delays.at(-1)).toBeGreaterThanOrEqual(30_000);
  });

  it('ends with everything that waits for it', async () => {
    dns.hold();
    const directory = open();
    const waiting = directory.current({ timeoutMs: 1e9 });
    const failed = expect(waiting).rejects.toMatchObject({ code: 'DISCOVERY_CLOSED' });
    await directory.close();
    await failed;
    await expect(directory.refresh()).rejects.toMatchObject({ code: 'DISCOVERY_CLOSED' });
    await expect(directory.current()).rejects.toMatchObject({ code: 'DISCOVERY_CLOSED' });
    const { asked } = dns;
    host.run(HOUR);
    expect(dns.asked).toBe(asked);
  });

  it('refuses names that are none', () => {
    for (const name of [
      '',
      '.',
      'a..b',
      '../../etc/passwd',
      'a b',
      `${'x'.repeat(64)}.local`,
      'x.'.repeat(130),
    ])
      expect(() => AccountDirectory.open(options({ name })), name).toThrow(
        expect.objectContaining({ code: 'ACCOUNT_NAME_INVALID' }),
      );
    const { lookup: _, ...real } = options({ servers: ['no-address'] });
    expect(() => AccountDirectory.open(real)).toThrow(
      expect.objectContaining({ code: 'DNS_SERVER_INVALID' }),
    );
  });
});

describe('an older serial', () => {
  it('is ignored while the known record is confirmed now and then', async () => {
    dns.serve(record(5));
    const directory = open();
    await directory.refresh();
    for (let round = 0; round < 5; round += 1) {
      dns.serve(record(4));
      host.stall(HOUR - 1);
      expect(await directory.refresh()).toEqual({ kind: 'kept', problem: undefined });
      dns.serve(record(5));
      expect(await directory.refresh()).toEqual({ kind: 'same' });
    }
    expect(directory.known).toEqual(record(5));
  });

  it('is taken when nothing else has been heard for the time of trust', async () => {
    dns.serve(record(5));
    const directory = open();
    await directory.refresh();
    dns.serve(record(1));
    host.stall(HOUR);
    expect(await directory.refresh()).toMatchObject({ kind: 'kept' });
    host.stall(1);
    expect(await directory.refresh()).toEqual({ kind: 'changed' });
    expect(directory.known).toEqual(record(1));
  });

  it('is ignored for what is on disk too, by the time of the last confirmation', async () => {
    await seenBefore(record(5));
    host.stall(HOUR);
    dns.serve(record(1));
    expect(await resolveAccount(options())).toMatchObject({ source: 'disk', record: record(5) });
    host.stall(1);
    expect(await resolveAccount(options())).toMatchObject({ source: 'dns', record: record(1) });
    dns.answer = DOWN;
    expect(await resolveAccount(options())).toMatchObject({ source: 'disk', record: record(1) });
  });

  it('is taken when the clock has gone back since the disk was written', async () => {
    await seenBefore(record(5));
    host.wallOffset -= 1000;
    dns.serve(record(1));
    expect(await resolveAccount(options())).toMatchObject({ source: 'dns', record: record(1) });
  });

  it('is not the same serial with other content: the last word of DNS counts', async () => {
    dns.serve(record(5, 4001));
    const directory = open();
    await directory.refresh();
    dns.serve(record(5, 4002));
    expect(await directory.refresh()).toEqual({ kind: 'changed' });
  });
});

describe('the record on disk', () => {
  it('is written when it changes, and to renew its confirmation at times', async () => {
    dns.serve(record(1));
    const directory = open();
    await directory.refresh();
    const first = readFileSync(cacheFile(), 'utf8');
    host.stall(HOUR / 4 - 1);
    await directory.refresh();
    expect(readFileSync(cacheFile(), 'utf8')).toBe(first);
    host.stall(1);
    await directory.refresh();
    const renewed = readFileSync(cacheFile(), 'utf8');
    expect(renewed).not.toBe(first);
    dns.serve(record(2));
    await directory.refresh();
    expect(readFileSync(cacheFile(), 'utf8')).toContain('serial=2');
  });

  it('is ignored when a single byte of it is wrong, or some are missing, or too many', async () => {
    await seenBefore(record(1));
    const path = cacheFile();
    const sound = readFileSync(path);
    for (let at = 0; at < sound.length; at += 1) {
      const damaged = Buffer.from(sound);
      damaged[at]! ^= 1;
      writeFileSync(path, damaged);
      await expect(resolveAccount(options()), String(at)).rejects.toMatchObject({
        code: 'ACCOUNT_UNRESOLVED',
      });
    }
    const body = sound.toString().split('\n')[1]! + ' '.repeat(100_000);
    const swollen = `baton-account 1 ${crc32(body).toString(16).padStart(8, '0')}\n${body}`;
    for (const content of ['', 'x', '\n', sound.subarray(0, -1), swollen]) {
      writeFileSync(path, content);
      await expect(resolveAccount(options())).rejects.toMatchObject({ code: 'ACCOUNT_UNRESOLVED' });
    }
    writeFileSync(path, sound);
    expect(await resolveAccount(options())).toMatchObject({
      source: 'disk',
      record: record(1),
      problem: { code: 'ACCOUNT_UNRESOLVED' },
    });
  });

  it('is not that of another name or of other servers, also if somebody moves it there', async () => {
    await seenBefore(record(1));
    const sound = readFileSync(cacheFile());
    const other = options({ servers: ['127.0.0.1:4053'] });
    await expect(resolveAccount(other)).rejects.toMatchObject({ code: 'ACCOUNT_UNRESOLVED' });
    const renamed = options({ name: 'demo.other.local' });
    dns.serve(record(2));
    await resolveAccount(renamed);
    dns.answer = DOWN;
    const path = readdirSync(cacheDirectory).find((file) => file.startsWith('demo.other.local'));
    writeFileSync(join(cacheDirectory, path!), sound);
    await expect(resolveAccount(renamed)).rejects.toMatchObject({ code: 'ACCOUNT_UNRESOLVED' });
  });

  it('is for its user alone, and leaves nothing else behind', async () => {
    await seenBefore(record(1));
    expect(statSync(cacheFile()).mode & 0o777).toBe(0o600);
  });

  it('stops nobody when it cannot be written', async () => {
    const blocked = join(cacheDirectory, '..', '..', 'file');
    writeFileSync(blocked, '');
    dns.serve(record(1));
    expect(await resolveAccount(options({ cacheDirectory: blocked }))).toMatchObject({ source: 'dns' });
    expect(await resolveAccount(options({ cacheDirectory: false }))).toMatchObject({ source: 'dns' });
  });

  it('lies in the cache of the user', () => {
    expect(defaultCacheDirectory({ XDG_CACHE_HOME: '/somewhere' })).toBe('/somewhere/baton');
    for (const env of [{}, { XDG_CACHE_HOME: 'relative' }, { XDG_CACHE_HOME: '' }])
      expect(defaultCacheDirectory(env)).toMatch(/\/\.cache\/baton$/);
  });
});

describe('endpoints that are given', () => {
  const endpoints = [{ region: 'west', addresses: ['127.0.0.1:4101'] }];

  it('need no DNS and no disk', async () => {
    const directory = AccountDirectory.open({ account: 'demo', endpoints, consistency: 'Session' });
    expect(await directory.current()).toEqual({
      account: 'demo',
      serial: 0,
      consistency: 'Session',
      regions: endpoints,
    });
    expect(await directory.refresh()).toEqual({ kind: 'same' });
    await directory.close();
    await expect(directory.current()).rejects.toMatchObject({ code: 'DISCOVERY_CLOSED' });
  });

  it('must be such', () => {
    const bad = [{ region: 'west', addresses: ['nowhere'] }];
    expect(() => AccountDirectory.open({ account: 'demo', endpoints: bad })).toThrow(
      expect.objectContaining({ code: 'ACCOUNT_RECORD_INVALID' }),
    );
  });
});
