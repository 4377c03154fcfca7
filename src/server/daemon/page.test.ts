import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { HttpServer } from '../http/index.ts';
import { ask } from '../../../test/server/daemons.ts';
import { pageRoutes } from './page.ts';

const ORIGINS = new Set(['http://127.0.0.1:4201', 'http://127.0.0.1:4202']);
let directory: string;
let server: HttpServer;
let url: string;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'baton-page-'));
  server = await HttpServer.listen({
    address: { host: '127.0.0.1', port: 0 },
    token: () => 'secret',
    routes: pageRoutes({ directory: join(directory, 'dashboard'), origins: ORIGINS }),
  });
  url = `http://127.0.0.1:${server.address.port}`;
});

afterEach(async () => {
  await server.close();
  rmSync(directory, { recursive: true, force: true });
});

function build(html: string, script: string): void {
  mkdirSync(join(directory, 'dashboard', 'assets'), { recursive: true });
  writeFileSync(join(directory, 'dashboard', 'index.html'), html);
  writeFileSync(join(directory, 'dashboard', 'assets', 'index-AbC_12.js'), script);
  writeFileSync(join(directory, 'secret.js'), 'not of the page');
}

test('without a build it says so, and finds it when there is one', async () => {
  expect(await ask(`${url}/`)).toMatchObject({
    status: 404,
    json: { error: { code: 'PAGE_NOT_BUILT', message: expect.stringMatching(/npm run build/) as string } },
  });
  build('<p>one</p>', 'one()');
  expect(await (await fetch(`${url}/`)).text()).toBe('<p>one</p>');
  build('<p>two</p>', 'one()');
  expect(await (await fetch(`${url}/`)).text()).toBe('<p>two</p>');
});

test('the page is open to all, asked for anew, and bound to this cluster', async () => {
  build('<p>one</p>', 'one()');
  const { status, headers } = await fetch(`${url}/`);
  expect(status).toBe(200);
  expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(headers.get('cache-control')).toBe('no-cache');
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  const policy = headers.get('content-security-policy')!.split('; ');
  expect(policy).toContain("default-src 'self'");
  expect(policy).toContain("connect-src 'self' http://127.0.0.1:4201 http://127.0.0.1:4202");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy.join(' ')).not.toContain('unsafe');
});

test('what it is made of is kept for ever, and sent small', async () => {
  build('<p>one</p>', 'one();'.repeat(1000));
  const small = await fetch(`${url}/assets/index-AbC_12.js`);
  expect(small.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  expect(small.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
  expect(small.headers.get('content-encoding')).toBe('gzip');
  expect(Number(small.headers.get('content-length'))).toBeLessThan(500);
  expect(await small.text()).toBe('one();'.repeat(1000));
  const plain = await fetch(`${url}/assets/index-AbC_12.js`, { headers: { 'accept-encoding': 'identity' } });
  expect(plain.headers.get('content-encoding')).toBeNull();
  expect(await plain.text()).toBe('one();'.repeat(1000));
});

test.each([
  'assets/none.js',
  'assets/..%2Findex.html',
  'assets/..%2F..%2Fsecret.js',
  'assets/.hidden.js',
  'assets/%00.js',
  'index.html',
])('%s is not there', async (path) => {
  build('<p>one</p>', 'one()');
  expect(await ask(`${url}/${path}`)).toMatchObject({ status: 404, json: { error: { code: 'NOT_FOUND' } } });
});
