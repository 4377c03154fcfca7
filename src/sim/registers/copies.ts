/**
 * Second servers, each made from a copy of an acceptor that goes on beside it: at the same address, under the same identity, and to
 * some clients it is the one that is there. A store tells another line of memory from there, as a standby does that was promoted while its
 * primary lives: the network has parted, and each side has its own.
 */
import type { DiskCopy } from '../core/index.ts';
import type { SimProcess } from '../process.ts';
import type { ScheduledFault } from '../seeded-run.ts';
import type { AcceptorPlace } from './remote.ts';

/** The acceptors of which a schedule makes copies. */
export function copiedIn(schedule: readonly ScheduledFault[]): readonly string[] {
  return [...new Set(schedule.filter(({ kind }) => kind === 'copy').map(({ targets }) => targets[0]!))];
}

export class Copies {
  /** By the names of their originals. */
  readonly #copies = new Map<string, AcceptorPlace>();
  /** Clients that are led to a copy now. */
  readonly #misled = new Map<string, readonly string[]>();

  add(original: string, copy: AcceptorPlace): void {
    this.#copies.set(original, copy);
  }

  /** The copy begins with those documents. */
  begin(original: string, clients: readonly string[], documents: DiskCopy | undefined): void {
    const { process, server } = this.#copies.get(original)!;
    process.crash();
    server.promote(documents);
    process.start();
    this.#misled.set(original, clients);
  }

  end(original: string): void {
    this.#copies.get(original)!.process.crash();
    this.#misled.delete(original);
  }

  /** Who answers that client at the original's address. */
  placeFor(client: string, original: AcceptorPlace): AcceptorPlace {
    const { name } = original.process;
    return this.#misled.get(name)?.includes(client) === true ? this.#copies.get(name)! : original;
  }

  processOf(original: string): SimProcess {
    return this.#copies.get(original)!.process;
  }
}
