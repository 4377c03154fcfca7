/**
 * A process's host with an eye on work that does not end: code that asks for the time over and over within one event would keep
 * the simulation there for ever, as it would keep a real process from ever doing anything else. It is stopped with an error.
 */
import type { Host } from '../../protocol/index.ts';
import type { SimProcess } from '../process.ts';
import type { World } from '../world.ts';

/** Many times what any one event needs. */
const MOST_LOOKS = 100_000;

export function guardedHost(process: SimProcess, world: World): Host {
  let event = -1;
  let looks = 0;
  return {
    now() {
      if (world.events !== event) {
        event = world.events;
        looks = 0;
      }
      looks += 1;
      if (looks > MOST_LOOKS)
        throw new Error(`${process.name} never ends what it does at ${process.now()} ms`);
      return process.now();
    },
    wallClock: () => process.wallClock(),
    after: (ms, run) => process.after(ms, run),
    cancel: (timer) => process.cancel(timer),
    soon: (run) => process.soon(run),
    random: () => process.random(),
    randomInteger: (bound) => process.randomInteger(bound),
    randomId: () => process.randomId(),
  };
}
