import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const room = (name: string) => fileURLToPath(new URL(`./src/${name}/index.ts`, import.meta.url));

/** Files that this run leaves out: patterns with blanks between them. */
const leftOut = (process.env['BATON_TESTS_LEFT_OUT'] ?? '').split(' ').filter((pattern) => pattern !== '');

const never = ['**/node_modules/**', 'build/**', ...leftOut];

/**
 * Tests that want the machine for themselves: they hold real time against a promise, or fill every core and want a certain
 * number of things to happen meanwhile, or take ports by a rule of their own. The others wait most of the time: for leases, for
 * processes that start.
 */
const ALONE = [
  'test/bench/caspaxos.process.test.ts',
  'test/chaos/chaos.process.test.ts',
  'test/chaos/stores.process.test.ts',
  'test/client/failover.process.test.ts',
  'test/dashboard/many-sets.process.test.ts',
  'test/gateway/outage.process.test.ts',
  'test/process/acceptor-kill.process.test.ts',
  'test/process/counters.process.test.ts',
];

/**
 * What takes longest must not come last, when only one worker has anything left to do; on a fresh clone nobody else knows.
 * Of those with processes, some that wait and some that compute take turns, so that both are under way at any time.
 */
const LONGEST_FIRST = [
  'test/spec/failover.spec.test.ts',
  'test/spec/caspaxos.spec.test.ts',
  'test/spec/conformance.test.ts',
  'test/spec/replication.spec.test.ts',
  'test/repository/habits.test.ts',
  'test/failover-model/invariants.test.ts',
  'test/failover-model/rules.test.ts',
  'src/sim/engine/engine.test.ts',
  'src/server/daemon/node-daemon.test.ts',
  'test/failover/toy-driver.test.ts',
  'src/sim/registers/registers.test.ts',
  'test/failover-model/healing.test.ts',
  'test/set-change/set-change.test.ts',

  'test/dashboard/cluster.process.test.ts',
  'src/server/local/local-cluster.process.test.ts',
  'test/gateway/surface.process.test.ts',
  'src/server/local/page.process.test.ts',
  'test/cli/sim-registers.process.test.ts',
  'test/cli/sim.process.test.ts',
  'test/readme/readme.process.test.ts',
  'src/server/testing/examples.process.test.ts',
  'test/cli/sim-fuzz.process.test.ts',
  'src/server/local/namespaces.process.test.ts',
  'src/cli/operate/operate.process.test.ts',
  'test/cli/sim-outage.process.test.ts',
  'src/cli/node.process.test.ts',
  'test/bench/failover.process.test.ts',
  'test/cli/cli.process.test.ts',
  'test/process/service.process.test.ts',
  'test/engine/storage/storage-kill.process.test.ts',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST_FIRST.findIndex((file) => moduleId.endsWith(`/${file}`));
      return at === -1 ? LONGEST_FIRST.length : at;
    };
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}

/**
 * Three kinds of tests, one after another: most share worker threads; of those that start processes, most run a few files
 * at a time, and some alone.
 */
export default defineConfig({
  resolve: {
    alias: {
      'baton/caspaxos': room('caspaxos'),
      'baton/check': room('check'),
      'baton/client': room('client'),
      'baton/engine': room('engine'),
      'baton/failover': room('failover'),
      'baton/protocol': room('protocol'),
      'baton/server': room('server'),
      'baton/sim': room('sim'),
      'baton/transport': room('transport'),
    },
  },
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: ['**/*.process.test.ts', ...never],
          pool: 'threads',
          // One less than there are cores would leave one idle.
          maxWorkers: '100%',
          isolate: false,
          testTimeout: 60_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'process',
          include: ['src/**/*.process.test.ts', 'test/**/*.process.test.ts'],
          exclude: [...ALONE, ...never],
          pool: 'forks',
          // They wait more than they compute.
          maxWorkers: availableParallelism() + 1,
          testTimeout: 300_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'alone',
          include: ALONE,
          exclude: never,
          pool: 'forks',
          fileParallelism: false,
          testTimeout: 300_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
