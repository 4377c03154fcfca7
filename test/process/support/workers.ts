/** The increment workers, seen from the test: started together, heard out, ended together. */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { WorkerOptions, WorkerReport } from '../increment-worker.ts';
import type { RecordedOperation } from './history.ts';
import { type Child, compiled, type Nursery } from './nursery.ts';

type Operations = Extract<WorkerReport, { type: 'operations' }>;
type Done = Extract<WorkerReport, { type: 'done' }>;

class Worker {
  readonly #child: Child;
  readonly #errors: string[] = [];
  readonly ready: Promise<void>;
  readonly done: Promise<Done>;
  readonly operations: RecordedOperation[] = [];
  counters: Operations['counters'] | undefined;
  isGone = false;

  constructor(nursery: Nursery, options: WorkerOptions) {
    this.#child = nursery.spawn(compiled('increment-worker.js'), [JSON.stringify(options)]);
    createInterface({ input: this.#child.stderr }).on('line', (line) => this.#errors.push(line));
    const lines = createInterface({ input: this.#child.stdout });
    const closed = once(this.#child, 'close').then(() => {
      this.isGone = true;
      throw new Error(`worker ${options.name} ended too early:\n${this.#errors.join('\n')}`);
    });
    let onReady!: () => void;
    let onDone!: (done: Done) => void;
    this.ready = Promise.race([closed, new Promise<void>((resolve) => (onReady = resolve))]);
    this.done = Promise.race([closed, new Promise<Done>((resolve) => (onDone = resolve))]);
    this.done.catch(() => {});
    lines.on('line', (line) => {
      const report = JSON.parse(line) as WorkerReport;
      if (report.type === 'ready') onReady();
      else if (report.type === 'done') onDone(report);
      else {
        this.operations.push(...report.operations);
        this.counters = report.counters;
      }
    });
  }

  tell(line: 'begin' | 'end'): void {
    this.#child.stdin.write(`${line}\n`);
  }

  async end(): Promise<void> {
    const exited = once(this.#child, 'close');
    this.#child.stdin.end();
    await exited;
  }
}

export class Workers {
  readonly #workers: readonly Worker[];

  private constructor(workers: readonly Worker[]) {
    this.#workers = workers;
  }

  /** All of them have opened the cluster when it resolves. */
  static async start(nursery: Nursery, options: readonly WorkerOptions[]): Promise<Workers> {
    const workers = options.map((of) => new Worker(nursery, of));
    await Promise.all(workers.map(({ ready }) => ready));
    return new Workers(workers);
  }

  get operations(): readonly RecordedOperation[] {
    return this.#workers.flatMap(({ operations }) => operations);
  }

  /** All of them are still at work. */
  get areWell(): boolean {
    return this.#workers.every(({ isGone }) => !isGone);
  }

  begin(): void {
    for (const worker of this.#workers) worker.tell('begin');
  }

  /** What became of all, once they have finished and gone. */
  async end(): Promise<readonly Done[]> {
    for (const worker of this.#workers) worker.tell('end');
    const done = await Promise.all(this.#workers.map((worker) => worker.done));
    await Promise.all(this.#workers.map((worker) => worker.end()));
    return done;
  }

  sum(counter: keyof Operations['counters']): number {
    return this.#workers.reduce((total, { counters }) => total + (counters?.[counter] ?? 0), 0);
  }
}
