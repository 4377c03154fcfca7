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

export type Heard<R> =
  | Reply<R>
  /** The connection broke: it may have been carried out. */
  | { readonly reply: 'lost' };

export interface Conversation<R> {
  /** A request that changes nothing may as well arrive twice; one that does not is on a connection, which sees to that. */
  readonly mayDouble: boolean;
  /** When it is seen that the other process has died; a connection that is cut off breaks later, or never. */
  readonly lookAfterMs: number;
  readonly carryOut: () => Promise<R> | undefined;
  /** Called for every copy of the answer. */
  readonly tell: (heard: Heard<R>) => void;
}

/** A request of somebody who never stops listening, and decides by himself when it has been long enough. */
export function converse<R>(
  world: World,
  from: SimProcess,
  to: SimProcess,
  { mayDouble, lookAfterMs, carryOut, tell }: Conversation<R>,
): void {
  let isAnswered = false;
  const back = (what: Heard<R>): void => {
    isAnswered = true;
    for (const ms of world.link(to.index, from.index))
      world.at(
        world.now + ms,
        from.index,
        from.inside(() => tell(what)),
      );
  };
  const arrive = (): unknown => {
    if (!to.isUp) return back({ reply: 'refused' });
    return to.inside(() => {
      const work = carryOut();
      if (work === undefined) back({ reply: 'refused' });
      else void work.then((answer) => back({ reply: 'answer', answer }));
    })();
  };
  const copies = world.link(from.index, to.index);
  for (const ms of mayDouble ? copies : copies.slice(0, 1)) world.at(world.now + ms, to.index, arrive);
  from.after(lookAfterMs, () => {
    if (!isAnswered && !to.isUp) back({ reply: 'lost' });
  });
}
