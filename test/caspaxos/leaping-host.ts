/** The real host with a clock that a test moves on: a deadline passes when the test says so, not when a machine is slow. */
import { NODE_HOST } from 'baton/caspaxos';
import type { Host } from 'baton/protocol';

export interface LeapingHost extends Host {
  /** Timers that are set already ring as they would have. */
  readonly leap: (ms: number) => void;
}

export function leapingHost(): LeapingHost {
  let aheadMs = 0;
  return {
    ...NODE_HOST,
    now: () => NODE_HOST.now() + aheadMs,
    leap: (ms) => {
      aheadMs += ms;
    },
  };
}
