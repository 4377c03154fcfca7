import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type CertificatePair,
  describeCertificates,
  initAuthority,
  issueCertificate,
  issueInto,
  makeAuthority,
  readAuthority,
} from './index.ts';

const HOSTS = ['localhost', '127.0.0.1', '::1', 'West.Example'];
const NOW = new Date('2030-01-31T12:00:00Z');

interface Side extends CertificatePair {
  readonly ca: string;
}

/** The names that each side saw in the other's certificate, or why there was no handshake. */
async function shakeHands(server: Side, client: Partial<Side> & { ca: string }, servername = 'localhost') {
  const listener = createServer({ ...server, requestCert: true, rejectUnauthorized: true });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const accepted = new Promise<string>((resolve) => {
    listener.once('secureConnection', (socket: TLSSocket) => {
      const name = socket.getPeerCertificate().subject.CN;
      socket.once('error', () => socket.destroy()).end('hello');
      resolve(String(name));
    });
    listener.once('tlsClientError', (error) => resolve(`refused: ${error.message}`));
  });
  const socket = connect({
    ...client,
    host: '127.0.0.1',
    port: (listener.address() as AddressInfo).port,
    servername,
  });
  const connected = new Promise<string>((resolve) => {
    let name = 'nobody';
    socket.once('secureConnect', () => (name = String(socket.getPeerCertificate().subject.CN)));
    socket.once('data', () => resolve(name));
    socket.once('error', (error) => resolve(`refused: ${error.message}`));
    socket.once('close', () => resolve('closed'));
  });
  try {
    return { server: await accepted, client: await connected };
  } finally {
    socket.destroy();
    listener.close();
  }
}

describe('certificates', () => {
  test('let both sides know each other by name', async () => {
    const authority = await makeAuthority();
    const ca = authority.cert;
    const west = { ca, ...(await issueCertificate(authority, { name: 'west-1', hosts: HOSTS })) };
    const east = { ca, ...(await issueCertificate(authority, { name: 'east-1', hosts: HOSTS })) };
    expect(await shakeHands(west, east)).toEqual({ server: 'east-1', client: 'west-1' });
    expect(await shakeHands(east, west, 'east-1')).toEqual({ server: 'west-1', client: 'east-1' });
    expect((await shakeHands(west, east, 'elsewhere.example')).client).toMatch(/refused: .*altnames/);
  });

  test('of a foreign authority, or none, are refused on both sides', async () => {
    const [ours, theirs] = [await makeAuthority(), await makeAuthority()];
    const issue = (authority: CertificatePair) =>
      issueCertificate(authority, { name: 'west-1', hosts: HOSTS });
    const [west, foreign] = [await issue(ours), await issue(theirs)];
    const server = { ca: ours.cert, ...west };
    expect((await shakeHands(server, { ca: ours.cert, ...foreign })).server).toMatch(/^refused/);
    expect((await shakeHands(server, { ca: ours.cert })).server).toMatch(/^refused/);
    expect((await shakeHands(server, { ca: theirs.cert, ...west })).client).toMatch(/^refused/);
    expect((await shakeHands(server, { ca: ours.cert, ...west })).server).toBe('west-1');
  });

  test('are good for somebody whose clock is a day behind', async () => {
    const now = new Date();
    const authority = await makeAuthority({ now });
    const { cert } = await issueCertificate(authority, { name: 'west-1', hosts: HOSTS, now });
    for (const pem of [authority.cert, cert])
      expect(Date.parse(new X509Certificate(pem).validFrom)).toBeLessThan(now.getTime() - 24 * 3_600_000);
  });

  test('that have expired are refused', async () => {
    const authority = await makeAuthority();
    const now = new Date(Date.now() - 3 * 24 * 3_600_000);
    const old = await issueCertificate(authority, { name: 'old', hosts: HOSTS, days: 1, now });
    const good = await issueCertificate(authority, { name: 'good', hosts: HOSTS });
    const ca = authority.cert;
    expect((await shakeHands({ ca, ...good }, { ca, ...old })).server).toMatch(/^refused/);
    expect((await shakeHands({ ca, ...old }, { ca, ...good })).client).toMatch(
      /refused: certificate has expired/,
    );
  });

  test('stay good when the authority is renewed', async () => {
    const authority = await makeAuthority({ days: 1 });
    const west = await issueCertificate(authority, { name: 'west-1', hosts: HOSTS, days: 1 });
    const renewed = await makeAuthority({ renew: authority, days: 100 });
    expect(renewed.key).toBe(authority.key);
    const east = await issueCertificate(renewed, { name: 'east-1', hosts: HOSTS });
    const ca = renewed.cert;
    expect(await shakeHands({ ca, ...west }, { ca, ...east })).toEqual({
      server: 'east-1',
      client: 'west-1',
    });
  });

  test('say whose they are, for which names, and until when', async () => {
    const authority = await makeAuthority({ now: NOW, days: 100 });
    const { cert } = await issueCertificate(authority, { name: 'west-1', hosts: HOSTS, now: NOW, days: 30 });
    const [facts, second] = describeCertificates(cert + authority.cert, NOW);
    expect(facts).toMatchObject({
      subject: 'CN=west-1',
      authority: false,
      names: ['west-1', 'localhost', '127.0.0.1', '0:0:0:0:0:0:0:1', 'west.example'],
      from: '2030-01-29T12:00:00.000Z',
      expires: '2030-03-02T12:00:00.000Z',
      daysLeft: 30,
    });
    expect(second).toMatchObject({ subject: facts!.issuer, authority: true, names: [], daysLeft: 100 });
    const later = new Date('2030-03-03T00:00:00Z');
    expect(describeCertificates(cert, later)[0]!.daysLeft).toBe(-1);
  });

  test('never outlive their authority, and are not made by one that is dead', async () => {
    const authority = await makeAuthority({ now: NOW, days: 10 });
    const { cert } = await issueCertificate(authority, { name: 'a', hosts: [], now: NOW, days: 365 });
    expect(describeCertificates(cert, NOW)[0]!.daysLeft).toBe(10);
    const later = new Date('2030-03-01T00:00:00Z');
    await expect(issueCertificate(authority, { name: 'a', hosts: [], now: later })).rejects.toMatchObject({
      code: 'AUTHORITY_EXPIRED',
      message: 'The authority expired on 2030-02-10; renew it first.',
    });
  });

  test('may be good for a hundred years', async () => {
    const { cert } = await makeAuthority({ now: NOW, days: 36_500 });
    expect(describeCertificates(cert, NOW)[0]!.expires).toBe('2130-01-07T12:00:00.000Z');
  });

  test.each([
    [{ name: 'West', hosts: [] }, 'CERTIFICATE_NAME'],
    [{ name: 'a, O=root', hosts: [] }, 'CERTIFICATE_NAME'],
    [{ name: 'west', hosts: ['no host'] }, 'CERTIFICATE_NAME'],
    [{ name: 'west', hosts: ['*.example'] }, 'CERTIFICATE_NAME'],
  ])('are not made for %j', async (options, code) => {
    await expect(issueCertificate(await makeAuthority(), options)).rejects.toMatchObject({ code });
  });

  test('are not made by what is no authority', async () => {
    const [one, two] = [await makeAuthority(), await makeAuthority()];
    const options = { name: 'a', hosts: [] };
    const leaf = await issueCertificate(one, options);
    for (const by of [
      leaf,
      { cert: one.cert, key: two.key },
      { cert: 'x', key: one.key },
      { cert: one.cert, key: 'x' },
    ])
      await expect(issueCertificate(by, options)).rejects.toMatchObject({ code: 'CERTIFICATE_INVALID' });
  });

  test('leave nothing behind on Reflect', async () => {
    await makeAuthority();
    expect(Object.keys(Reflect).filter((name) => name.includes('etadata'))).toEqual([]);
  });
});

describe('the files', () => {
  let directory = '';
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'baton-certs-'));
  });
  afterEach(() => rm(directory, { recursive: true }));
  const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

  test('of keys are for their owner alone', async () => {
    const authority = await initAuthority(join(directory, 'certs'));
    const west = await issueInto(join(directory, 'certs'), { name: 'west-1', hosts: [] });
    expect([await modeOf(authority.key), await modeOf(west.key)]).toEqual([0o600, 0o600]);
    expect((await readdir(join(directory, 'certs'))).toSorted()).toEqual([
      'ca.key',
      'ca.pem',
      'west-1.key',
      'west-1.pem',
    ]);
  });

  test('are not overwritten unless that is asked for', async () => {
    await initAuthority(directory);
    const options = { name: 'west-1', hosts: [] };
    const { cert, key } = await issueInto(directory, options);
    const before = [await readFile(cert, 'utf8'), await readFile(key, 'utf8')];
    await expect(initAuthority(directory)).rejects.toMatchObject({ code: 'CERTIFICATE_EXISTS' });
    await expect(issueInto(directory, options)).rejects.toMatchObject({
      code: 'CERTIFICATE_EXISTS',
      message: `The file ${key} is there already; --force overwrites it.`,
    });
    expect([await readFile(cert, 'utf8'), await readFile(key, 'utf8')]).toEqual(before);
    await issueInto(directory, { ...options, force: true });
    expect(await readFile(cert, 'utf8')).not.toBe(before[0]);
    expect(await modeOf(key)).toBe(0o600);
    expect(await readdir(directory)).toHaveLength(4);
  });

  test('come in pairs: no key without its certificate', async () => {
    await initAuthority(directory);
    await writeFile(join(directory, 'west-1.pem'), 'mine');
    await expect(issueInto(directory, { name: 'west-1', hosts: [] })).rejects.toMatchObject({
      code: 'CERTIFICATE_EXISTS',
    });
    expect((await readdir(directory)).toSorted()).toEqual(['ca.key', 'ca.pem', 'west-1.pem']);
  });

  test('of an authority are renewed with the same key', async () => {
    const { cert, key } = await initAuthority(directory, { days: 1 });
    const before = [await readFile(cert, 'utf8'), await readFile(key, 'utf8')];
    await initAuthority(directory, { days: 50, renew: true });
    expect(await readFile(key, 'utf8')).toBe(before[1]);
    expect(await readFile(cert, 'utf8')).not.toBe(before[0]);
    const [old, now] = describeCertificates(before[0]! + (await readFile(cert, 'utf8')));
    expect(now!.subject).toBe(old!.subject);
    await expect(initAuthority(join(directory, 'none'), { renew: true })).rejects.toMatchObject({
      code: 'CERTIFICATE_UNREADABLE',
    });
  });

  test('may go elsewhere than the authority, whose certificate comes along and whose key does not', async () => {
    const [home, away] = [join(directory, 'home'), join(directory, 'away')];
    await initAuthority(home);
    const { ca } = await issueInto(away, { name: 'west-1', hosts: [], authority: home });
    expect(await readFile(ca, 'utf8')).toBe((await readAuthority(home)).cert);
    expect((await readdir(away)).toSorted()).toEqual(['ca.pem', 'west-1.key', 'west-1.pem']);
    await expect(issueInto(home, { name: 'ca', hosts: [], force: true })).rejects.toMatchObject({
      code: 'CERTIFICATE_NAME',
    });
  });
});
