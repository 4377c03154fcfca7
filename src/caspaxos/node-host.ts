/** The clocks, timers and chance of a real process. */
import { randomInt, randomUUID } from 'node:crypto';
import os from 'node:os';
import { ContinuousClock, type Host } from '../protocol/index.ts';

/** Elsewhere `performance.now` counts the time in which the machine is suspended. */
const STANDS_STILL = process.platform === 'linux';

export function newClock(): ContinuousClock {
  return new ContinuousClock({
    monotonic: () => performance.now(),
    wallClock: () => Date.now(),
    uptime: STANDS_STILL ? () => os.uptime() * 1000 : () => performance.now(),
  });
}

const CLOCK = newClock();

export const NODE_HOST: Host = {
  now: () => CLOCK.now(),
  wallClock: () => Date.now(),
  after: (ms, run) => setTimeout(run, ms),
  cancel: (timer) => clearTimeout(timer as NodeJS.Timeout | undefined),
  soon: (run) => {
    setImmediate(run);
  },
  random: () => Math.random(),
  randomInteger: (bound) => randomInt(bound),
  randomId: () => randomUUID(),
};
