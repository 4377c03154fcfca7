/**
 * How the acceptors stand in the eyes of the nodes. A store counts as away when every node that answers misses it, and as back
 * when every node works with it again: one that comes back without its memory is never worked with again (rule 8).
 */
export interface AcceptorStanding {
  /** Without credentials. */
  readonly url: string;
  readonly state: 'unknown' | 'up' | 'down';
  readonly error?: string;
}

/** By node. */
export type Told = ReadonlyMap<string, readonly AcceptorStanding[]>;

export interface Lack {
  readonly what: string;
  /** No patience will mend it. */
  readonly isForGood: boolean;
}

/** What the library says of an acceptor that is empty, another one, or an old copy. */
const GIVEN_UP = /is not used( any more)?:/;

export function isMissed(told: Told, url: string): boolean {
  const standings = [...told.values()].map((acceptors) => acceptors.find((one) => one.url === url));
  return standings.length > 0 && standings.every((one) => one?.state === 'down');
}

/** Undefined if every node works with every acceptor. */
export function lackIn(told: Told): Lack | undefined {
  const lacking = [...told].flatMap(([node, acceptors]) =>
    acceptors
      .filter(({ state }) => state !== 'up')
      .map(({ url, state, error = '' }) => ({
        said: `${node} says that ${url} is ${state}: ${error}`,
        error,
      })),
  );
  if (lacking.length === 0) return undefined;
  return {
    what: lacking.map(({ said }) => said).join('; '),
    isForGood: lacking.some(({ error }) => GIVEN_UP.test(error)),
  };
}
