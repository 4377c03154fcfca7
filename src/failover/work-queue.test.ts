import { describe, expect, test } from 'vitest';
import { WorkQueue } from './work-queue.ts';

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
        queue.run('other', async () => {
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
    queue.run('other', () => opened);
    for (let at = 0; at < 1000; at += 1) queue.run('other', async () => void order.push('failover'));
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
