/** What is done to the cluster, and how it is undone. Each is done while a client writes; `begin` returns when it is done. */
import { type Ground, HOME, REGIONS } from './cluster.ts';

export interface Fault {
  readonly name: 'kill' | 'pause' | 'switchover' | 'stop' | 'reader' | 'acceptors';
  readonly what: string;
  begin(ground: Ground, partitionSet: string): Promise<void>;
  heal(ground: Ground, partitionSet: string): Promise<void>;
}

const [, NEXT, LAST] = REGIONS;

export const FAULTS: readonly Fault[] = [
  {
    name: 'kill',
    what: 'kill -9 of the write region',
    begin: async ({ cluster }) => void (await cluster.kill(HOME)),
    heal: async ({ cluster }) => void (await cluster.heal()),
  },
  {
    name: 'pause',
    what: 'SIGSTOP of the write region',
    begin: async ({ cluster }) => void (await cluster.pause(HOME)),
    heal: async ({ cluster }) => void (await cluster.heal()),
  },
  {
    name: 'switchover',
    what: 'planned switchover',
    begin: async (ground, partitionSet) => {
      await ground.wish(partitionSet, { kind: 'switchover', target: NEXT });
      await ground.writesIn(partitionSet, NEXT);
    },
    heal: async (ground, partitionSet) => ground.wish(partitionSet, { kind: 'switchover', target: HOME }),
  },
  {
    name: 'stop',
    what: 'planned stop of the write region (SIGTERM)',
    begin: async ({ cluster }) => void (await cluster.stopOne(HOME)),
    heal: async ({ cluster }) => void (await cluster.heal()),
  },
  {
    name: 'reader',
    what: 'kill -9 of a read region, at Strong',
    begin: async ({ cluster }) => void (await cluster.kill(LAST)),
    heal: async ({ cluster }) => void (await cluster.heal()),
  },
  {
    name: 'acceptors',
    what: 'kill -9 of two of five acceptors',
    begin: async ({ cluster }) => {
      const acceptors = cluster.config.acceptors.slice(0, 2);
      await Promise.all(acceptors.map(({ name }) => cluster.kill(name)));
    },
    heal: async ({ cluster }) => void (await cluster.heal()),
  },
];
