/**
 * Writes to every partition-set at a steady pace, whatever becomes of the writes before: by these it is seen how long a
 * partition-set takes no writes. They are on record like all others.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type BatonClient, BatonError, type Container } from 'baton/client';
import { positionIn, type Recorder } from './record.ts';
import type { Item } from './workload.ts';

const EVERY_MS = 200;
const TIMEOUT_MS = 15_000;

export class Prober {
  readonly #container: Container<Item>;
  readonly #recorder: Recorder;
  readonly #ids: ReadonlyMap<string, string>;
  readonly #underWay = new Set<Promise<void>>();
  #names = 0;

  /** `ids`: of each partition-set, a document that nobody else writes. */
  constructor(client: BatonClient, recorder: Recorder, ids: ReadonlyMap<string, string>) {
    this.#container = client.container<Item>('items');
    this.#recorder = recorder;
    this.#ids = ids;
  }

  /** Waits for those under way. */
  async run(isOver: () => boolean): Promise<void> {
    const startedAt = performance.now();
    for (let turn = 1; !isOver(); turn += 1) {
      for (const [partitionSet, id] of this.#ids) {
        const write = this.#write(partitionSet, id);
        this.#underWay.add(write);
        void write.finally(() => this.#underWay.delete(write));
      }
      await sleep(Math.max(EVERY_MS / 4, startedAt + turn * EVERY_MS - performance.now()));
    }
    await Promise.all(this.#underWay);
  }

  async #write(partitionSet: string, id: string): Promise<void> {
    const recorder = this.#recorder;
    this.#names += 1;
    const operation = `probe-${this.#names}`;
    const start = recorder.now();
    const fields = {
      client: 'probe',
      session: operation,
      key: id,
      start,
      level: recorder.level,
      kind: 'write',
      operation,
      value: operation,
    } as const;
    try {
      const { etag, diagnostics } = await this.#container.upsert(
        { id, value: operation },
        { operationId: operation, timeoutMs: TIMEOUT_MS },
      );
      const { region = '' } = diagnostics;
      const position = positionIn(etag);
      recorder.write(partitionSet, { ...fields, region, end: recorder.now(), outcome: 'ok', position });
    } catch (error) {
      if (!(error instanceof BatonError)) {
        recorder.wrong(`A probe met an error that is none of the SDK's: ${String((error as Error).stack)}`);
        return;
      }
      recorder.count(`probe: ${error.code}`);
      const outcome = error.outcome === 'unknown' ? 'unknown' : 'failed';
      const region = error.diagnostics?.attempts.at(-1)?.region ?? '';
      recorder.write(partitionSet, { ...fields, region, end: recorder.now(), outcome });
    }
  }
}
