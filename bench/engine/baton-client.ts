/** A client of the write region's node, over the transport of a cluster. The partition key is the id, as most containers have it. */
import { randomUUID } from 'node:crypto';
import { NODE_HOST } from 'baton/caspaxos';
import { decodeReadAnswer, decodeWriteAnswer, encodeRead, encodeWrite, METHODS } from 'baton/client';
import { dial } from 'baton/transport';
import { PARTITION_SET } from './baton-set.ts';
import type { OpenStore } from './system.ts';

const TIMEOUT_MS = 10_000;

export const openBaton: OpenStore = async ([address = '']) => {
  const [host = '', port = ''] = address.split(':');
  const connection = await dial({
    host: NODE_HOST,
    address: { host, port: Number(port) },
    self: {
      role: 'client',
      cluster: 'bench',
      node: `client-${process.pid}`,
      region: 'client',
      incarnation: 1,
    },
  });
  const about = { partitionSet: PARTITION_SET, timeoutMs: TIMEOUT_MS };
  const options = { timeoutMs: TIMEOUT_MS };
  const name = randomUUID();
  let operations = 0;
  return {
    async put(key, document) {
      operations += 1;
      const body = Buffer.concat([Buffer.from(`{"id":"${key}",`), document.subarray(1)]);
      const request = {
        partitionKey: [key],
        operations: [{ op: 'upsert' as const, body }],
        operation: `${name}-${operations}`,
      };
      const payload = await connection.call(METHODS.write, encodeWrite({ ...about, request }), options);
      const answer = decodeWriteAnswer(payload);
      if (answer.outcome !== 'done' || answer.results[0]!.status >= 300)
        throw new Error(`A write of ${key} failed: ${JSON.stringify(answer)}`);
    },
    async get(key) {
      const read = { ...about, partitionKey: [key], id: key, level: 'Strong' as const };
      const answer = decodeReadAnswer(await connection.call(METHODS.read, encodeRead(read), options));
      if (answer.outcome !== 'done') throw new Error(`A read of ${key} was refused: ${answer.code}`);
      const body = answer.version?.body;
      return body && Buffer.concat([Buffer.from('{'), body.subarray(`{"id":"${key}",`.length)]);
    },
    close: () => connection.destroy(),
  };
};
