/**
 * A client's request over a connection of its own: it arrives once or not at all, and so does its answer. Whoever sends to a
 * process that is down is told so, as by a refused connection; one that dies with the request, or is cut off, answers nothing.
 */
import type { SimProcess } from '../process.ts';
import type { World } from '../world.ts';

export type Reply<R> =
  | { readonly reply: 'answer'; readonly answer: R }
  /** Nobody was there: certainly not carried out. */
  | { readonly reply: 'refused' }
  | { readonly reply: 'none' };

export function ask<R>(
  world: World,
  from: SimProcess,
  to: SimProcess,
  timeoutMs: number,
  carryOut: () => Promise<R> | undefined,
): Promise<Reply<R>> {
  return new Promise((resolve) => {
    const timer = from.after(timeoutMs, () => resolve({ reply: 'none' }));
    let reply: Reply<R> = { reply: 'none' };
    const arrive = from.inside(() => {
      from.cancel(timer);
      resolve(reply);
    });
    const answer = (what: Reply<R>): void => {
      once(world, to, from, () => {
        reply = what;
        return arrive();
      });
    };
    once(world, from, to, () => {
      if (!to.isUp) return answer({ reply: 'refused' });
      return to.inside(() => {
        const work = carryOut();
        if (work === undefined) answer({ reply: 'refused' });
        else void work.then((result) => answer({ reply: 'answer', answer: result }));
      })();
    });
  });
}

function once(world: World, from: SimProcess, to: SimProcess, run: () => unknown): void {
  const [ms] = world.link(from.index, to.index);
  if (ms !== undefined) world.at(world.now + ms, to.index, run);
}
