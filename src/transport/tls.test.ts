import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { describe, expect, type TestContext, test } from 'vitest';
import { temporaryDirectory } from '../../test/caspaxos/directories.ts';
import { dialTo, identity, listen, rpcErrorOf } from '../../test/transport/rpc-scene.ts';
import { notRun } from '../../test/support/not-run.ts';
import { until } from '../../test/support/until.ts';
import type { Caller } from './listener.ts';
import { refuseOpenRpc } from './tls.ts';

interface Certificate {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
const NAMES = 'subjectAltName=IP:127.0.0.1,DNS:localhost';

/** An authority, and certificates of it, made by openssl. */
class Authority {
  readonly #directory = temporaryDirectory();
  readonly ca: string;

  constructor(context: TestContext) {
    const [key, cert] = [this.#path('ca.key'), this.#path('ca.pem')];
    try {
      execFileSync('openssl', ['version'], { stdio: 'ignore' });
    } catch {
      notRun(context, { what: 'openssl is not on the PATH', how: 'install the package openssl' });
    }
    openssl('req', '-x509', ...KEY, '-days', '1', '-subj', '/CN=authority', '-keyout', key, '-out', cert);
    this.ca = readFileSync(cert, 'utf8');
  }

  issue(name: string): Certificate {
    const [key, request, cert, names] = ['key', 'csr', 'pem', 'ext'].map((end) =>
      this.#path(`${name}.${end}`),
    );
    writeFileSync(names!, NAMES);
    openssl('req', '-new', ...KEY, '-subj', `/CN=${name}`, '-keyout', key!, '-out', request!);
    const by = ['-CA', this.#path('ca.pem'), '-CAkey', this.#path('ca.key'), '-CAcreateserial'];
    openssl('x509', '-req', '-in', request!, ...by, '-days', '1', '-extfile', names!, '-out', cert!);
    return { ca: this.ca, cert: readFileSync(cert!, 'utf8'), key: readFileSync(key!, 'utf8') };
  }

  #path(name: string): string {
    return join(this.#directory, name);
  }
}

function openssl(...args: readonly string[]): void {
  execFileSync('openssl', args, { stdio: 'ignore' });
}

function nameShownAt(port: number, { ca, cert, key }: Certificate): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, ca, cert, key }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

describe('mutual TLS', () => {
  test('connects two that hold certificates of one authority, and shows whose they are', async (context) => {
    const authority = new Authority(context);
    const callers: Caller[] = [];
    const authorize = (caller: Caller) => {
      callers.push(caller);
      return caller.certificate === caller.node ? undefined : 'The certificate is of another node.';
    };
    const scene = await listen(
      { onRequest: (_, payload) => payload },
      { tls: authority.issue('server'), authorize },
    );
    const tls = authority.issue('n1');
    const client = await dialTo(scene, {}, { tls, self: identity('n1') });
    const payload = Buffer.alloc(1_000_000, 7);
    const answers = await Promise.all([1, 2, 3].map((n) => client.call(n, payload, { timeoutMs: 60_000 })));
    expect(answers.every((answer) => answer.equals(payload))).toBe(true);
    const numbers = Array.from({ length: 2000 }, (_, i) => `${i}`);
    const echoes = await Promise.all(
      numbers.map((n) => client.call(1, Buffer.from(n), { timeoutMs: 60_000 })),
    );
    expect(echoes.map(String)).toEqual(numbers);
    expect(callers[0]).toMatchObject({ node: 'n1', certificate: 'n1' });
    expect(await rpcErrorOf(dialTo(scene, {}, { tls, self: identity('n2') }))).toMatchObject({
      code: 'NOT_AUTHORIZED',
    });
    await scene.listener.close();
    expect(await client.closed).toMatchObject({ code: 'CLOSED' });
  });

  test('keeps out who has no certificate, or one of another authority, or does not speak TLS', async (context) => {
    const [authority, foreign] = [new Authority(context), new Authority(context)];
    const scene = await listen({}, { tls: authority.issue('server') });
    const outsiders = [{ ca: authority.ca }, { ...foreign.issue('n1'), ca: authority.ca }, undefined];
    for (const tls of outsiders) {
      const limits = { handshakeTimeoutMs: 60_000 };
      const { code } = await rpcErrorOf(dialTo(scene, {}, { tls, limits }));
      expect(['UNREACHABLE', 'HANDSHAKE_INVALID']).toContain(code);
    }
    await until('all are refused', () => scene.refused.length === outsiders.length);
    expect(scene.refused.every(({ code }) => code === 'NOT_AUTHORIZED')).toBe(true);
    expect(scene.accepted).toEqual([]);
  });

  test('does not talk to a listener of another authority', async (context) => {
    const [authority, foreign] = [new Authority(context), new Authority(context)];
    const scene = await listen({}, { tls: { ...foreign.issue('server'), ca: authority.ca } });
    const error = await rpcErrorOf(dialTo(scene, {}, { tls: authority.issue('n1') }));
    expect(error).toMatchObject({ code: 'UNREACHABLE' });
    expect(scene.accepted).toEqual([]);
  });

  test('shows new certificates to who comes from then on, and keeps who is there', async (context) => {
    const authority = new Authority(context);
    const scene = await listen({ onRequest: (_, payload) => payload }, { tls: authority.issue('server') });
    const tls = authority.issue('n1');
    const client = await dialTo(scene, {}, { tls });
    const { port } = scene.listener.address;
    expect(await nameShownAt(port, tls)).toBe('server');
    const later = authority.issue('later');
    expect(() => (scene.listener.tls = { ...later, key: tls.key })).toThrow();
    expect(await nameShownAt(port, tls)).toBe('server');
    scene.listener.tls = later;
    expect(await nameShownAt(port, tls)).toBe('later');
    expect((await dialTo(scene, {}, { tls })).isOpen).toBe(true);
    expect(String(await client.call(1, Buffer.from('still'), { timeoutMs: 10_000 }))).toBe('still');
  });

  test('may be one-sided, with a token', async (context) => {
    const authority = new Authority(context);
    const { cert, key } = authority.issue('server');
    const scene = await listen(
      {},
      { tls: { cert, key }, token: 'secret', address: { host: '0.0.0.0', port: 0 } },
    );
    const { port } = scene.listener.address;
    const options = { tls: { ca: authority.ca }, address: { host: 'localhost', port } };
    expect((await dialTo(scene, {}, { ...options, token: 'secret' })).isOpen).toBe(true);
    expect(await rpcErrorOf(dialTo(scene, {}, options))).toMatchObject({ code: 'NOT_AUTHORIZED' });
  });
});

describe('listening beyond loopback', () => {
  const tls = { cert: 'cert', key: 'key' };

  test('needs TLS, and a way to know who calls', () => {
    const refused = expect.objectContaining({ code: 'LISTEN_REFUSED' });
    expect(() => refuseOpenRpc('10.0.0.1', undefined, true)).toThrow(refused);
    expect(() => refuseOpenRpc('10.0.0.1', tls, false)).toThrow(refused);
    refuseOpenRpc('10.0.0.1', tls, true);
    refuseOpenRpc('10.0.0.1', { ...tls, ca: 'ca' }, false);
    for (const host of ['127.0.0.1', '127.9.9.9', '::1', 'localhost']) refuseOpenRpc(host, undefined, false);
  });
});
