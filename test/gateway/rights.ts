/** Who may do what, how much of it, and for how long things stay. */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { Container } from '@azure/cosmos';
import { describe, expect, test } from 'vitest';
import { until } from '../support/until.ts';
import { codeOf, failureOf, type Item, newContainer } from './calls.ts';
import type { Doors } from './doors.ts';

const NO_RETRIES = { maxRetryAttemptCount: 0, fixedRetryIntervalInMilliseconds: 0, maxWaitTimeInSeconds: 0 };

export function rightsTests(doors: () => Doors): void {
  const withKey = (key: string): Container =>
    doors().client('west', { key }).database('main').container('items');

  describe('keys', () => {
    test('both full keys write', async () => {
      for (const name of ['primary', 'secondary'] as const) {
        const { items } = withKey(doors().key(name));
        expect((await items.upsert({ id: name })).statusCode).toBeLessThan(300);
      }
    });

    test('read-only keys read, and write nothing', async () => {
      await withKey(doors().key()).items.upsert({ id: 'seen' });
      for (const name of ['primaryReadOnly', 'secondaryReadOnly'] as const) {
        const container = withKey(doors().key(name));
        expect((await container.item('seen', 'seen').read()).resource).toMatchObject({ id: 'seen' });
        const { resources } = await container.items.readAll<Item>().fetchAll();
        expect(resources.map(({ id }) => id)).toContain('seen');
        const refused = [
          () => container.items.create({ id: 'no' }),
          () => container.items.upsert({ id: 'seen' }),
          () => container.item('seen', 'seen').delete(),
          () => container.item('seen', 'seen').patch([{ op: 'set', path: '/a', value: 1 }]),
          () => container.items.batch([{ operationType: 'Delete', id: 'seen' }], 'seen'),
          () => container.delete(),
          () => container.database.delete(),
        ];
        for (const call of refused) expect(await codeOf(call())).toBe(403);
      }
    });

    test('a key that is none is refused, and the refusal says nothing of keys', async () => {
      const wrong = randomBytes(64).toString('base64');
      const { code, message } = await failureOf(withKey(wrong).item('seen', 'seen').read());
      expect(code).toBe(401);
      for (const name of ['primary', 'secondary'] as const) expect(message).not.toContain(doors().key(name));
      expect(message).not.toContain(wrong);
    });

    test('a key is changed while the other one works on', async () => {
      const before = doors().key('secondary');
      const source = doors().cluster.config.keys.secondary!;
      if (source.kind !== 'file') throw new Error('the keys of a local cluster are in files');
      const after = randomBytes(64).toString('base64');
      writeFileSync(source.file, after);
      process.kill(doors().pidOf(doors().doorOf('west')), 'SIGHUP');
      const isRefused = async (key: string): Promise<boolean> => {
        try {
          await withKey(key).item('seen', 'seen').read();
          return false;
        } catch (error) {
          return (error as { code?: number }).code === 401;
        }
      };
      await until('the old key is refused', () => isRefused(before));
      expect(await isRefused(after)).toBe(false);
      expect(await isRefused(doors().key())).toBe(false);
    });
  });

  test('items live as long as they were told to', async () => {
    const container = await newContainer(doors().client('west').database('main'), { defaultTtl: -1 });
    const isGone = async (from: Container, id: string): Promise<boolean> =>
      (await from.item(id, 'p').read()).statusCode === 404;
    await container.items.create({ id: 'long', pk: 'p', ttl: 3600 });
    expect((await container.item('long', 'p').read()).resource).toMatchObject({ ttl: 3600 });
    await container.items.create({ id: 'endless', pk: 'p' });
    const { resource } = await container.items.create({ id: 'short', pk: 'p', ttl: 1 });
    expect(resource).toMatchObject({ ttl: 1 });
    await until('the item is gone', () => isGone(container, 'short'));
    const { resources } = await container.items.readAll<Item>().fetchAll();
    expect(resources.map(({ id }) => id).toSorted()).toEqual(['endless', 'long']);
    expect((await container.items.create({ id: 'short', pk: 'p' })).statusCode).toBe(201);
    const brief = await newContainer(doors().client('west').database('main'), { defaultTtl: 1 });
    await brief.items.create({ id: 'any', pk: 'p' });
    await until('the item is gone', () => isGone(brief, 'any'));
  });

  test('beyond its throughput a container says how long to wait, and the client waits', async () => {
    const container = await newContainer(doors().client('west').database('main'), { throughput: 400 });
    const impatient = doors()
      .client('west', { connectionPolicy: { retryOptions: NO_RETRIES } })
      .database('main')
      .container(container.id);
    // So many units at once that the container owes some seconds' worth.
    await container.items.upsert({ id: 'large', pk: 'p', text: 'x'.repeat(400 * 1024) });
    const { code, substatus, retryAfterInMs } = await failureOf(
      impatient.items.upsert({ id: 'small', pk: 'p' }),
    );
    expect({ code, substatus }).toEqual({ code: 429, substatus: 3200 });
    expect(retryAfterInMs).toBeGreaterThan(0);
    const { headers } = await container.items.upsert({ id: 'small', pk: 'p' });
    expect(Number(headers['x-ms-throttle-retry-count'])).toBeGreaterThan(0);
  });
}
