/**
 * The one check that needs a hand from outside: is everything that was answered still there when the server has been restarted? Settings tell
 * what a server means to keep; this tells what it has kept.
 *
 * Documents are written until the server goes away, and compared when it is back. Whoever restarts it is asked to do so, a person by a sentence
 * and a program by an event, and may choose how: a clean stop and a kill show different things, a pulled plug shows most.
 */
import type { AcceptorStore, StoreVersion } from '../../caspaxos/index.ts';
import { BATCH_SIZE, Defect, Disturbed, KEYS, printed, type Workplace } from './workplace.ts';

export const RESTART = {
  name: 'restart',
  says: 'what was answered before the server ended is there when it is back',
} as const;

export interface Restarting {
  /** Asks for a restart. */
  readonly ask: () => void;
  /** How long to wait for the server to end, and again for it to come back. */
  readonly waitMs: number;
  /** Monotonic. */
  readonly now: () => number;
  /** Ends early, with `false`, when somebody interrupts. */
  readonly sleep: (ms: number) => Promise<boolean>;
}

/** Between two writes, or two looks whether it is back: often enough to be in the middle of something. */
const BEAT_MS = 20;
/** A restart may be over before the next write: now and then it is asked whether the server is the one that it was. */
const BEATS_BETWEEN_LOOKS = 10;
const WRITERS = 4;

/** A document as it was answered; and what was written to it without an answer. */
interface Kept {
  readonly text: string;
  readonly version: StoreVersion;
  readonly perhaps?: string;
}

export async function restartStore(place: Workplace, restarting: Restarting): Promise<string> {
  const keys = Array.from({ length: BATCH_SIZE }, (_, at) => KEYS.batch(at));
  const kept = await startingPoint(place, keys);
  let round = 0;
  let answered = 0;
  const write = async (): Promise<void> => {
    round += 1;
    const some = keys.filter((_, at) => at % WRITERS === round % WRITERS);
    await writeSome(place, some, kept, round);
    answered += some.length;
  };
  while (round < WRITERS) await write();
  const watcher = place.connection(WRITERS - 1);
  await untilRestarted(restarting, {
    beat: write,
    life: async () => {
      await watcher.lookAgain?.();
      await watcher.read([keys[0]!]);
      return watcher.life;
    },
    isStillThere: () => place.afresh((store) => compare(store, kept)),
  });
  await place.afresh((store) => compare(store, kept));
  return `${answered} writes were answered before it ended`;
}

async function startingPoint(place: Workplace, keys: readonly string[]): Promise<Map<string, Kept>> {
  for (const [at, document] of (await place.begin(keys)).entries())
    if (document === undefined) await place.settle(keys[at]!, 'before the restart');
  const kept = new Map<string, Kept>();
  for (const [at, document] of (await place.connection(0).read(keys)).entries()) {
    if (document === undefined)
      throw new Defect(`What was written under the key ${printed(keys[at]!)} is not there.`);
    kept.set(keys[at]!, document);
  }
  return kept;
}

async function writeSome(
  place: Workplace,
  keys: readonly string[],
  kept: Map<string, Kept>,
  round: number,
): Promise<void> {
  const text = place.text(`restart ${round}`);
  for (const key of keys) kept.set(key, { ...kept.get(key)!, perhaps: text });
  const writes = keys.map((key) => ({ key, text, expected: kept.get(key)!.version }));
  const results = await place.connection(round).write(writes);
  const failures: Error[] = [];
  for (const [at, key] of keys.entries()) {
    const result = results[at]!;
    if (result.result === 'written') kept.set(key, { text, version: result.version });
    else if (result.result === 'failed') failures.push(result.error);
    else {
      await place.look(key);
      throw new Defect(
        `A write of ${printed(key)} with the version just read was refused, though nobody else writes it.`,
      );
    }
  }
  if (failures.length > 0) throw failures[0]!;
}

export interface Watched {
  /** Gives the server something to keep. */
  readonly beat: () => Promise<void>;
  /** Asks the server which life of it this is; undefined: it cannot tell. Rejects while it is not there. */
  readonly life: () => Promise<string | undefined>;
  /** After a failure that was no restart. */
  readonly isStillThere?: () => Promise<void>;
}

/** Asks for a restart. Resolves when the server has ended and is back. */
export async function untilRestarted(
  restarting: Restarting,
  { beat, life, isStillThere }: Watched,
): Promise<void> {
  const { ask, waitMs, now, sleep } = restarting;
  const before = await life();
  ask();
  const begunAt = now();
  for (let beats = 1; now() - begunAt < waitMs; beats += 1) {
    const isGone = await fails(async () => {
      await beat();
      if (beats % BEATS_BETWEEN_LOOKS === 0 && (await life()) !== before) throw new Error('another life');
    });
    if (isGone) {
      const after = await whenBack(restarting, life);
      if (before === undefined || after !== before) return;
      await isStillThere?.();
    }
    if (!(await sleep(BEAT_MS))) throw new Disturbed('It was interrupted before the server was restarted.');
  }
  throw new Disturbed(`The server was not restarted within ${seconds(waitMs)}, so nothing was compared.`);
}

async function whenBack<T>({ waitMs, now, sleep }: Restarting, look: () => Promise<T>): Promise<T> {
  const begunAt = now();
  for (;;) {
    try {
      return await look();
    } catch (error) {
      if (now() - begunAt >= waitMs)
        throw new Defect(
          `The server did not come back within ${seconds(waitMs)}: ${(error as Error).message}`,
        );
    }
    if (!(await sleep(BEAT_MS))) throw new Disturbed('It was interrupted before the server was back.');
  }
}

/** Whatever is thrown while the server is restarted is its absence, but for what we see ourselves. */
async function fails(work: () => Promise<void>): Promise<boolean> {
  try {
    await work();
    return false;
  } catch (error) {
    if (error instanceof Defect || error instanceof Disturbed) throw error;
    return true;
  }
}

/** From here on each document is what it was found to be. */
async function compare(store: AcceptorStore, kept: Map<string, Kept>): Promise<void> {
  const keys = [...kept.keys()];
  const documents = await store.read(keys);
  const lost: string[] = [];
  for (const [at, key] of keys.entries()) {
    const document = documents[at];
    const { text, version, perhaps } = kept.get(key)!;
    const isThere =
      document !== undefined &&
      (document.text === perhaps || (document.text === text && document.version === version));
    if (isThere) kept.set(key, document);
    else lost.push(key);
  }
  if (lost.length === 0) return;
  throw new Defect(
    `${lost.length} of ${keys.length} documents are not there as they were answered before the restart: ${printed(lost[0]!)} is one of them.`,
  );
}

function seconds(ms: number): string {
  return `${ms / 1000} s`;
}
