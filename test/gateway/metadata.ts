/** What the account, its databases and its containers look like to the public client. */
import { type PartitionKeyDefinitionVersion, PartitionKeyKind } from '@azure/cosmos';
import { describe, expect, test } from 'vitest';
import { codeOf, collect, failureOf, newContainer } from './calls.ts';
import type { Doors } from './doors.ts';

export function metadataTests(doors: () => Doors): void {
  describe('the account', () => {
    test('lists the doors of all regions, spelled alike, and switches per-partition failover on', async () => {
      const { resource } = await doors().client('west').getDatabaseAccount();
      const readable = resource!.readableLocations.map(({ name, databaseAccountEndpoint }) => [
        name,
        databaseAccountEndpoint.replace(/\/$/, ''),
      ]);
      expect(readable).toEqual(doors().regions.map((region) => [region, doors().endpoint(region)]));
      const spelled = resource!.readableLocations.map(
        ({ databaseAccountEndpoint }) => databaseAccountEndpoint,
      );
      for (const { databaseAccountEndpoint } of resource!.writableLocations)
        expect(spelled).toContain(databaseAccountEndpoint);
      expect(resource).toMatchObject({
        enableMultipleWritableLocations: false,
        enablePerPartitionFailover: true,
        consistencyPolicy: 'Strong',
      });
    });

    test('lists only itself at the global door', async () => {
      const { resource } = await doors().client().getDatabaseAccount();
      expect(resource!.readableLocations).toHaveLength(1);
      expect(resource!.writableLocations).toEqual(resource!.readableLocations);
      const { databaseAccountEndpoint } = resource!.readableLocations[0]!;
      expect(databaseAccountEndpoint.replace(/\/$/, '')).toBe(doors().endpoint());
    });
  });

  describe('databases', () => {
    test('are made, found, listed and removed', async () => {
      const { databases } = doors().client('west');
      const { database, statusCode, resource } = await databases.create({ id: 'shop' });
      expect(statusCode).toBe(201);
      expect(resource).toMatchObject({ id: 'shop', _rid: expect.any(String), _etag: expect.any(String) });
      expect(await codeOf(databases.create({ id: 'shop' }))).toBe(409);
      expect((await databases.createIfNotExists({ id: 'shop' })).statusCode).toBe(200);
      expect((await databases.createIfNotExists({ id: 'shop 2 ü' })).statusCode).toBe(201);
      const listed = await databases.readAll().fetchAll();
      expect(listed.resources.map(({ id }) => id)).toEqual(
        expect.arrayContaining(['main', 'shop', 'shop 2 ü']),
      );
      const elsewhere = await doors().client('east').database('shop 2 ü').read();
      expect(elsewhere.resource!.id).toBe('shop 2 ü');
      expect((await database.delete()).statusCode).toBe(204);
      expect(await codeOf(database.read())).toBe(404);
      expect(await codeOf(database.delete())).toBe(404);
      await doors().client('east').database('shop 2 ü').delete();
    });
  });

  describe('containers', () => {
    test('are made with what they were given, found, changed and listed', async () => {
      const database = doors().client('west').database('main');
      const indexingPolicy = { indexingMode: 'consistent' as const, automatic: true };
      const container = await newContainer(database, { defaultTtl: 100, indexingPolicy });
      const { resource } = await container.read();
      expect(resource).toMatchObject({
        partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 },
        defaultTtl: 100,
        indexingPolicy,
      });
      expect(Buffer.from(resource!._rid.replaceAll('-', '/'), 'base64')).toHaveLength(8);
      const replaced = await container.replace({ ...resource!, id: container.id, defaultTtl: -1 });
      expect(replaced.resource).toMatchObject({ defaultTtl: -1, _rid: resource!._rid });
      expect((await database.containers.createIfNotExists({ id: container.id })).statusCode).toBe(200);
      expect(await codeOf(database.containers.create({ id: container.id }))).toBe(409);
      const ids = (await database.containers.readAll().fetchAll()).resources.map(({ id }) => id);
      expect(ids).toEqual(expect.arrayContaining(['items', container.id]));
    });

    test('that are removed are gone with their items, and made again they are others, and empty', async () => {
      const database = doors().client('west').database('main');
      const first = await newContainer(database);
      const before = (await first.read()).resource!;
      const rangesBefore = (await first.readPartitionKeyRanges().fetchAll()).resources;
      await first.items.create({ id: 'a', pk: 'a' });
      expect((await first.delete()).statusCode).toBe(204);
      expect(await codeOf(first.read())).toBe(404);
      const fresh = doors().client('east').database('main');
      const second = (await fresh.containers.create({ id: first.id, partitionKey: { paths: ['/pk'] } }))
        .container;
      const after = (await second.read()).resource!;
      expect(after._rid).not.toBe(before._rid);
      const ranges = (await second.readPartitionKeyRanges().fetchAll()).resources;
      const known = new Set(rangesBefore.map(({ id }) => id));
      expect(ranges.filter(({ id }) => known.has(id))).toEqual([]);
      expect((await second.item('a', 'a').read()).statusCode).toBe(404);
      expect((await second.items.create({ id: 'a', pk: 'a' })).statusCode).toBe(201);
    });

    test('with a partition key of several paths, or of the old version, are refused with a reason', async () => {
      const { containers } = doors().client('west').database('main');
      const several = { paths: ['/a', '/b'], kind: PartitionKeyKind.MultiHash, version: 2 };
      const old = { paths: ['/a'], kind: PartitionKeyKind.Hash, version: 1 as PartitionKeyDefinitionVersion };
      for (const partitionKey of [several, old]) {
        const { code, message } = await failureOf(containers.create({ id: 'never', partitionKey }));
        expect(code).toBe(400);
        expect(message).toMatch(/partition key/i);
      }
      expect(await codeOf(containers.create({ id: 'x'.repeat(256) }))).toBe(400);
    });

    test('have ranges that cover everything, with ids that no other container of the account has', async () => {
      const client = doors().client('west');
      await newContainer(client.database('main'));
      const seen: string[] = [];
      const all = await collect(client.database('main').containers.readAll().getAsyncIterator());
      for (const { id } of all) {
        const { resources } = await client.database('main').container(id).readPartitionKeyRanges().fetchAll();
        const ordered = resources.toSorted((a, b) => (a.minInclusive < b.minInclusive ? -1 : 1));
        expect(ordered[0]!.minInclusive).toBe('');
        expect(ordered.at(-1)!.maxExclusive).toBe('FF');
        for (const [at, { maxExclusive }] of ordered.slice(0, -1).entries())
          expect(ordered[at + 1]!.minInclusive).toBe(maxExclusive);
        seen.push(...resources.map((range) => range.id));
      }
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen).not.toContain('0');
    });

    test('have a throughput that can be read and changed', async () => {
      const container = await newContainer(doors().client('west').database('main'), { throughput: 5000 });
      const { resource, offer } = await container.readOffer();
      expect(resource!.content!.offerThroughput).toBe(5000);
      const content = { ...resource!.content!, offerThroughput: 6000 };
      await offer.replace({ ...resource!, content });
      expect((await container.readOffer()).resource!.content!.offerThroughput).toBe(6000);
    });
  });
}
