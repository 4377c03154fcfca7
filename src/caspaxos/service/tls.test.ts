import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { get } from 'node:https';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { errorOf, increment, openFor } from '../../../test/caspaxos/clusters.ts';
import { temporaryDirectory } from '../../../test/caspaxos/directories.ts';
import { TestService } from '../../../test/caspaxos/services.ts';
import { notRun } from '../../../test/support/not-run.ts';
import { AcceptorServer } from './server.ts';

const LACKING = { what: 'openssl is not on the PATH', how: 'install the package openssl' };

/** A self-signed certificate for this machine, made by openssl. */
function certificate(): { cert: string; key: string } {
  const directory = temporaryDirectory();
  const [cert, key] = [join(directory, 'cert.pem'), join(directory, 'key.pem')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost'];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'];
  execFileSync('openssl', ['req', '-x509', ...curve, ...subject, '-keyout', key, '-out', cert], {
    stdio: 'ignore',
  });
  return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
}

function hasOpenssl(): boolean {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

describe('acceptor services over TLS', () => {
  test('serve a cluster that trusts their certificate', async (context) => {
    if (!hasOpenssl()) notRun(context, LACKING);
    const tls = certificate();
    const services = await TestService.startThree({ tls, token: 'secret' });
    const acceptors = services.map(({ url }) => url);
    expect(acceptors.every((url) => url.startsWith('https://127.0.0.1:'))).toBe(true);
    const cluster = await openFor({ acceptors, ca: tls.cert, token: 'secret' });
    expect(await cluster.change('k', increment)).toMatchObject({ outcome: 'committed', value: 1 });
    const status = await new Promise((resolve, reject) => {
      const request = get(`${acceptors[0]}/health`, { ca: tls.cert }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      request.on('error', reject);
    });
    expect(status).toBe(200);
  });

  test('are not talked to by a cluster that does not trust it, nor without TLS', async (context) => {
    if (!hasOpenssl()) notRun(context, LACKING);
    const [trusted, other] = [certificate(), certificate()];
    const service = await TestService.start({ tls: trusted, token: 'secret' });
    const ways = [
      [service.url, 'CERTIFICATE_REFUSED'],
      [service.url.replace('https', 'http'), 'FIRST_START_INCOMPLETE'],
    ] as const;
    for (const [url, code] of ways) {
      const error = await errorOf(
        openFor({ acceptors: [url], ca: other.cert, token: 'secret', requestTimeoutMs: 500 }),
      );
      expect(error).toMatchObject({ code });
    }
    expect(service.disk.configuration).toBeUndefined();
  });

  test('may listen beyond loopback, with a token', async (context) => {
    if (!hasOpenssl()) notRun(context, LACKING);
    const { disk } = await TestService.start();
    const server = await AcceptorServer.listen(disk, {
      host: '0.0.0.0',
      port: 0,
      tls: certificate(),
      token: 'secret',
    });
    expect(server.url).toMatch(/^https:/);
    await server.close();
  });
});
