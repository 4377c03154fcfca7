/**
 * Sixteen clients of the public kind, unmodified and with their default options, while partitions and regions come and go. Every
 * write that a client was told had succeeded is there in the end; all sixteen write again; and the checkers find nothing wrong
 * with what anybody was told. How long they do not write is measured by `npm run bench:failover`.
 */
import { ConsistencyLevel } from '@azure/cosmos';
import { partitionSetsOf } from 'baton/server';
import { Random } from 'baton/sim';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { SESSION_PLANTS, STRONG_PLANTS } from '../chaos/plants.ts';
import { Recorder } from '../chaos/record.ts';
import { chosenSeed } from '../process/support/seed.ts';
import { until } from '../support/until.ts';
import { Doors } from './doors.ts';
import { documentsOf, FeedReader, judge, missing, recordingsOf, setOf } from './evidence.ts';
import { Writer } from './writers.ts';

const REGIONS = ['west', 'east', 'north'];
const [HOME] = REGIONS as [string];
const WRITERS = 16;
const SETS = 4;
const DOCUMENTS = 3;
const THINK_MS = 60;
/** Of a client, before anything is done to the cluster. */
const WARM = 3;
const WINDOW_MS = 1500;
const HOOK_MS = 280_000;

/** Defects that can be put into a recording of this kind, each of which a checker must see. */
const PLANTED: ReadonlySet<string> = new Set([
  'strong.kept',
  'strong.order',
  'eventual.written',
  'log.once',
  'log.condition',
  'feed.repetition',
  'session.read-your-writes',
]);

const seed = chosenSeed();
let doors: Doors;
let recorder: Recorder;
let feed: FeedReader;
let following: Promise<void>;
let owner: (id: string) => string;

beforeAll(async () => {
  doors = await Doors.open({
    regions: REGIONS,
    acceptors: 5,
    partitionSets: SETS,
    consistency: 'Strong',
  });
  recorder = new Recorder('Strong', doors.partitionSets);
  const places = partitionSetsOf(doors.cluster.config);
  owner = (id) => setOf(places, id);
  feed = new FeedReader(container(doors.client('north')), owner);
  following = feed.run();
}, HOOK_MS);

afterAll(() => doors?.close(), HOOK_MS);

function container(client: ReturnType<Doors['client']>) {
  return client.database('main').container('items');
}

class Crew {
  readonly #writers: readonly Writer[];
  readonly #working: readonly Promise<void>[];
  #isOver = false;

  /** Through the door of a region, or the global one; every second one asks for Session, the others for nothing. */
  constructor(name: string, region: string | undefined) {
    const documents = documentsOf(partitionSetsOf(doors.cluster.config), DOCUMENTS);
    this.#writers = Array.from({ length: WRITERS }, (_, at) => {
      const isSession = at % 2 === 1;
      const options = isSession ? { consistencyLevel: ConsistencyLevel.Session } : {};
      return new Writer({
        name: `${name}${at}`,
        container: container(doors.client(region, options)),
        recorder,
        random: new Random(seed, at),
        documents,
        setOf: owner,
        level: isSession ? 'Session' : 'Strong',
        thinkMs: THINK_MS,
      });
    });
    this.#working = this.#writers.map((writer) => writer.run(() => this.#isOver));
  }

  /** Resolves when all have begun. */
  async warmUp(): Promise<void> {
    await until('every client writes', () =>
      this.#writers.every(({ acknowledged }) => acknowledged.length >= WARM),
    );
  }

  /** Sixteen of sixteen write again, and every partition-set is written again. */
  async allWriteAgain(since: number): Promise<void> {
    await until('every client writes again', () => {
      const silent = this.#writers.filter((one) => one.wroteAfter(since) === undefined);
      if (silent.length === 0) return true;
      throw new Error(`${silent.map(({ name }) => name).join(', ')} have not`);
    });
    await until('every partition-set is written again', () => {
      const written = new Set(this.#since(since).map(({ partitionSet }) => partitionSet));
      const lacking = doors.partitionSets.filter((name) => !written.has(name));
      if (lacking.length === 0) return true;
      throw new Error(`${lacking.join(', ')} are not`);
    });
  }

  /** Until each partition-set is written through this door, and no other. */
  async allWriteAt(doorOf: (partitionSet: string) => string): Promise<void> {
    await until('every partition-set is written at its door', () => {
      const recent = this.#since(performance.now() - WINDOW_MS);
      const astray = recent.find(({ partitionSet, endpoint }) => endpoint !== doorOf(partitionSet));
      if (astray !== undefined) throw new Error(`${astray.partitionSet} is written at ${astray.endpoint}`);
      const written = new Set(recent.map(({ partitionSet }) => partitionSet));
      return written.size === doors.partitionSets.length;
    });
  }

  /** The doors that partition-sets were written through since then. */
  doorsSince(moment: number, partitionSets: readonly string[]): readonly string[] {
    const written = this.#since(moment).filter((one) => partitionSets.includes(one.partitionSet));
    return [...new Set(written.map(({ endpoint }) => endpoint))];
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#working);
  }

  #since(moment: number) {
    return this.#writers.flatMap(({ acknowledged }) => acknowledged.filter(({ start }) => start >= moment));
  }
}

/** As it was before the test: everything runs, and the first region writes. */
async function restore(): Promise<void> {
  await doors.cluster.heal();
  await doors.calm();
  const views = await doors.views();
  for (const name of doors.partitionSets)
    if (views.get(name)?.writeRegion !== HOME) await doors.switchOver(name, HOME);
  await doors.calm(HOME);
}

describe('with the doors of the regions', () => {
  let crew: Crew;

  beforeAll(async () => {
    crew = new Crew('r', HOME);
    await crew.warmUp();
  }, HOOK_MS);

  beforeEach(restore, HOOK_MS);
  afterAll(() => crew?.end(), HOOK_MS);

  test('a partition-set that an operator moves is followed, and the others stay where they are', async () => {
    const [moved, ...others] = doors.partitionSets as [string, ...string[]];
    const begun = performance.now();
    await doors.switchOver(moved, 'east');
    await doors.calm('east', [moved]);
    await crew.allWriteAgain(performance.now());
    await crew.allWriteAt((name) => doors.endpoint(name === moved ? 'east' : HOME));
    expect(crew.doorsSince(begun, others)).toEqual([doors.endpoint(HOME)]);
    await doors.switchOver(moved, HOME);
    await doors.calm(HOME);
    await crew.allWriteAgain(performance.now());
  });

  test('the nodes of a region are killed behind its door: all write again, and follow when it is back', async () => {
    const begun = performance.now();
    await doors.cluster.kill(HOME);
    await crew.allWriteAgain(begun);
    await doors.left(HOME);
    await crew.allWriteAgain(performance.now());
    await doors.cluster.heal();
    await doors.calm(HOME);
    await crew.allWriteAgain(performance.now());
    await crew.allWriteAt(() => doors.endpoint(HOME));
  });
});

describe('with the global door', () => {
  let crew: Crew;

  beforeAll(async () => {
    await restore();
    crew = new Crew('g', undefined);
    await crew.warmUp();
  }, HOOK_MS);

  afterAll(() => crew?.end(), HOOK_MS);

  test('a region goes with its door and an acceptor: all write again, and when it has its writes back', async () => {
    const begun = performance.now();
    await Promise.all([HOME, doors.doorOf(HOME), 'a1'].map((name) => doors.cluster.kill(name)));
    await crew.allWriteAgain(begun);
    await doors.left(HOME);
    await crew.allWriteAgain(performance.now());
    await restore();
    await crew.allWriteAgain(performance.now());
  });
});

describe('afterwards', () => {
  test('all that was acknowledged is there, and nobody was told anything wrong', async () => {
    const { resources } = await container(doors.client()).items.readAll<{ id: string }>().fetchAll();
    expect(missing(recorder, new Set(resources.map(({ id }) => id)))).toEqual([]);
    feed.end();
    await following;
    const recordings = await recordingsOf(doors, recorder, feed);
    for (const [name, recording] of recordings) expect(judge(recording), name).toEqual([]);
    expect(recorder.wrongs).toEqual([]);
    expect(doors.lost).toEqual([]);
    expect(recorder.counts.get('write: ok')).toBeGreaterThan(WRITERS * 50);
    const [recording] = recordings.values();
    const reads = recording!.record.operations.filter(({ kind }) => kind === 'read');
    expect(new Set(reads.map(({ level }) => level))).toEqual(new Set(['Strong', 'Session']));
    const plants = [...STRONG_PLANTS, ...SESSION_PLANTS].filter(({ rule }) => PLANTED.has(rule));
    expect(plants.length).toBeGreaterThanOrEqual(PLANTED.size);
    for (const { name, rule, plant } of plants)
      expect(
        judge(plant(recording!)).map((found) => found.rule),
        name,
      ).toContain(rule);
  });
});
