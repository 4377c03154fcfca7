/** When all copies are equal, everything is read once more in every region: what is damaged comes to light and is repaired. */
import { type EnginePartition, epochAt, type FeedRequest, type PartitionStore } from '../../engine/index.ts';
import type { SimProcess } from '../process.ts';
import { damagedAfter, lastDamaged } from './checks.ts';
import type { ClientScene, EngineClient } from './client.ts';
import type { SetRecorder } from './recorder.ts';
import { type Region, sleep } from './region.ts';

export class LastLook {
  readonly #client: EngineClient;
  readonly #process: SimProcess;
  readonly #regions: readonly Region[];
  readonly #ask: ClientScene['ask'];
  readonly #count: (what: string) => void;

  constructor(
    client: EngineClient,
    process: SimProcess,
    regions: readonly Region[],
    ask: ClientScene['ask'],
    count: (what: string) => void,
  ) {
    this.#client = client;
    this.#process = process;
    this.#regions = regions;
    this.#ask = ask;
    this.#count = count;
  }

  async at(recorders: readonly SetRecorder[]): Promise<void> {
    const looks = recorders.flatMap((recorder) =>
      this.#regions.map(({ name }) => this.#lookAt(recorder, name)),
    );
    await Promise.all(looks);
  }

  async #lookAt(recorder: SetRecorder, region: string): Promise<void> {
    const client = this.#client;
    const { partitionSet } = recorder;
    const until = async (isDone: () => Promise<boolean>): Promise<void> => {
      while (!(await isDone()) && !this.#isHopeless(region, partitionSet)) await sleep(this.#process, 50);
    };
    await until(() => client.scan(recorder, 'Eventual', region));
    await Promise.all(
      client.documents().map((name) => until(() => client.read(recorder, name, 'Eventual', region))),
    );
    const { lsn } = this.#regions[0]!.partition(partitionSet)!.core!.store.tail;
    let after: FeedRequest['after'] = { epoch: 0, lsn: 0 };
    const feed = async (partition: EnginePartition) => partition.feed({ after, maxBytes: 100_000 });
    while (after.lsn < lsn) {
      const reply = await this.#ask(this.#process, region, partitionSet, 1000, feed);
      const isDone = reply.reply === 'answer' && reply.answer.outcome === 'done';
      after = isDone ? reply.answer.position : (this.#beyondRepair(region, partitionSet, after.lsn) ?? after);
      await sleep(this.#process, 20);
    }
  }

  /** Where to go on behind an entry that is damaged here and that all others have trimmed: nobody can give it back. */
  #beyondRepair(name: string, partitionSet: string, after: number): FeedRequest['after'] | undefined {
    const store = this.#storeIn(name, partitionSet);
    const lsn = store && lastDamaged(store, after);
    if (store === undefined || lsn === undefined || !this.#isGone(name, partitionSet, lsn)) return undefined;
    this.#count('damage beyond repair');
    return { epoch: epochAt(store.notes.table, lsn), lsn };
  }

  /**
   * Whether there is damage and nobody can repair any of it. A deletion that cannot be read keeps whatever leads past it
   * from being read here, until it is trimmed here, too.
   */
  #isHopeless(name: string, partitionSet: string): boolean {
    const store = this.#storeIn(name, partitionSet);
    const damaged = store === undefined ? [] : damagedAfter(store, 0);
    const isSo = damaged.length > 0 && damaged.every((lsn) => this.#isGone(name, partitionSet, lsn));
    if (isSo) this.#count('damage beyond repair');
    return isSo;
  }

  #isGone(here: string, partitionSet: string, lsn: number): boolean {
    const others = this.#regions.filter((region) => region.name !== here);
    return others.every(({ name }) => {
      const copy = this.#storeIn(name, partitionSet);
      return copy !== undefined && copy.base > lsn && copy.entriesAfter(lsn - 1, 1)[0]?.lsn !== lsn;
    });
  }

  #storeIn(name: string, partitionSet: string): PartitionStore | undefined {
    return this.#regions.find((region) => region.name === name)?.partition(partitionSet)?.core?.store;
  }
}
