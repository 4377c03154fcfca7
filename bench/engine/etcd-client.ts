/** etcd's `Put` and linearizable `Range` over gRPC: its two messages are few enough bytes to write by hand. */
import { GrpcConnection } from './grpc-connection.ts';
import type { Store, Use } from './system.ts';

const PUT = Buffer.from('/etcdserverpb.KV/Put');
const RANGE = Buffer.from('/etcdserverpb.KV/Range');
const CONNECTIONS = 4;

/** Spread evenly over the addresses; one connection is enough for one operation at a time. */
export async function openEtcd(addresses: readonly string[], { inFlight }: Use): Promise<Store> {
  const count = Math.min(inFlight, CONNECTIONS);
  const connections = await Promise.all(
    Array.from({ length: count }, (_, index) => GrpcConnection.open(addresses[index % addresses.length]!)),
  );
  let next = 0;
  const connection = (): GrpcConnection => {
    next = (next + 1) % count;
    return connections[next]!;
  };
  return {
    put: async (key, document) => {
      await connection().call(PUT, Buffer.concat([field(1, Buffer.from(key)), field(2, document)]));
    },
    get: async (key) => firstValue(await connection().call(RANGE, field(1, Buffer.from(key)))),
    close: () => connections.forEach((one) => one.close()),
  };
}

const LENGTH_DELIMITED = 2;
const VARINT = 0;

/** One length-delimited field of a protobuf message. */
function field(number: number, content: Buffer): Buffer {
  const head = [(number << 3) | LENGTH_DELIMITED];
  let length = content.length;
  for (; length > 127; length >>>= 7) head.push((length & 127) | 128);
  head.push(length);
  return Buffer.concat([Buffer.from(head), content]);
}

/** RangeResponse.kvs (2) [0] .value (5) */
function firstValue(response: Buffer): Buffer | undefined {
  const pair = find(response, 2);
  return pair === undefined ? undefined : (find(pair, 5) ?? Buffer.alloc(0));
}

function find(message: Buffer, wanted: number): Buffer | undefined {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = message[at]!;
      at += 1;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  while (at < message.length) {
    const tag = varint();
    if ((tag & 7) === VARINT) {
      varint();
      continue;
    }
    if ((tag & 7) !== LENGTH_DELIMITED) throw new Error(`etcd's answer has a field of wire type ${tag & 7}`);
    const end = varint() + at;
    if (tag >>> 3 === wanted) return message.subarray(at, end);
    at = end;
  }
  return undefined;
}
