/** `baton acceptor` told to reload: a new token and certificate for who comes next, and the old ones if they are wrong. */
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { get } from 'node:https';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { connect, type TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Child, Nursery } from '../../test/process/support/nursery.ts';
import { until } from '../../test/support/until.ts';
import { freePort, initAuthority, issueInto } from '../server/index.ts';

const BATON = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

let nursery: Nursery;
let certs: string;

beforeEach(async () => {
  nursery = new Nursery();
  certs = join(nursery.directory, 'certs');
  await initAuthority(certs);
  await issueInto(certs, { name: 'a1', hosts: ['127.0.0.1'] });
});
afterEach(() => nursery.close());

class Acceptor {
  readonly child: Child;
  readonly lines: Record<string, unknown>[] = [];

  constructor(...args: readonly string[]) {
    this.child = nursery.spawn(BATON, ['acceptor', ...args]);
    createInterface({ input: this.child.stdout }).on('line', (line) =>
      this.lines.push(JSON.parse(line) as Record<string, unknown>),
    );
  }

  says(msg: string): Promise<Record<string, unknown>> {
    return until(`it says "${msg}"`, () => this.lines.find((line) => line['msg'] === msg));
  }

  async hangUp(answer: string): Promise<Record<string, unknown>> {
    this.lines.length = 0;
    this.child.kill('SIGHUP');
    return this.says(answer);
  }
}

const ca = (): string => readFileSync(join(certs, 'ca.pem'), 'utf8');

function metricsWith(url: string, token: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` };
    get(`${url}/metrics`, { ca: ca(), headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode!);
    }).on('error', reject);
  });
}

async function connected(url: string): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port), ca: ca() });
  socket.on('error', () => {});
  await once(socket, 'secureConnect');
  return socket;
}

async function serialAt(url: string): Promise<string> {
  const socket = await connected(url);
  const { serialNumber } = socket.getPeerCertificate();
  socket.destroy();
  return serialNumber;
}

describe('the data of an acceptor', () => {
  test('are for its user only, in a directory that was open to everybody, too', async () => {
    const data = join(nursery.directory, 'open');
    mkdirSync(data, { mode: 0o755 });
    const acceptor = new Acceptor('--data', data, '--listen', '127.0.0.1:0');
    await acceptor.says('acceptor is ready');
    const files = readdirSync(data);
    expect(files).toContain('data.mdb');
    expect(files.filter((name) => (statSync(join(data, name)).mode & 0o077) !== 0)).toEqual([]);
  });
});

describe('SIGHUP', () => {
  test('puts a new token and a new certificate in force, and keeps who is connected', async () => {
    const token = join(nursery.directory, 'token');
    writeFileSync(token, 'first-token\n');
    const files = ['--tls-cert', join(certs, 'a1.pem'), '--tls-key', join(certs, 'a1.key')];
    const data = join(nursery.directory, 'data');
    const acceptor = new Acceptor('--data', data, '--listen', '127.0.0.1:0', '--token-file', token, ...files);
    const url = String((await acceptor.says('acceptor is ready'))['url']);
    expect(await metricsWith(url, 'first-token')).toBe(200);
    const [serial, open] = [await serialAt(url), await connected(url)];

    writeFileSync(token, 'second-token\n');
    await issueInto(certs, { name: 'a1', hosts: ['127.0.0.1'], force: true });
    await acceptor.hangUp('configuration is read again');
    expect(await metricsWith(url, 'second-token')).toBe(200);
    expect(await metricsWith(url, 'first-token')).toBe(401);
    const now = await serialAt(url);
    expect(now).not.toBe(serial);
    open.write('GET /health HTTP/1.1\r\nhost: a1\r\n\r\n');
    const [answer] = (await once(open, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 200/);
    open.destroy();

    writeFileSync(token, '\n');
    expect(await acceptor.hangUp('keeping the old configuration: cannot reload')).toMatchObject({
      reason: 'The acceptor token is empty.',
    });
    writeFileSync(token, 'third-token\n');
    writeFileSync(join(certs, 'a1.key'), readFileSync(join(certs, 'ca.key')));
    await acceptor.hangUp('keeping the old configuration: cannot reload');
    expect(await metricsWith(url, 'second-token')).toBe(200);
    expect(await serialAt(url)).toBe(now);
  });

  test('reads the cluster file again: the log level holds at once, another address needs a restart', async () => {
    const [port, other] = [await freePort(), await freePort()];
    const path = join(nursery.directory, 'baton.yaml');
    const write = (level: string, at: number): void =>
      writeFileSync(
        path,
        `cluster: demo
regions: [{ name: west, nodes: [{ name: w, listen: 127.0.0.1:1 }] }]
acceptors: [{ name: a1, url: "http://127.0.0.1:${at}", data: ./data }]
log: { level: ${level} }
`,
      );
    write('info', port);
    const acceptor = new Acceptor('--config', path, '--name', 'a1');
    await acceptor.says('acceptor is ready');
    await acceptor.hangUp('configuration is read again');
    write('warn', other);
    await acceptor.hangUp('a new address or another directory needs a restart');
    const exited = once(acceptor.child, 'close');
    acceptor.child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
    expect(acceptor.lines.map(({ msg }) => msg)).toEqual([
      'a new address or another directory needs a restart',
    ]);
  });
});
