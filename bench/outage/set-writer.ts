/**
 * A client of one partition-set: it replaces one document again and again, at its pace, and each time on the condition that
 * the document is as its last acknowledged write left it. So every write proves that the one before is not lost, and the last
 * one is read back at the end. What it was told, and when, is kept as stretches of service, as the simulator keeps them.
 */
import type { Stretch } from 'baton/sim';
import { BatonError, type Container } from 'baton/client';
import { nowMs } from './clock.ts';

export interface WriterOptions {
  readonly container: Container;
  readonly id: string;
  readonly regions: readonly string[];
  readonly everyMs: number;
  readonly timeoutMs: number;
}

/** Acknowledgements of one region that are no further apart than this beyond the pace are one stretch. */
const SLACK_MS = 1000;

export class SetWriter {
  readonly service: { region: number; from: number; to: number }[] = [];
  acknowledged = 0;
  lost = 0;
  unknown = 0;
  refused = 0;
  lastError: string | undefined;
  readonly #options: WriterOptions;
  #number = 0;
  #etag: string | undefined;
  #expected: number | undefined;

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  /** One write; at most one is under way. */
  async write(): Promise<void> {
    const { container, id, timeoutMs } = this.#options;
    this.#number += 1;
    const document = { id, number: this.#number };
    try {
      const answer =
        this.#etag === undefined
          ? await container.upsert(document, { timeoutMs })
          : await container.replace(id, document, { ifMatch: this.#etag, timeoutMs });
      this.#note(answer.diagnostics.region, nowMs());
      this.#etag = answer.etag;
      this.#expected = this.#number;
      this.acknowledged += 1;
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Whether the last acknowledged write is there; counted as lost if not. */
  async verify(): Promise<void> {
    const { container, id, timeoutMs } = this.#options;
    if (this.#expected === undefined) return;
    const { document } = await container.find(id, { consistency: 'Strong', timeoutMs });
    const found = (document as { number?: number } | undefined)?.number ?? 0;
    if (found < this.#expected) this.lost += 1;
  }

  #failed(error: unknown): void {
    this.lastError = error instanceof Error ? error.message : String(error);
    const known = error instanceof BatonError ? error : undefined;
    if (known?.code === 'PRECONDITION_FAILED' || known?.code === 'NOT_FOUND') {
      this.lost += 1;
      this.#etag = undefined;
    } else if (known?.outcome === 'not applied') {
      this.refused += 1;
    } else {
      // It may have been carried out: the next write cannot know what it finds.
      this.unknown += 1;
      this.#etag = undefined;
      this.#expected = undefined;
    }
  }

  #note(name: string | undefined, at: number): void {
    const region = this.#options.regions.indexOf(name ?? '');
    const last = this.service.at(-1);
    if (last?.region === region && at - last.to <= this.#options.everyMs + SLACK_MS) last.to = at;
    else this.service.push({ region, from: at, to: at });
  }
}

export type Service = readonly Stretch[];
