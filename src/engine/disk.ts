/** A node's store as its engine uses it: with a probe, a small write of its own, which shows that the disk takes writes. */
import type { PartitionStore } from './core/index.ts';
import type { EngineDisk } from './engine.ts';

/** No partition-set has such a name. */
const PROBE = '.probe';

interface NodeData {
  partition(partitionSet: string): PartitionStore;
  drop(partitionSet: string): Promise<void>;
}

export function diskOf(store: NodeData): EngineDisk {
  return {
    partition: (partitionSet) => store.partition(partitionSet),
    drop: (partitionSet) => store.drop(partitionSet),
    probe: (done) => {
      const probe = store.partition(PROBE);
      probe.note({ incarnation: probe.notes.incarnation + 1 });
      probe.sync(done);
    },
  };
}
