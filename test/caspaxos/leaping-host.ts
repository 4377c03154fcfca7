/** The real host with a clock that a test moves on: a deadline passes when the test says so, not when a machine is slow. */
import { NODE_HOST } from 'baton/caspaxos';
import type { Host, Timer } from 'baton/protocol';

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

interface SetTimer {
  readonly at: number;
  readonly ring: () => void;
  real: Timer;
}

/** One whose timers ring as soon as a leap has brought their time. */
export function ringingHost(): LeapingHost {
  const set = new Set<SetTimer>();
  const host = leapingHost();
  return {
    ...host,
    after: (ms, run) => {
      const ring = (): void => {
        set.delete(timer);
        run();
      };
      const timer: SetTimer = { at: host.now() + ms, ring, real: NODE_HOST.after(ms, ring) };
      set.add(timer);
      return timer;
    },
    cancel: (timer) => {
      if (timer === undefined) return;
      set.delete(timer as SetTimer);
      NODE_HOST.cancel((timer as SetTimer).real);
    },
    leap: (ms) => {
      host.leap(ms);
      for (const timer of [...set].toSorted((a, b) => a.at - b.at)) {
        NODE_HOST.cancel(timer.real);
        timer.real = NODE_HOST.after(Math.max(0, timer.at - host.now()), timer.ring);
      }
    },
  };
}
