/**
 * Which part of the protocol a fault met. A campaign that cut a thousand links has shown nothing about a promise that
 * gets lost if no cut ever fell into a phase 1, so every call to an acceptor is on record while it is under way, and a
 * fault counts for each phase that it finds there.
 */
import type { Acceptor, RegisterRequest } from '../../caspaxos/index.ts';

export const PHASES = [
  'phase 1',
  'phase 2',
  'query',
  'identity read',
  'describe',
  'install',
  'set change',
] as const;

export type Phase = (typeof PHASES)[number];

interface UnderWay {
  readonly client: number;
  readonly acceptor: number;
  readonly phase: Phase;
}

export class Phases {
  readonly #underWay = new Set<UnderWay>();
  readonly #count: (what: string) => void;

  /** Both ends are process numbers. */
  constructor(count: (what: string) => void) {
    this.#count = count;
  }

  /** Something of those phases is under way between the client and the acceptors until the work ends, well or not. */
  async during<R>(
    client: number,
    acceptors: readonly number[],
    phases: readonly Phase[],
    work: () => Promise<R>,
  ): Promise<R> {
    const entries = acceptors.flatMap((acceptor) => phases.map((phase) => ({ client, acceptor, phase })));
    for (const entry of entries) this.#underWay.add(entry);
    try {
      return await work();
    } finally {
      for (const entry of entries) this.#underWay.delete(entry);
    }
  }

  /** A fault fell on a message between two processes. */
  metLink(fault: string, from: number, to: number): void {
    this.#met(
      fault,
      ({ client, acceptor }) => (client === from && acceptor === to) || (client === to && acceptor === from),
    );
  }

  /** A fault fell on a process, and on all that is under way to it or from it. */
  metProcess(fault: string, process: number): void {
    this.#met(fault, ({ client, acceptor }) => client === process || acceptor === process);
  }

  /** What a process was doing ends with it. */
  forget(process: number): void {
    for (const entry of this.#underWay) if (entry.client === process) this.#underWay.delete(entry);
  }

  #met(fault: string, concerns: (entry: UnderWay) => boolean): void {
    const phases = new Set([...this.#underWay].filter(concerns).map(({ phase }) => phase));
    for (const phase of phases) this.#count(meeting(fault, phase));
  }
}

/** The name under which a campaign counts that a fault met a phase. */
export function meeting(fault: string, phase: Phase): string {
  return `${fault} x ${phase}`;
}

/** The acceptor, with everything that is asked of it on record. */
export function onRecord(inner: Acceptor, phases: Phases, client: number, acceptor: number): Acceptor {
  const during = <R>(names: readonly Phase[], work: () => Promise<R>): Promise<R> =>
    phases.during(client, [acceptor], names, work);
  return {
    url: inner.url,
    concurrency: inner.concurrency,
    expect: (id, cluster) => inner.expect(id, cluster),
    describe: () => during(['describe'], () => inner.describe()),
    ...(inner.reserve && {
      reserve: (cluster: string) => during(['install'], () => inner.reserve!(cluster)),
    }),
    install: (configuration) => during(['install'], () => inner.install(configuration)),
    handle: (requests, index) => during(phasesOf(requests), () => inner.handle(requests, index)),
    list: (after, limit) => inner.list(after, limit),
    close: () => inner.close(),
  };
}

function phasesOf(requests: readonly RegisterRequest[]): readonly Phase[] {
  return [...new Set(requests.map(({ message }) => NAMES[message.type]))];
}

const NAMES = { '1a': 'phase 1', '2a': 'phase 2', query: 'query' } as const;
