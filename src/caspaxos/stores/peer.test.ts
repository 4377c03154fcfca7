import { expect, test } from 'vitest';
import { loadPeer } from './peer.ts';

test('a package that is there is loaded', async () => {
  expect(await loadPeer('x', 'x', () => import('node:path'))).toHaveProperty('join');
});

test('one that is not says what to install', async () => {
  const name = 'a-package-that-nobody-has';
  await expect(
    loadPeer('store', 'store-client', () => import(/* @vite-ignore */ name)),
  ).rejects.toMatchObject({
    code: 'PACKAGE_MISSING',
    message: expect.stringMatching(/store URLs .* run: npm install store-client$/),
  });
});

test('one that fails to load tells its own story', async () => {
  const broken = new Error('broken');
  await expect(loadPeer('x', 'x', () => Promise.reject(broken))).rejects.toBe(broken);
});
