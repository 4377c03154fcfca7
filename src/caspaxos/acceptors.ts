/**
 * An acceptor as a proposer's process sees it. Two kinds stand behind this interface (paper 4.3): a *store*, any
 * service with compare-and-swap, for which the role runs here (`stores/store-acceptor.ts`); and the *acceptor service*,
 * a process that runs the role next to its disk (`service/`), spoken to over a stream, or embedded in a test.
 *
 * What every implementation owes its caller:
 * - An answer means durable (rule 3): `handle` resolves when everything it answers is on disk.
 * - A batch is one transaction, or as near to it as the store can come (rule 10).
 * - It knows who it is (rule 8). An acceptor that comes back empty, as somebody else, or with an older memory than this
 *   process has seen refuses everything from then on, with an error that says which of the three it is.
 */
import type { Configuration, Life, RegisterReply, RegisterRequest, ToldLife } from './core/index.ts';

export interface AcceptorDescription {
  /** Drawn at random when the acceptor was made. */
  readonly id: string;
  /** The newest set of acceptors that it was told of. */
  readonly configuration: Configuration | undefined;
  /** Whether it holds any register. */
  readonly hasRegisters: boolean;
  /** Drawn at its start, if it keeps a disk of its own (`core/life.ts`). */
  readonly life?: ToldLife | undefined;
}

export interface Acceptor {
  /** For people and logs: never holds credentials. */
  readonly url: string;
  /** How many batches it handles at a time with profit. */
  readonly concurrency: number;
  /** The life that it told last. */
  readonly life?: ToldLife | undefined;
  /**
   * Refuse to work if the acceptor turns out not to be this one, or belongs to another cluster than this; and to handle requests as
   * long as it is in another life.
   */
  expect(id: string, cluster?: string, life?: Life): void;
  describe(): Promise<AcceptorDescription>;
  /** For that cluster, whose first configuration may then be installed. Refused by one that belongs to another cluster. */
  reserve?(cluster: string): Promise<void>;
  /** Makes it known; an older one is ignored. */
  install(configuration: Configuration): Promise<void>;
  /** One reply for each request, in order. A rejected promise means that the fate of the whole batch is unknown. */
  handle(requests: readonly RegisterRequest[], index: number): Promise<readonly RegisterReply[]>;
  /** Like `handle`, and in a life that follows the expected one, too: for recording that. */
  handleUnrecorded?(requests: readonly RegisterRequest[], index: number): Promise<readonly RegisterReply[]>;
  /** Keys of its registers in the acceptor's own order, from the one after `after` on; for rewriting them all. */
  list(after: string, limit: number): Promise<readonly string[]>;
  close(): Promise<void>;
}
