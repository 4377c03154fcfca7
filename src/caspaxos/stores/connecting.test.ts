import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Connecting } from './connecting.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

function counted(): { connecting: Connecting<{ number: number }>; fail: (error?: Error) => void } {
  let number = 0;
  let failure: Error | undefined;
  const connecting = new Connecting(async () => {
    number += 1;
    if (failure !== undefined) throw failure;
    return { number };
  });
  return {
    connecting,
    fail: (error) => {
      failure = error;
    },
  };
}

test('what is opened is shared', async () => {
  const { connecting } = counted();
  const [one, other] = await Promise.all([connecting.get(), connecting.get()]);
  expect(one).toBe(other);
  expect((await connecting.get()).number).toBe(1);
});

test('after a failure calls fail with it for a moment, then it is tried again', async () => {
  const { connecting, fail } = counted();
  fail(new Error('down'));
  await expect(connecting.get()).rejects.toThrow('down');
  fail();
  await expect(connecting.get()).rejects.toThrow('down');
  vi.advanceTimersByTime(101);
  expect((await connecting.get()).number).toBe(2);
});

test('what broke is opened again; what was opened since then is kept', async () => {
  const { connecting } = counted();
  const first = await connecting.get();
  connecting.drop(first, new Error('broken'));
  await expect(connecting.get()).rejects.toThrow('broken');
  vi.advanceTimersByTime(101);
  const second = await connecting.get();
  connecting.drop(first, new Error('late'));
  expect(await connecting.get()).toBe(second);
});

test('a reset opens at once', async () => {
  const { connecting, fail } = counted();
  fail(new Error('down'));
  await expect(connecting.get()).rejects.toThrow('down');
  fail();
  connecting.reset();
  expect((await connecting.get()).number).toBe(2);
});
