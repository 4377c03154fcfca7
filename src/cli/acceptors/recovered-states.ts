/** The failover states among the registers that were recovered: their GCNs are compared with what the nodes know before any of them starts. */
import { type Cluster, openAcceptor, openCluster } from '../../caspaxos/index.ts';
import { FailoverError, registerOf, StateCodec } from '../../failover/index.ts';
import type { OpenOptions } from './opening.ts';

export type RecoveredState =
  | {
      readonly partitionSet: string;
      readonly gcn: number;
      readonly writeRegion: string | null;
      readonly leaseSet: readonly string[];
    }
  /** It was recovered as it is, and cannot be read, such as one of a newer version. */
  | { readonly partitionSet: string; readonly error: string };

const LIST_PAGE = 1000;
const READS_AT_ONCE = 64;

/** `to`: the acceptors of the new cluster. All of them hold everything. */
export async function recoveredStates(
  to: readonly string[],
  { token, tls, timeoutMs }: OpenOptions,
): Promise<readonly RecoveredState[]> {
  const acceptor = openAcceptor(to[0]!, { token, tls, timeoutMs });
  const cluster = await openCluster({
    acceptors: to,
    tls,
    requestTimeoutMs: timeoutMs,
    ...(token !== undefined && { token }),
  });
  try {
    const states: RecoveredState[] = [];
    for (let after = ''; ;) {
      const page = await acceptor.list(after, LIST_PAGE);
      const sets = page
        .filter((key) => key.startsWith(registerOf('')))
        .map((key) => key.slice(registerOf('').length));
      for (let at = 0; at < sets.length; at += READS_AT_ONCE) {
        const read = await Promise.all(
          sets.slice(at, at + READS_AT_ONCE).map((name) => stateOf(cluster, name)),
        );
        states.push(...read.filter((state) => state !== undefined));
      }
      if (page.length < LIST_PAGE) return states.sort((a, b) => (a.partitionSet < b.partitionSet ? -1 : 1));
      after = page.at(-1)!;
    }
  } finally {
    await Promise.all([acceptor.close(), cluster.close()]);
  }
}

/** Undefined: there is none any more. */
async function stateOf(cluster: Cluster, partitionSet: string): Promise<RecoveredState | undefined> {
  try {
    const { value } = await cluster.read(registerOf(partitionSet), { codec: new StateCodec() });
    if (value === undefined) return undefined;
    const { gcn, writer, leaseSet } = value;
    return { partitionSet, gcn, writeRegion: writer, leaseSet };
  } catch (error) {
    if (error instanceof FailoverError) return { partitionSet, error: error.code };
    throw error;
  }
}
