import { describe, expect, test } from 'vitest';
import { type Lane, WorkQueue } from './work-queue.ts';

function gate(): { open: () => void; opened: Promise<void> } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

describe('the work queue', () => {
  test('runs no more than its limit at a time, and all in the end', async () => {
    const queue = new WorkQueue(3);
    let underWay = 0;
    let most = 0;
    let done = 0;
    await new Promise<void>((finished) => {
      for (let at = 0; at < 20; at += 1) {
        queue.run('urgent', async () => {
          underWay += 1;
          most = Math.max(most, underWay);
          await new Promise((resolve) => setImmediate(resolve));
          underWay -= 1;
          done += 1;
          if (done === 20) finished();
        });
      }
    });
    expect(most).toBe(3);
  });

  test('a whole region that fails over does not keep a healthy writer from renewing', async () => {
    const queue = new WorkQueue(1);
    const { open, opened } = gate();
    const order: string[] = [];
    queue.run('urgent', () => opened);
    for (let at = 0; at < 1000; at += 1) queue.run('urgent', async () => void order.push('failover'));
    const renewed = new Promise<void>((resolve) => {
      queue.run('renewal', async () => {
        order.push('renewal');
        resolve();
      });
    });
    open();
    await renewed;
    expect(order).toEqual(['renewal']);
  });
});

/** Work that goes on until the test ends it. */
class Jobs {
  readonly queue: WorkQueue;
  readonly #underWay: { readonly lane: Lane; readonly end: () => void }[] = [];

  constructor(queue: WorkQueue) {
    this.queue = queue;
  }

  add(lane: Lane, count: number): void {
    for (let at = 0; at < count; at += 1) this.queue.run(lane, () => this.#work(lane));
  }

  count(lane: Lane): number {
    return this.#underWay.filter((job) => job.lane === lane).length;
  }

  /** The oldest of that lane come to their end. */
  async end(lane: Lane, count: number): Promise<void> {
    for (let at = 0; at < count; at += 1) {
      const first = this.#underWay.findIndex((job) => job.lane === lane);
      this.#underWay.splice(first, 1)[0]!.end();
    }
    await new Promise((resolve) => setImmediate(resolve));
  }

  #work(lane: Lane): Promise<void> {
    const { open, opened } = gate();
    this.#underWay.push({ lane, end: open });
    return opened;
  }
}

describe('the lanes of the work queue', () => {
  test('renewals come first, then what is urgent, then routine, whatever came first', async () => {
    const queue = new WorkQueue(1);
    const { open, opened } = gate();
    const order: Lane[] = [];
    queue.run('routine', () => opened);
    const done = new Promise<void>((resolve) => {
      for (const lane of ['routine', 'urgent', 'renewal', 'routine', 'urgent', 'renewal'] as const)
        queue.run(lane, async () => {
          order.push(lane);
          if (order.length === 6) resolve();
        });
    });
    expect(queue.waiting).toBe(6);
    open();
    await done;
    expect(order).toEqual(['renewal', 'renewal', 'urgent', 'urgent', 'routine', 'routine']);
  });
});

describe('a process that is behind', () => {
  const LIMIT = 512;
  /** As late as a timer may be. */
  const PUNCTUAL_MS = 30;

  test.each([
    [0, LIMIT],
    [PUNCTUAL_MS, LIMIT],
    [PUNCTUAL_MS * 2, 256],
    [PUNCTUAL_MS * 4, 128],
    [PUNCTUAL_MS * 8, 64],
    [60_000, 32],
  ])('by %d ms has no more than %d under way', (lateMs, most) => {
    const urgent = new Jobs(new WorkQueue(LIMIT, () => lateMs));
    urgent.add('urgent', 1000);
    expect(urgent.queue.underWay).toBe(most);
    const routine = new Jobs(new WorkQueue(LIMIT, () => lateMs));
    routine.add('routine', 1000);
    expect(routine.queue.underWay).toBe(most);
  });

  test('holds renewals too, and gives them every place that becomes free', async () => {
    const jobs = new Jobs(new WorkQueue(LIMIT, () => 60_000));
    jobs.add('urgent', 32);
    jobs.add('routine', 100);
    jobs.add('renewal', 10);
    expect([jobs.count('renewal'), jobs.queue.underWay]).toEqual([0, 32]);
    await jobs.end('urgent', 10);
    expect([jobs.count('renewal'), jobs.count('routine'), jobs.queue.underWay]).toEqual([10, 0, 32]);
  });

  test('never has more under way than its limit, however small that is', () => {
    const jobs = new Jobs(new WorkQueue(8, () => 60_000));
    jobs.add('urgent', 100);
    expect(jobs.queue.underWay).toBe(8);
  });

  test('begins nothing new until enough has ended', async () => {
    let lateMs = 0;
    const jobs = new Jobs(new WorkQueue(LIMIT, () => lateMs));
    jobs.add('urgent', 600);
    lateMs = PUNCTUAL_MS * 4;
    await jobs.end('urgent', LIMIT - 128);
    expect([jobs.queue.underWay, jobs.queue.waiting]).toEqual([128, 600 - LIMIT]);
    await jobs.end('urgent', 10);
    expect([jobs.queue.underWay, jobs.queue.waiting]).toEqual([128, 600 - LIMIT - 10]);
  });

  test.each([
    ['ends', (jobs: Jobs) => jobs.end('urgent', 1), 31],
    ['comes', async (jobs: Jobs) => jobs.add('routine', 1), 32],
  ])('and has caught up takes on more when something %s', async (_, happens, left) => {
    let lateMs = 60_000;
    const jobs = new Jobs(new WorkQueue(LIMIT, () => lateMs));
    jobs.add('urgent', 300);
    expect(jobs.queue.underWay).toBe(32);
    lateMs = 20;
    await happens(jobs);
    expect(jobs.count('urgent')).toBe(300 - 32 + left);
  });
});
