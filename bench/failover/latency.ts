/** How long a write takes when nothing is wrong, one at a time. */
import { NODE_HOST } from 'baton/caspaxos';
import { decodeWriteAnswer, encodeWrite, METHODS } from 'baton/client';
import { dial } from 'baton/transport';
import { type Ground, HOME } from './cluster.ts';

export interface Latency {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const WARM = 200;
const MEASURED = 1000;
const TIMEOUT_MS = 5000;

export async function latencyOf(write: () => Promise<unknown>): Promise<Latency> {
  const times: number[] = [];
  for (let count = 0; count < WARM + MEASURED; count += 1) {
    const startedAt = performance.now();
    await write();
    if (count >= WARM) times.push(performance.now() - startedAt);
  }
  times.sort((a, b) => a - b);
  const at = (share: number): number => Number(times[Math.floor(times.length * share)]!.toFixed(2));
  return { p50Ms: at(0.5), p99Ms: at(0.99) };
}

/** Without routes, retries and discovery: one connection to the node of the write region. */
export async function directLatency(
  ground: Ground,
  partitionSet: string,
  ids: () => string,
): Promise<Latency> {
  const { config } = ground.cluster;
  const { address } = config.regions.find(({ name }) => name === HOME)!.nodes[0]!;
  const connection = await dial({
    host: NODE_HOST,
    address,
    self: { role: 'client', cluster: config.cluster, node: 'bench', region: 'client', incarnation: 1 },
    token: ground.cluster.clientToken,
  });
  try {
    return await latencyOf(async () => {
      const id = ids();
      const request = {
        partitionKey: [id],
        operations: [{ op: 'create' as const, body: Buffer.from(JSON.stringify({ id, number: 0 })) }],
        operation: id,
      };
      const payload = encodeWrite({ partitionSet, timeoutMs: TIMEOUT_MS, request });
      const answer = decodeWriteAnswer(
        await connection.call(METHODS.write, payload, { timeoutMs: TIMEOUT_MS }),
      );
      if (answer.outcome !== 'done') throw new Error(`A direct write failed: ${JSON.stringify(answer)}`);
    });
  } finally {
    connection.destroy();
  }
}
