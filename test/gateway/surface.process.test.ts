/** Everything that the public client can ask of the account, through the doors of a real cluster. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Doors } from './doors.ts';
import { itemTests } from './items.ts';
import { manyTests } from './many.ts';
import { metadataTests } from './metadata.ts';
import { rightsTests } from './rights.ts';

let opened: Doors;

beforeAll(async () => {
  opened = await Doors.open({
    regions: ['west', 'east'],
    acceptors: 3,
    partitionSets: 4,
    consistency: 'Strong',
  });
}, 280_000);

afterAll(() => opened?.close());

const doors = (): Doors => opened;

metadataTests(doors);
itemTests(doors);
manyTests(doors);
rightsTests(doors);

test('no process ended by itself', () => {
  expect(opened.lost).toEqual([]);
});
