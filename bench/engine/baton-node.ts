/** A region of Baton as a process of its own: one partition-set at Strong on the disk, the transport and the agents of a node. */
import { diskOf, NodeStore } from 'baton/engine';
import { configurationFor } from 'baton/failover';
import { RegionNode } from 'baton/server';
import { PARTITION_SET } from './baton-set.ts';

export interface NodeArgs {
  readonly region: string;
  readonly ports: Readonly<Record<string, number>>;
  readonly acceptors: readonly string[];
  readonly data: string;
}

const INTERVAL_MS = 1000;
const LOOPBACK = '127.0.0.1';

const { region, ports, acceptors, data } = JSON.parse(process.argv[2]!) as NodeArgs;
const others = Object.keys(ports).filter((other) => other !== region);
const store = await NodeStore.open({ directory: data });
const node = await RegionNode.start({
  cluster: 'bench',
  node: region,
  region,
  listen: { host: LOOPBACK, port: ports[region]! },
  peers: new Map(
    others.map((other) => [other, { node: other, address: { host: LOOPBACK, port: ports[other]! } }]),
  ),
  acceptors,
  disk: diskOf(store),
});
await node.add({
  partitionSet: PARTITION_SET,
  configuration: configurationFor(Object.keys(ports), {
    consistency: 'Strong',
    timings: { intervalMs: INTERVAL_MS, leaseMs: 3 * INTERVAL_MS, settleMs: 300 },
  }),
  settings: { partitionKeyPaths: ['/id'] },
});
process.once('SIGTERM', () => {
  void node
    .close()
    .then(() => store.close())
    .then(() => process.exit(0));
});
