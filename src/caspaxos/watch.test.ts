import { describe, expect, test } from 'vitest';
import { errorOf, increment, memoryUrls, openAround, openFor } from '../../test/caspaxos/clusters.ts';
import { Lines } from '../../test/caspaxos/lines.ts';

describe('watch', () => {
  test('gives the present value, and then each new one', async () => {
    const acceptors = memoryUrls();
    const [writer, watcher] = await Promise.all([openFor({ acceptors }), openFor({ acceptors })]);
    const seen: unknown[] = [];
    for await (const { value, version } of watcher.watch('k', { intervalMs: 1 })) {
      seen.push([value, version]);
      if (version === 3) break;
      await writer.change('k', increment);
    }
    expect(seen).toEqual([
      [undefined, 0],
      [1, 1],
      [2, 2],
      [3, 3],
    ]);
  });

  test('sees a deletion, and nothing twice', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    await cluster.change('k', increment);
    const watch = cluster.watch('k', { intervalMs: 1 });
    expect((await watch.next()).value).toEqual({ value: 1, version: 1 });
    // Several polls pass before anything changes.
    const next = watch.next();
    const polls = cluster.counters.reads;
    while (cluster.counters.reads < polls + 3) await new Promise((resolve) => setImmediate(resolve));
    await cluster.delete('k');
    expect((await next).value).toEqual({ value: undefined, version: 2 });
    await watch.return();
  });

  test('can begin after a version', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    await cluster.change('k', increment);
    const watch = cluster.watch('k', { intervalMs: 1, afterVersion: 1 });
    const next = watch.next();
    await cluster.change('k', increment);
    expect((await next).value).toEqual({ value: 2, version: 2 });
    await watch.return();
  });

  test('ends when its signal aborts, also in the middle of a wait', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    const abort = new AbortController();
    const watch = cluster.watch('k', { intervalMs: 3_600_000, signal: abort.signal });
    await watch.next();
    const next = watch.next();
    abort.abort();
    expect(await next).toEqual({ done: true, value: undefined });
    const never = cluster.watch('k', { signal: AbortSignal.abort() });
    expect(await never.next()).toEqual({ done: true, value: undefined });
  });

  test('outlives polls that fail', async () => {
    const lines = new Lines(3);
    const cluster = await openAround(memoryUrls(), lines.wrap, { timeoutMs: 20 });
    const watch = cluster.watch('k', { intervalMs: 1 });
    await watch.next();
    lines.set('cut', 'cut', 'cut');
    const next = watch.next();
    const polls = cluster.counters.reads;
    while (cluster.counters.reads < polls + 3) await new Promise((resolve) => setTimeout(resolve, 2));
    lines.set('open', 'open', 'open');
    expect(await cluster.change('k', increment, { timeoutMs: 20_000 })).toMatchObject({
      outcome: 'committed',
    });
    expect((await next).value).toEqual({ value: 1, version: 1 });
    await watch.return();
  });

  test('of a closed cluster says so', async () => {
    const cluster = await openFor({ acceptors: memoryUrls() });
    const watch = cluster.watch('k', { intervalMs: 1 });
    await watch.next();
    await cluster.close();
    expect(await errorOf(watch.next())).toMatchObject({ code: 'CLOSED' });
  });
});
