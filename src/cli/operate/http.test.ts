import { createServer as createPlain, type RequestListener, type Server } from 'node:http';
import { createServer as createSecure } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type CertificatePair, issueCertificate, makeAuthority } from '../../server/index.ts';
import { ask, type Credentials, type Outcome } from './http.ts';

const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function portOf(server: Server): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

const shape = z.object({ answer: z.number() });

function request(
  port: number,
  {
    method = 'GET',
    credentials = {},
    timeoutMs = 5000,
  }: { method?: 'GET' | 'POST'; credentials?: Credentials; timeoutMs?: number } = {},
): Promise<Outcome<{ answer: number }>> {
  const body = method === 'POST' ? { question: 1 } : undefined;
  return ask({ host: '127.0.0.1', port }, credentials, { method, path: '/v1/x', body, shape, timeoutMs });
}

function serving(handle: RequestListener): Promise<number> {
  return portOf(createPlain(handle));
}

const good: RequestListener = (_, response) => void response.end('{"answer":42,"more":true}');

describe('a request', () => {
  it('is answered, with the time on the node’s clock', async () => {
    const outcome = await request(await serving(good));
    expect(outcome).toMatchObject({ kind: 'answer', value: { answer: 42 } });
    expect(outcome.kind === 'answer' && typeof outcome.date).toBe('number');
  });

  it('carries the token and the body', async () => {
    let seen: unknown;
    const port = await serving((incoming, response) => {
      const { authorization, 'content-type': type } = incoming.headers;
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => {
        seen = [incoming.method, authorization, type, Buffer.concat(chunks).toString()];
        good(incoming, response);
      });
    });
    await request(port, { method: 'POST', credentials: { token: 'secret' } });
    expect(seen).toEqual(['POST', 'Bearer secret', 'application/json', '{"question":1}']);
  });

  it.each([
    ['{"error":{"code":"NO","message":"Not now."}}', 'NO', 'Not now.'],
    ['<html>', 'HTTP_409', 'The answer has HTTP status 409.'],
  ])('is refused with %s', async (body, code, message) => {
    const port = await serving((_, response) => void response.writeHead(409).end(body));
    expect(await request(port)).toEqual({ kind: 'refusal', status: 409, code, message });
  });

  it('that was not heard surely had no effect; one that was heard may have had', async () => {
    const port = await serving((incoming) => incoming.socket.destroy());
    expect(await request(port, { method: 'POST' })).toMatchObject({ kind: 'silence', mayHaveHeard: true });
    expect(await request(port)).toMatchObject({ kind: 'silence', mayHaveHeard: false });
    const silent = await serving(() => {});
    expect(await request(silent, { method: 'POST', timeoutMs: 50 })).toMatchObject({
      mayHaveHeard: true,
      reason: 'timed out',
    });
    const gone = servers.pop()!;
    gone.closeAllConnections();
    await new Promise((resolve) => gone.close(resolve));
    expect(await request(silent, { method: 'POST' })).toEqual({
      kind: 'silence',
      mayHaveHeard: false,
      reason: 'connection refused',
    });
  });

  it('whose answer never ends, ends', async () => {
    const port = await serving((_, response) => {
      const timer = setInterval(() => response.write('x'.repeat(1000)), 1);
      response.once('close', () => clearInterval(timer));
    });
    expect(await request(port, { timeoutMs: 100 })).toMatchObject({ kind: 'silence' });
  });

  it('whose answer has another form is not understood', async () => {
    const port = await serving((_, response) => void response.end('{"answer":"yes"}'));
    expect(await request(port, { method: 'POST' })).toEqual({
      kind: 'silence',
      mayHaveHeard: true,
      reason: 'not understood (answer)',
    });
  });
});

describe('over TLS', () => {
  async function secure(authority: CertificatePair): Promise<number> {
    const pair = await issueCertificate(authority, { name: 'west-1', hosts: ['127.0.0.1'], days: 90 });
    const options = { ...pair, ca: authority.cert, requestCert: true, rejectUnauthorized: true };
    return portOf(createSecure(options, good));
  }

  it('both sides show certificates, and the node’s end is known', async () => {
    const authority = await makeAuthority();
    const port = await secure(authority);
    const own = await issueCertificate(authority, { name: 'operator', hosts: [] });
    const outcome = await request(port, { credentials: { tls: { ca: authority.cert, ...own } } });
    expect(outcome).toMatchObject({ kind: 'answer', value: { answer: 42 } });
    const ends = outcome.kind === 'answer' ? Date.parse(outcome.certificateEnds!) : 0;
    expect(Math.round((ends - Date.now()) / 86_400_000)).toBeLessThanOrEqual(90);
    expect(ends).toBeGreaterThan(Date.now());
  });

  it('a stranger’s authority is not trusted, and nobody gets in without a certificate', async () => {
    const [authority, stranger] = await Promise.all([makeAuthority(), makeAuthority()]);
    const port = await secure(authority);
    const own = await issueCertificate(authority, { name: 'operator', hosts: [] });
    const tls = { ca: stranger.cert, ...own };
    expect(await request(port, { method: 'POST', credentials: { tls } })).toMatchObject({
      kind: 'silence',
      mayHaveHeard: false,
    });
    expect((await request(port, { credentials: { tls: { ca: authority.cert } } })).kind).toBe('silence');
    expect((await request(port)).kind).toBe('silence');
  });
});
