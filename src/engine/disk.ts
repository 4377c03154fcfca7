/** A node's store as its engine uses it: with a probe, a small write of its own, which shows that the disk takes writes. */
import type { PartitionStore } from './core/index.ts';
import type { EngineDisk } from './engine.ts';

/** No partition-set has such a name. */
const PROBE = '.probe';

export function diskOf(store: { partition(partitionSet: string): PartitionStore }): EngineDisk {
  return {
    partition: (partitionSet) => store.partition(partitionSet),
    probe: (done) => {
      const probe = store.partition(PROBE);
      probe.note({ incarnation: probe.notes.incarnation + 1 });
      probe.sync(done);
    },
  };
}
