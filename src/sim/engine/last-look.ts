/** When all copies are equal, everything is read once more in every region: what is damaged comes to light and is repaired. */
import { BEFORE_ALL } from '../../check/index.ts';
import type { EnginePartition, FeedRequest } from '../../engine/index.ts';
import type { SimProcess } from '../process.ts';
import type { ClientScene, EngineClient } from './client.ts';
import type { SetRecorder } from './recorder.ts';
import { type Region, sleep } from './region.ts';

export class LastLook {
  readonly #client: EngineClient;
  readonly #process: SimProcess;
  readonly #regions: readonly Region[];
  readonly #ask: ClientScene['ask'];

  constructor(
    client: EngineClient,
    process: SimProcess,
    regions: readonly Region[],
    ask: ClientScene['ask'],
  ) {
    this.#client = client;
    this.#process = process;
    this.#regions = regions;
    this.#ask = ask;
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
      while (!(await isDone())) await sleep(this.#process, 50);
    };
    await until(() => client.scan(recorder, 'Eventual', region));
    await Promise.all(
      client.documents().map((name) => until(() => client.read(recorder, name, 'Eventual', region))),
    );
    const { lsn } = this.#regions[0]!.partition(partitionSet)!.core!.store.tail;
    let after: FeedRequest['after'] = BEFORE_ALL;
    const feed = async (partition: EnginePartition) => partition.feed({ after, maxBytes: 100_000 });
    while (after.lsn < lsn) {
      const reply = await this.#ask(this.#process, region, partitionSet, 1000, feed);
      const answer = reply.reply === 'answer' ? reply.answer : undefined;
      if (answer?.outcome === 'done') after = answer.position;
      else if (answer?.code === 'FEED_TRIMMED') after = BEFORE_ALL;
      await sleep(this.#process, 20);
    }
  }
}
