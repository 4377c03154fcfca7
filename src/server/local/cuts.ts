/** Which places of a local cluster are cut off, where each has a network of its own. */
import { LocalClusterError } from './errors.ts';
import { EVERYBODY, type Link, type Namespaces } from './namespaces.ts';
import type { CutOptions } from './orders.ts';
import type { RoleProcess } from './role-process.ts';

export interface Places {
  readonly regions: readonly string[];
  readonly acceptors: readonly string[];
}

export class Cuts {
  readonly #namespaces: Namespaces | undefined;
  /** Places that were cut off, not those at the other end of their links. */
  readonly #cutOff = new Set<string>();

  constructor(namespaces: Namespaces | undefined) {
    this.#namespaces = namespaces;
  }

  has(place: string): boolean {
    return this.#cutOff.has(place);
  }

  demandNetworks(targets: readonly RoleProcess[]): void {
    if (this.#namespaces === undefined)
      throw new LocalClusterError(
        'CUT_UNAVAILABLE',
        'Links can be cut only in a cluster that was started with `baton up --netns` (as root), where each region has its own network namespace.',
      );
    const without = targets.find(({ role, region }) => role !== 'acceptor' && region === undefined);
    if (without !== undefined)
      throw new LocalClusterError(
        'CUT_UNAVAILABLE',
        `${without.name} belongs to no region, so it has no network namespace whose links could be cut.`,
      );
  }

  async isolate(
    place: string,
    places: Places,
    { from = 'all', direction = 'both' }: CutOptions,
  ): Promise<void> {
    const others = from === 'all' ? [EVERYBODY] : places[from];
    const links = others.flatMap((other): Link[] => [
      ...(direction === 'in' ? [] : [{ from: place, to: other }]),
      ...(direction === 'out' ? [] : [{ from: other, to: place }]),
    ]);
    await this.#namespaces!.cut(links.filter(({ from: sender, to }) => sender !== to));
    this.#cutOff.add(place);
  }

  /** Of these places; of none means of all. */
  async heal(places: readonly string[]): Promise<void> {
    if (places.length === 0) {
      await this.#namespaces?.heal();
      this.#cutOff.clear();
    }
    for (const place of new Set(places)) {
      await this.#namespaces?.heal(place);
      this.#cutOff.delete(place);
    }
  }
}
