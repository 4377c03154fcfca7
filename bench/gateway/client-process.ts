/**
 * One client in a process of its own. Its parent tells it what to do, is told when the measured time begins and ends (that is
 * when it looks at the processors), and gets the figures. It ends when the channel to its parent does.
 */
import { Histogram } from 'baton/protocol';
import { Window } from '../support/window.ts';
import { type Access, openTarget, type TargetName } from './targets.ts';

export interface Task {
  readonly target: TargetName;
  readonly access: Access;
  readonly mode: 'fill' | 'upsert' | 'read';
  readonly inFlight: number;
  readonly keys: number;
  readonly seconds: number;
}

export interface Figures {
  readonly operations: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly clientCpuMs: number;
}

export type Said = { readonly is: 'begun' } | { readonly is: 'ended'; readonly figures: Figures };

const WARM_UP_MS = 1000;
const DOCUMENT_BYTES = 1024;
const STRIDE = 7919;
const text = 'abcdefghijklmnop'.repeat(DOCUMENT_BYTES / 16).slice(0, DOCUMENT_BYTES - 40);

function say(said: Said): void {
  process.send!(said);
}

async function work(task: Task): Promise<void> {
  const { target, access, mode, inFlight, keys, seconds } = task;
  const opened = await openTarget(target, access);
  const operate = (id: string): Promise<void> =>
    mode === 'read' ? opened.read(id) : opened.upsert({ id, text });
  let at = 0;
  const isFilling = mode === 'fill';
  const nextId = (): string => `k${isFilling ? at++ : (at += STRIDE) % keys}`;
  const window = new Window(
    isFilling ? 0 : Math.min(WARM_UP_MS, seconds * 500),
    isFilling ? Infinity : seconds,
  );
  const histogram = new Histogram();
  let cpu = process.cpuUsage();
  const timer = setTimeout(() => {
    cpu = process.cpuUsage();
    say({ is: 'begun' });
  }, window.begin - performance.now());
  const one = async (): Promise<void> => {
    for (let before = performance.now(); window.isOpenAt(before) && !(isFilling && at >= keys);) {
      await operate(nextId());
      const after = performance.now();
      if (window.counts(before, after)) histogram.record(after - before);
      before = after;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, one));
  clearTimeout(timer);
  const { user, system } = process.cpuUsage(cpu);
  const operations = histogram.count;
  say({
    is: 'ended',
    figures: {
      operations,
      perSecond: window.rateOf(operations),
      p50Ms: round(histogram.percentile(0.5)),
      p99Ms: round(histogram.percentile(0.99)),
      clientCpuMs: (user + system) / 1000,
    },
  });
  await opened.close();
}

function round(value: number): number {
  return Math.round(value * 1000) / 1000;
}

process.once('disconnect', () => process.exit(1));
process.once('message', (task: Task) => {
  work(task).then(
    () => process.exit(0),
    (error: unknown) => {
      process.stderr.write(`The ${task.target} client: ${(error as Error).message}\n`);
      process.exit(1);
    },
  );
});
