import { expect, test, vi } from 'vitest';
import { StoreCalls } from './store-calls.ts';

test('a call in time is left alone, and so is its timer', async () => {
  vi.useFakeTimers();
  try {
    expect(await new StoreCalls('x:', 100).limited(async () => 'answer')).toBe('answer');
    await expect(new StoreCalls('x:', 100).limited(() => Promise.reject(new Error('own')))).rejects.toThrow(
      'own',
    );
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test('one that hangs ends with the limit, and is told to give up', async () => {
  vi.useFakeTimers();
  try {
    let told: AbortSignal | undefined;
    const hanging = new StoreCalls('store://h', 250).limited((signal) => {
      told = signal;
      return new Promise<never>(() => {});
    });
    const ended = expect(hanging).rejects.toMatchObject({
      code: 'TIMED_OUT',
      message: 'Acceptor store://h did not answer within 250 ms.',
    });
    await vi.advanceTimersByTimeAsync(249);
    expect(told?.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await ended;
    expect(told?.reason).toMatchObject({ code: 'TIMED_OUT' });
  } finally {
    vi.useRealTimers();
  }
});

test("what a call says after its limit is nobody's unhandled rejection", async () => {
  vi.useFakeTimers();
  try {
    const late = new StoreCalls('x:', 10).limited((signal) => {
      return new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('torn down')));
      });
    });
    const ended = expect(late).rejects.toMatchObject({ code: 'TIMED_OUT' });
    await vi.advanceTimersByTimeAsync(10);
    await ended;
  } finally {
    vi.useRealTimers();
  }
});
