/** The clocks, timers and chance of a real process. */
import { randomInt, randomUUID } from 'node:crypto';
import type { Host } from '../protocol/index.ts';

export const NODE_HOST: Host = {
  now: () => performance.now(),
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
