/**
 * Who reads the change feed of one partition-set to its end, wherever it is to be had, across failovers. When the log does not
 * reach back to where it was, or what it was given is undone (which below Strong may be), it begins anew.
 */
import { BEFORE_ALL, type FeedChange, type FeedStretch, type Position } from '../../check/index.ts';
import type { EnginePartition, FeedAnswer, FeedRequest } from '../../engine/index.ts';
import type { Random } from '../core/index.ts';
import type { SimProcess } from '../process.ts';
import { keyOf, type SetRecorder, valueOf } from './recorder.ts';
import { sleep } from './region.ts';
import type { Reply } from './request.ts';

export interface FeedScene {
  readonly regions: readonly string[];
  readonly isTrimmed: boolean;
  ask<R>(
    from: SimProcess,
    region: string,
    partitionSet: string,
    timeoutMs: number,
    work: (partition: EnginePartition) => Promise<R>,
  ): Promise<Reply<R>>;
  /** What was given to a reader was undone. */
  onUndone(recorder: SetRecorder, at: Position): void;
  count(what: string): void;
}

const EVERY_MS = 150;
const MAX_BYTES = 4000;

export class FeedReader {
  readonly #scene: FeedScene;
  readonly #recorder: SetRecorder;
  readonly #process: () => SimProcess;
  readonly #random: Random;
  #region: string;
  #position: FeedRequest['after'] = BEFORE_ALL;
  #stretches: FeedStretch[] = [];

  constructor(scene: FeedScene, recorder: SetRecorder, process: () => SimProcess, random: Random) {
    this.#scene = scene;
    this.#recorder = recorder;
    this.#process = process;
    this.#random = random;
    this.#region = scene.regions[random.integer(scene.regions.length)]!;
  }

  /** How far it has come. */
  get position(): Position {
    return this.#position;
  }

  readonly main = (): void => {
    void this.#follow();
  };

  /** Puts what it was given on record. */
  finish(isCaughtUp: boolean): void {
    this.#recorder.feeds.push({
      reader: `feed of ${this.#recorder.partitionSet}`,
      mode: this.#scene.isTrimmed ? 'latest' : 'all',
      stretches: this.#stretches,
      caughtUp: isCaughtUp,
    });
  }

  async #follow(): Promise<void> {
    for (;;) {
      await sleep(this.#process(), this.#random.between(0.5, 1.5) * EVERY_MS);
      const region = this.#region;
      const { partitionSet } = this.#recorder;
      const after = this.#position;
      const reply = await this.#scene.ask(this.#process(), region, partitionSet, 800, async (partition) =>
        partition.feed({ after, maxBytes: MAX_BYTES }),
      );
      this.#take(region, after, reply);
    }
  }

  #take(region: string, from: Position, reply: Reply<FeedAnswer>): void {
    const answer = reply.reply === 'answer' ? reply.answer : undefined;
    const isDone = answer?.outcome === 'done';
    this.#scene.count(`feed: ${answer === undefined ? reply.reply : isDone ? 'ok' : answer.code}`);
    if (!isDone || this.#random.uniform() < 0.03) {
      const { regions } = this.#scene;
      this.#region = regions[this.#random.integer(regions.length)]!;
    }
    if (isDone) {
      if (answer.entries.length === 0) return;
      const changes = answer.entries.flatMap(({ epoch, lsn, changes: all }) =>
        all.map((change): FeedChange => ({ epoch, lsn, key: keyOf(change), value: valueOf(change) })),
      );
      this.#stretches.push({ region, from: { epoch: from.epoch, lsn: from.lsn }, changes });
      this.#position = answer.position;
    } else if (answer?.code === 'FEED_UNDONE' || answer?.code === 'FEED_TRIMMED') {
      if (answer.code === 'FEED_UNDONE') this.#scene.onUndone(this.#recorder, this.#position);
      this.#stretches = [];
      this.#position = BEFORE_ALL;
    }
  }
}
