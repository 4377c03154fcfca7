import { partitionStoreConformance } from '../../../test/conformance/partition-store.ts';
import { MemoryNodeStore } from './memory-store.ts';

const nodes = new Map<string, MemoryNodeStore>();

function nodeAt(place: string): MemoryNodeStore {
  let seed = 1;
  const random = (): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
  const host = {
    after: (ms: number, run: () => void) => setTimeout(run, ms),
    cancel: (timer: object | undefined) => clearTimeout(timer as NodeJS.Timeout),
    random,
    randomInteger: (bound: number) => Math.floor(random() * bound),
  };
  const node = nodes.get(place) ?? new MemoryNodeStore({ host });
  nodes.set(place, node);
  return node;
}

async function durable(node: MemoryNodeStore): Promise<void> {
  while (node.unsynced > 0) {
    await new Promise<void>((resolve) => {
      node.partition('p').sync(() => resolve());
    });
  }
}

partitionStoreConformance('memory', {
  open: async (place) => {
    const node = nodeAt(place);
    return {
      partition: (partitionSet) => node.partition(partitionSet),
      crash: async () => {
        node.crash();
      },
      settled: () => durable(node),
      close: async () => {
        await durable(node);
        node.crash();
      },
      fail: (error) => node.fail(error),
    };
  },
  damage: async (place, partitionSet, lsn) => nodeAt(place).damage(partitionSet, lsn),
});
