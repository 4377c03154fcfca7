/**
 * Work shared out over threads: each takes the next piece when it is done with the last, so the order of the answers is chance
 * and whoever adds them up must not mind. A piece and its answer are plain data; the thread answers one question at a time.
 */
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';

/** Something that answers one question at a time: a worker thread, or in tests this process. */
export interface Runner<Question, Answer> {
  run(question: Question): Promise<Answer>;
  close(): Promise<void>;
}

export function startThread<Question, Answer>(file: URL, workerData?: unknown): Runner<Question, Answer> {
  const worker = new Worker(file, { workerData });
  return {
    async run(question) {
      worker.postMessage(question);
      const [answer] = (await once(worker, 'message')) as [Answer];
      return answer;
    },
    async close() {
      await worker.terminate();
    },
  };
}

export interface SharedWork<Question, Answer> {
  readonly pieces: readonly Question[];
  readonly startRunner: () => Runner<Question, Answer>;
  readonly onAnswer: (answer: Answer, question: Question) => void;
  /** All cores, unless told otherwise. */
  readonly workers?: number | undefined;
  /** When it aborts, what is under way is finished and nothing new is begun. */
  readonly signal?: AbortSignal | undefined;
}

export async function shareOut<Question, Answer>(work: SharedWork<Question, Answer>): Promise<void> {
  const { pieces, startRunner, onAnswer, signal } = work;
  let next = 0;
  const take = async (): Promise<void> => {
    const runner = startRunner();
    try {
      while (next < pieces.length && signal?.aborted !== true) {
        const piece = pieces[next]!;
        next += 1;
        onAnswer(await runner.run(piece), piece);
      }
    } finally {
      await runner.close();
    }
  };
  const workers = Math.min(work.workers ?? availableParallelism(), pieces.length);
  await Promise.all(Array.from({ length: workers }, take));
}
