/**
 * What a store must do to keep an acceptor's memory, put to the test on the real one: of several writers one wins, a version
 * never comes back, what was answered is there for everybody. A store that fails one of these can forget a promise, and then
 * two regions write.
 *
 * Each check throws a `Defect` with what it saw, or returns a remark. That each notices what it is there for is shown with
 * planted defects, in the test beside this file.
 */
import type { AcceptorStore, StoreVersion, WriteResult } from '../../caspaxos/index.ts';
import {
  BATCH_SIZE,
  CHECK_PREFIX,
  CREATE_SLOTS,
  Defect,
  KEYS,
  ODD_KEYS,
  printed,
  type Workplace,
} from './workplace.ts';

export interface StoreCheck {
  readonly name: string;
  /** What holds when nothing was found. */
  readonly says: string;
  readonly run: (place: Workplace) => Promise<string | undefined>;
}

export const STORE_CHECKS: readonly StoreCheck[] = [
  { name: 'creates', says: 'of several who create a document, exactly one succeeds', run: creates },
  { name: 'replaces', says: 'of several who replace a version, exactly one succeeds', run: replaces },
  { name: 'counter', says: 'no increment by several connections at once is lost', run: counter },
  {
    name: 'stale versions',
    says: 'a version that was replaced, or is of another document, is refused',
    run: stale,
  },
  { name: 'new versions', says: 'a version never comes back, not even with the same text', run: versions },
  { name: 'visible', says: 'an answered write is there at once, for every connection', run: visible },
  { name: 'batches', says: 'of one batch, each write stands on its own condition', run: batches },
  { name: 'keys and texts', says: 'any key and any text comes back as it was written', run: oddities },
  { name: 'list', says: 'a list has every key once, page by page', run: list },
];

const CREATES_PER_CHECK = 4;

async function creates(place: Workplace): Promise<string | undefined> {
  const slots = Array.from({ length: CREATE_SLOTS }, (_, slot) => KEYS.create(slot));
  const found = await place.begin(slots);
  const free = slots.filter((_, slot) => found[slot] === undefined).slice(0, CREATES_PER_CHECK);
  for (const key of free) await race(place, key, undefined, 'create');
  const used = found.findIndex((document) => document !== undefined);
  if (used !== -1) {
    const results = await everybody(place, slots[used]!, undefined, 'again');
    if (results.some(({ result }) => result === 'written')) {
      throw new Defect(`A create of ${printed(slots[used]!)} succeeded, which was there already.`);
    }
  }
  if (free.length > 0) return undefined;
  return (
    `earlier checks used up all ${CREATE_SLOTS} documents that can be created, so creates of new ones were not raced; ` +
    'name another prefix, table or container in the URL to race them again'
  );
}

async function replaces(place: Workplace): Promise<undefined> {
  let version = await place.settle(KEYS.race, 'start');
  for (let round = 0; round < place.races; round += 1) {
    const won = await race(place, KEYS.race, version, String(round));
    const late = await place.write(KEYS.race, 'late', version, place.connection(round));
    if (late.result === 'written') {
      await place.look(KEYS.race);
      throw new Defect('A write with a version that had been replaced was carried out.');
    }
    version = won;
  }
}

/** One round: everybody tries, one wins, and everybody sees who. */
async function race(
  place: Workplace,
  key: string,
  expected: StoreVersion | undefined,
  round: string,
): Promise<StoreVersion> {
  const results = await everybody(place, key, expected, round);
  const winners = [...results.keys()].filter((at) => results[at]!.result === 'written');
  const seen = await place.look(key, place.connection((winners[0] ?? 0) + 1));
  if (winners.length !== 1) {
    const what = expected === undefined ? 'created the same document' : 'replaced the same version';
    throw new Defect(
      `${winners.length === 0 ? 'None' : winners.length} of ${results.length} writers at once ${what}, instead of one.`,
    );
  }
  const winner = results[winners[0]!] as { readonly version: StoreVersion };
  if (seen?.text !== place.text(`${round}/${winners[0]!}`)) {
    throw new Defect('After a race, the document did not hold what its only winner had written.');
  }
  if (seen.version !== winner.version) {
    throw new Defect('The version that a writer was told is not the version that a reader sees.');
  }
  return winner.version;
}

async function everybody(
  place: Workplace,
  key: string,
  expected: StoreVersion | undefined,
  round: string,
): Promise<readonly WriteResult[]> {
  return Promise.all(
    place.connections.map((store, at) => place.write(key, `${round}/${at}`, expected, store)),
  );
}

const INCREMENTS = 5;
/** Each lost try is somebody else's success, of which there are only so many. */
const MOST_TRIES = 200;

async function counter(place: Workplace): Promise<undefined> {
  await place.settle(KEYS.counter, '0');
  const increment = async (store: AcceptorStore): Promise<void> => {
    let done = 0;
    for (let tries = 0; done < INCREMENTS; tries += 1) {
      if (tries === MOST_TRIES)
        throw new Defect('A document that several connections increment stands still.');
      const document = await place.look(KEYS.counter, store);
      const count = Number(document?.text.split(' ')[1]);
      const result = await place.write(KEYS.counter, String(count + 1), document?.version, store);
      if (result.result === 'written') done += 1;
    }
  };
  await Promise.all(place.connections.map(increment));
  const inAll = place.connections.length * INCREMENTS;
  const document = await place.afresh((store) => place.look(KEYS.counter, store));
  if (document?.text !== place.text(String(inAll))) {
    const count = document?.text.split(' ')[1] ?? 'nothing';
    throw new Defect(`After ${inAll} increments that were answered, the counter is at ${count}.`);
  }
}

async function stale(place: Workplace): Promise<undefined> {
  await place.begin([KEYS.absent]);
  const replaced: StoreVersion[] = [];
  let version = await place.settle(KEYS.stale, 'first');
  for (let at = 0; at < 5; at += 1) {
    replaced.push(version);
    const result = await place.write(KEYS.stale, `next ${at}`, version);
    if (result.result !== 'written') {
      await place.look(KEYS.stale);
      throw new Defect(
        'A write with the present version was refused, though nobody else writes the document.',
      );
    }
    version = result.version;
  }
  const attempts: readonly (readonly [string, StoreVersion | undefined, string])[] = [
    ...replaced.map((old) => [KEYS.stale, old, 'with a version that had been replaced'] as const),
    [KEYS.stale, undefined, 'on the condition that there is no document'],
    [KEYS.absent, version, "with another document's version, of a document that is not there,"],
  ];
  for (const [at, [key, expected, how]] of attempts.entries()) {
    const result = await place.write(key, 'stale', expected, place.connection(at));
    if (result.result === 'written') throw new Defect(`A write ${how} was carried out.`);
  }
  const document = await place.afresh((store) => place.look(KEYS.stale, store));
  if (document?.text !== place.text('next 4')) throw new Defect('A write that was refused was carried out.');
}

const VERSIONS = 12;

async function versions(place: Workplace): Promise<undefined> {
  let version = await place.settle(KEYS.versions, 'even');
  const given = new Set<StoreVersion>([version]);
  for (let at = 1; at < VERSIONS; at += 1) {
    // A text that was there before, and every third time the very same again.
    const body = at % 3 === 0 ? 'even' : at % 2 === 0 ? 'even' : 'odd';
    const result = await place.write(KEYS.versions, body, version, place.connection(at));
    if (result.result !== 'written') {
      await place.look(KEYS.versions);
      throw new Defect(
        'A write with the present version was refused, though nobody else writes the document.',
      );
    }
    if (given.has(result.version)) {
      throw new Defect(
        'A document got a version that it had had before: an old write could be taken for a new one.',
      );
    }
    given.add(result.version);
    version = result.version;
  }
}

const SIGHTINGS = 12;

async function visible(place: Workplace): Promise<undefined> {
  let version = await place.settle(KEYS.visible, 'start');
  for (let at = 0; at < SIGHTINGS; at += 1) {
    const result = await place.write(KEYS.visible, String(at), version, place.connection(at));
    if (result.result !== 'written') {
      await place.look(KEYS.visible);
      throw new Defect('A write with the version of an answered write was refused.');
    }
    version = result.version;
    // Everybody looks every time: one that reads from its own memory has then seen the last write, and not this one.
    const seen = await Promise.all(place.connections.map((store) => place.look(KEYS.visible, store)));
    if (at % 4 === 3) seen.push(await place.afresh((store) => place.look(KEYS.visible, store)));
    if (seen.some((document) => document?.text !== place.text(String(at)) || document.version !== version)) {
      throw new Defect('Another connection did not see a write that had been answered.');
    }
  }
}

async function batches(place: Workplace): Promise<undefined> {
  const keys = Array.from({ length: BATCH_SIZE }, (_, at) => KEYS.batch(at));
  await place.begin(keys);
  const old: StoreVersion[] = [];
  for (let at = 0; at < 4; at += 1) old.push(await place.settle(keys[at]!, `old ${at}`));
  const replaced = await place.settle(keys[1]!, 'newer 1');
  const write = (at: number, expected: StoreVersion | undefined) => ({
    key: keys[at]!,
    text: place.text(`batch ${at}`),
    expected,
  });
  const results = await place
    .connection(0)
    .write([write(0, old[0]), write(1, old[1]), write(2, undefined), write(3, old[3])]);
  const failed = results.find(({ result }) => result === 'failed');
  if (failed?.result === 'failed') throw failed.error;
  const documents = await place.afresh((store) => store.read(keys.slice(0, 4)));
  for (const [at, document] of documents.entries()) place.known(keys[at]!, document);
  const told = results.map(({ result }) => result).join(', ');
  if (told !== 'written, conflict, conflict, written') {
    throw new Defect(`A batch of two writes that hold and two that do not ended as ${told || 'nothing'}.`);
  }
  const bodies = ['batch 0', 'newer 1', 'old 2', 'batch 3'].map((body) => place.text(body));
  if (documents.some((document, at) => document?.text !== bodies[at]) || documents[1]?.version !== replaced) {
    throw new Defect('After a batch, the documents are not what its answers say.');
  }
}

const ODD_TEXT = 'null\u0000 line\r\nbreak 鍵🔑 \u2028 "quoted" \\ %41 end ';

async function oddities(place: Workplace): Promise<undefined> {
  const found = await place.begin(ODD_KEYS);
  const text = (at: number): string => place.text(`${at} ${ODD_TEXT}`);
  const results = await place
    .connection(0)
    .write(ODD_KEYS.map((key, at) => ({ key, text: text(at), expected: found[at]?.version })));
  const documents = await place.connection(1).read(ODD_KEYS);
  for (const [at, key] of ODD_KEYS.entries()) {
    const document = place.known(key, documents[at]);
    const result = results[at];
    if (result?.result === 'failed') throw result.error;
    if (result?.result !== 'written') throw new Defect(`The key ${printed(key)} is taken for another one.`);
    if (document === undefined)
      throw new Defect(`What was written under the key ${printed(key)} is not there.`);
    if (document.text !== text(at))
      throw new Defect(`Under the key ${printed(key)}, text does not come back as it was written.`);
  }
}

const PAGE = 40;

async function list(place: Workplace): Promise<undefined> {
  const found: string[] = [];
  for (let after = CHECK_PREFIX; ; after = found.at(-1)!) {
    const page = await place.connection(0).list(after, PAGE);
    if (page.length > PAGE) throw new Defect(`A page of at most ${PAGE} keys has ${page.length}.`);
    const ours = page.filter((key) => key.startsWith(CHECK_PREFIX));
    found.push(...ours);
    if (ours.length === 0 || ours.length < page.length) break;
    if (found.length > 10 * (CREATE_SLOTS + BATCH_SIZE + ODD_KEYS.length))
      throw new Defect('A list does not end.');
  }
  if (new Set(found).size !== found.length) throw new Defect('A list has a key twice.');
  const listed = new Set(found);
  const missing = [KEYS.race, KEYS.counter, ...ODD_KEYS].find((key) => !listed.has(key));
  if (missing !== undefined) throw new Defect(`A list lacks the key ${printed(missing)}.`);
}
