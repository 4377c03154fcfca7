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
const WRITERS = 4;

/** A document as it was answered; and what was written to it without an answer. */
interface Kept {
  readonly text: string;
  readonly version: StoreVersion;
  readonly perhaps?: string;
}

export async function restartStore(place: Workplace, restarting: Restarting): Promise<string> {
  const kept = new Map<string, Kept>();
  const keys = Array.from({ length: BATCH_SIZE }, (_, at) => KEYS.batch(at));
  for (const [at, document] of (await place.begin(keys)).entries()) {
    const key = keys[at]!;
    if (document === undefined) await place.settle(key, 'before the restart');
  }
  for (const [at, document] of (await place.connection(0).read(keys)).entries()) {
    if (document === undefined)
      throw new Defect(`What was written under the key ${printed(keys[at]!)} is not there.`);
    kept.set(keys[at]!, document);
  }
  let round = 0;
  let answered = 0;
  const write = async (): Promise<void> => {
    round += 1;
    const some = keys.filter((_, at) => at % WRITERS === round % WRITERS);
    await writeSome(place, some, kept, round);
    answered += some.length;
  };
  while (round < WRITERS) await write();
  restarting.ask();
  await untilItEnds(restarting, write);
  await untilItIsBack(restarting, () => place.afresh((store) => store.read([keys[0]!])));
  await place.afresh((store) => compare(store, kept));
  return `${answered} writes were answered before it ended`;
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

/** Resolves when `work` meets a server that is not there. */
export async function untilItEnds(
  { waitMs, now, sleep }: Restarting,
  work: () => Promise<void>,
): Promise<void> {
  const begunAt = now();
  while (now() - begunAt < waitMs) {
    try {
      await work();
    } catch (error) {
      if (isOurs(error)) throw error;
      return;
    }
    if (!(await sleep(BEAT_MS))) throw new Disturbed('It was interrupted before the server was restarted.');
  }
  throw new Disturbed(`The server was not restarted within ${seconds(waitMs)}, so nothing was compared.`);
}

/** Resolves when `look` is answered. */
export async function untilItIsBack(
  { waitMs, now, sleep }: Restarting,
  look: () => Promise<unknown>,
): Promise<void> {
  const begunAt = now();
  for (;;) {
    try {
      await look();
      return;
    } catch (error) {
      if (isOurs(error)) throw error;
      if (now() - begunAt >= waitMs)
        throw new Defect(
          `The server did not come back within ${seconds(waitMs)}: ${(error as Error).message}`,
        );
    }
    if (!(await sleep(BEAT_MS))) throw new Disturbed('It was interrupted before the server was back.');
  }
}

/** Whatever else is thrown while the server is restarted is its absence. */
function isOurs(error: unknown): boolean {
  return error instanceof Defect || error instanceof Disturbed;
}

async function compare(store: AcceptorStore, kept: ReadonlyMap<string, Kept>): Promise<void> {
  const keys = [...kept.keys()];
  const documents = await store.read(keys);
  const lost = keys.filter((key, at) => {
    const document = documents[at];
    const { text, version, perhaps } = kept.get(key)!;
    if (document === undefined) return true;
    return document.text !== perhaps && (document.text !== text || document.version !== version);
  });
  if (lost.length === 0) return;
  throw new Defect(
    `${lost.length} of ${keys.length} documents are not there as they were answered before the restart: ${printed(lost[0]!)} is one of them.`,
  );
}

function seconds(ms: number): string {
  return `${ms / 1000} s`;
}
