import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { withoutRepetitions } from './stopping.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});

afterEach(() => {
  vi.useRealTimers();
});

test('takes the signals of one moment for one request, and a later one for another', () => {
  const heard: string[] = [];
  const onSignal = withoutRepetitions((signal: string) => heard.push(signal));
  onSignal('SIGINT');
  onSignal('SIGTERM');
  vi.advanceTimersByTime(999);
  onSignal('SIGINT');
  expect(heard).toEqual(['SIGINT']);
  vi.advanceTimersByTime(1);
  onSignal('SIGHUP');
  onSignal('SIGHUP');
  expect(heard).toEqual(['SIGINT', 'SIGHUP', 'SIGHUP']);
});
