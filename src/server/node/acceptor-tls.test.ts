/** Mutual TLS between proposers and acceptors, with certificates as `baton certs` makes them. */
import { get } from 'node:https';
import { connect as connectTls } from 'node:tls';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { errorOf, increment, openFor } from '../../../test/caspaxos/clusters.ts';
import { TestService } from '../../../test/caspaxos/services.ts';
import { openAcceptor, type ServiceTls } from '../../caspaxos/index.ts';
import { issueCertificate, makeAuthority } from '../certs/index.ts';

const TOKEN = 'secret';
const LONG_AGO = new Date(Date.now() - 30 * 24 * 3600 * 1000);

type Pair = { readonly cert: string; readonly key: string };
let ca: string;
let acceptor: Pair;
let node: Pair;
let expired: Pair;
let stranger: Pair;

beforeAll(async () => {
  const authority = await makeAuthority({ now: LONG_AGO });
  const other = await makeAuthority({});
  const hosts = ['127.0.0.1'];
  ca = authority.cert;
  acceptor = await issueCertificate(authority, { name: 'a1', hosts });
  node = await issueCertificate(authority, { name: 'west-1', hosts });
  expired = await issueCertificate(authority, { name: 'east-1', hosts, now: LONG_AGO, days: 1 });
  stranger = await issueCertificate(other, { name: 'west-1', hosts });
});

function serve(own: Pair = acceptor): Promise<TestService> {
  return TestService.start({ tls: { ca, ...own }, token: TOKEN });
}

function ask(service: TestService, tls: ServiceTls, token = TOKEN): Promise<unknown> {
  const one = openAcceptor(service.url, { token, tls: () => tls, timeoutMs: 60_000 });
  onTestFinished(() => one.close());
  return one.describe();
}

describe('an acceptor with an authority', () => {
  test('serves who shows a certificate of it and the token', async () => {
    const service = await serve();
    const cluster = await openFor({ acceptors: [service.url], token: TOKEN, tls: () => ({ ca, ...node }) });
    expect(await cluster.change('k', increment)).toMatchObject({ outcome: 'committed', value: 1 });
  });

  test('takes no token without a certificate, nor with a bad one, and says what is wrong', async () => {
    const service = await serve();
    expect(await errorOf(ask(service, { ca }))).toMatchObject({
      code: 'CERTIFICATE_REFUSED',
      message: expect.stringContaining('none was shown'),
    });
    expect(await errorOf(ask(service, { ca, ...expired }))).toMatchObject({
      code: 'CERTIFICATE_REFUSED',
      message: expect.stringContaining('CERT_HAS_EXPIRED'),
    });
    expect(await errorOf(ask(service, { ca, ...stranger }))).toMatchObject({ code: 'CERTIFICATE_REFUSED' });
    expect(await errorOf(ask(service, { ca, ...node }, 'wrong'))).toMatchObject({ code: 'UNAUTHORIZED' });
    const text = await metricsOf(service);
    expect(text).toMatch(/^baton_acceptor_refused_total\{reason="certificate"\} 3$/m);
    expect(text).toMatch(/^baton_acceptor_refused_total\{reason="token"\} 1$/m);
  });

  test('speaks TLS 1.3 and nothing older', async () => {
    const { port } = await serve();
    const failed = await new Promise((resolve) => {
      const socket = connectTls({ host: '127.0.0.1', port, ca, ...node, maxVersion: 'TLSv1.2' });
      socket.once('secureConnect', () => resolve(socket.getProtocol()));
      socket.once('error', ({ message }) => resolve(message));
      onTestFinished(() => void socket.destroy());
    });
    expect(failed).toMatch(/protocol version/);
  });

  test('shows its health to everybody', async () => {
    const { url } = await serve();
    expect(await statusOf(`${url}/health`)).toBe(200);
  });

  test('goes on wanting certificates when its own is renewed', async () => {
    const service = await serve();
    service.server.renew({ token: TOKEN, tls: { ca, ...node } });
    expect(await errorOf(ask(service, { ca }))).toMatchObject({ code: 'CERTIFICATE_REFUSED' });
    expect(() => service.server.renew({ token: TOKEN, tls: node })).toThrow(/decided when it starts/);
    await ask(service, { ca, ...node });
  });
});

describe('a cluster that nobody lets in', () => {
  test.each([
    [
      'the token is wrong',
      (): Pair => acceptor,
      'wrong',
      'UNAUTHORIZED',
      /^Acceptor \S+ refused the token\./,
    ],
    [
      "an acceptor's certificate has expired",
      (): Pair => expired,
      TOKEN,
      'CERTIFICATE_REFUSED',
      /^The certificate of acceptor \S+ has expired\./,
    ],
  ])('is told so first, and with its code, when %s', async (_, own, token, code, message) => {
    const services = await Promise.all([serve(own()), serve(own())]);
    const acceptors = services.map(({ url }) => url);
    const error = await errorOf(openFor({ acceptors, token, tls: () => ({ ca, ...node }) }));
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
  });

  test('is told what is wrong with one of them although another does not answer', async () => {
    const services = await Promise.all([serve(), serve(expired)]);
    const acceptors = ['https://127.0.0.1:1', ...services.map(({ url }) => url)];
    const error = await errorOf(openFor({ acceptors, token: TOKEN, tls: () => ({ ca, ...node }) }));
    expect(error).toMatchObject({
      code: 'CERTIFICATE_REFUSED',
      message: expect.stringContaining('2 of 3 acceptors cannot be used'),
    });
  });
});

function metricsOf(service: TestService): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${TOKEN}` };
    get(`${service.url}/metrics`, { ca, headers, agent: false }, (response) => {
      response
        .setEncoding('utf8')
        .toArray()
        .then((parts) => resolve(parts.join('')), reject);
    }).on('error', reject);
  });
}

function statusOf(url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(url, { ca, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on('error', reject);
  });
}
