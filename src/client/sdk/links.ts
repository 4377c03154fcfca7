/** The client's connections: one to each node, by its address. */
import { RpcError } from '../../transport/index.ts';
import { parseAddress } from '../discovery/index.ts';
import { NodeLink, type NodeLinkOptions } from './node-link.ts';

export class Links {
  readonly #options: NodeLinkOptions;
  readonly #links = new Map<string, NodeLink>();
  readonly #closing = new Set<Promise<void>>();
  #isClosed = false;

  constructor(options: NodeLinkOptions) {
    this.#options = options;
  }

  /** Throws UNREACHABLE for what is no address. */
  to(address: string): NodeLink {
    const known = this.#links.get(address);
    if (known !== undefined) return known;
    const parsed = parseAddress(address);
    if (parsed === undefined || this.#isClosed)
      throw new RpcError('UNREACHABLE', `No connection can be made to "${address}".`);
    const link = new NodeLink(parsed, this.#options);
    this.#links.set(address, link);
    return link;
  }

  /** The account has no other nodes than these: connections to others are closed when they are done. */
  keep(addresses: ReadonlySet<string>): void {
    for (const [address, link] of this.#links) {
      if (addresses.has(address)) continue;
      this.#links.delete(address);
      const closing = link.close().finally(() => this.#closing.delete(closing));
      this.#closing.add(closing);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#closing, ...[...this.#links.values()].map((link) => link.close())]);
  }
}
