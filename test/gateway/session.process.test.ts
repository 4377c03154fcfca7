/**
 * An account at Session, where regions lag behind the writer: clients that write in one region and read in another, as most do that
 * name the region nearest to them. Each sees its own writes, and what it was shown once, through every door; also when a partition-set
 * is moved meanwhile.
 */
import { ConsistencyLevel } from '@azure/cosmos';
import { partitionSetsOf } from 'baton/server';
import { Random } from 'baton/sim';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { SESSION_PLANTS } from '../chaos/plants.ts';
import { Recorder } from '../chaos/record.ts';
import { chosenSeed } from '../process/support/seed.ts';
import { until } from '../support/until.ts';
import { newContainer } from './calls.ts';
import { Doors } from './doors.ts';
import { documentsOf, FeedReader, judge, recordingsOf, setOf } from './evidence.ts';
import { Writer } from './writers.ts';

const WRITERS = 8;
const ROUNDS = 5;
const DOCUMENTS = 2;
/** Of each client, before and after the move. */
const WRITES = 60;
const PLANTED: ReadonlySet<string> = new Set(['session.read-your-writes', 'session.token']);

let doors: Doors;

beforeAll(async () => {
  doors = await Doors.open({
    regions: ['west', 'east'],
    acceptors: 1,
    partitionSets: 2,
    consistency: 'Session',
  });
}, 280_000);

beforeEach(async () => {
  await doors.cluster.heal();
  await doors.calm();
}, 280_000);

afterAll(() => doors?.close());

function containerOf(region: string, options: Parameters<Doors['client']>[1] = {}) {
  return doors.client(region, options).database('main').container('items');
}

test('a token of one door makes every door show at least that', async () => {
  const here = await newContainer(doors.client('west').database('main'));
  const connectionPolicy = { preferredLocations: ['east'] };
  const there = doors
    .client('east', { consistencyLevel: ConsistencyLevel.Session, connectionPolicy })
    .database('main')
    .container(here.id);
  for (let n = 0; n < ROUNDS; n += 1) {
    // When it wakes up it has more to take in than fits into one message.
    await doors.cluster.pause('east');
    await here.items.executeBulkOperations(
      Array.from({ length: 100 }, (_, at) => ({
        operationType: 'Upsert',
        partitionKey: 'p',
        resourceBody: { id: `bulk${at}`, pk: 'p', text: 'x'.repeat(20_000), n },
      })),
    );
    const { headers } = await here.items.upsert({ id: 'token', pk: 'p', n });
    const sessionToken = String(headers['x-ms-session-token']);
    const reading = there.item('token', 'p').read({ sessionToken });
    await doors.cluster.resume('east');
    expect((await reading).resource).toMatchObject({ n });
  }
});

test('sessions that write in one region and read in another see what they have seen', async () => {
  const recorder = new Recorder('Session', doors.partitionSets);
  const places = partitionSetsOf(doors.cluster.config);
  const owner = (id: string): string => setOf(places, id);
  const seed = chosenSeed();
  let isOver = false;
  const writers = Array.from({ length: WRITERS }, (_, at) => {
    const preferredLocations = [at % 2 === 0 ? 'east' : 'west'];
    const consistencyLevel = ConsistencyLevel.Session;
    return new Writer({
      name: `s${at}`,
      container: containerOf('west', { consistencyLevel, connectionPolicy: { preferredLocations } }),
      recorder,
      random: new Random(seed, at),
      documents: documentsOf(places, DOCUMENTS),
      setOf: owner,
      level: 'Session',
      thinkMs: 5,
    });
  });
  const working = writers.map((writer) => writer.run(() => isOver));
  const allWrite = async (times: number): Promise<void> => {
    await until(`every client writes ${times} times`, () =>
      writers.every(({ acknowledged }) => acknowledged.length >= times),
    );
  };
  await allWrite(WRITES);
  await doors.switchOver(doors.partitionSets[0]!, 'east');
  await doors.calm('east', [doors.partitionSets[0]!]);
  await allWrite(Math.max(...writers.map(({ acknowledged }) => acknowledged.length)) + WRITES);
  isOver = true;
  await Promise.all(working);
  await doors.calm();
  const feed = new FeedReader(containerOf('east'), owner);
  feed.end();
  await feed.run();
  const recordings = await recordingsOf(doors, recorder, feed);
  expect([...recordings.values()].flatMap(judge)).toEqual([]);
  expect(recorder.wrongs).toEqual([]);
  const recording = recordings.get(doors.partitionSets[1]!)!;
  for (const { name, rule, plant } of SESSION_PLANTS.filter((one) => PLANTED.has(one.rule)))
    expect(
      judge(plant(recording)).map((one) => one.rule),
      name,
    ).toContain(rule);
});
