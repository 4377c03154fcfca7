import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { ALONE, LONGEST_FIRST, ONLY_LONG, SAME_ON_ANY_NODE } from './test/lanes.ts';

const room = (name: string) => fileURLToPath(new URL(`./src/${name}/index.ts`, import.meta.url));

const PROCESS = '**/*.process.test.ts';
const only = Object.keys(ONLY_LONG);

/** `BATON_LANE`, one of those of test/lanes.ts; without it, every file. */
const lane = process.env['BATON_LANE'] ?? '';
const leftOut = { quick: only, second: Object.keys(SAME_ON_ANY_NODE) }[lane] ?? [];
const never = ['**/node_modules/**', 'build/**', ...leftOut];

function included(isIn: (file: string) => boolean, otherwise: string[]): string[] {
  return lane === 'long' ? only.filter(isIn) : otherwise;
}

const isAlone = (file: string) => ALONE.includes(file);
const hasProcesses = (file: string) => file.endsWith('.process.test.ts');
/** Bounds for tests that hang, not promises: the machine may be busy. */
const PROCESS_TIMES = { testTimeout: 300_000, hookTimeout: 300_000 };

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
    // In some lanes there is no file of some kind.
    passWithNoTests: true,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: included((file) => !hasProcesses(file), ['src/**/*.test.ts', 'test/**/*.test.ts']),
          exclude: [PROCESS, ...never],
          pool: 'threads',
          // Some wait for sockets and disks while others compute.
          maxWorkers: availableParallelism() + 1,
          isolate: false,
          testTimeout: 180_000,
          hookTimeout: 180_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: 'process',
          include: included(hasProcesses, [`src/${PROCESS}`, `test/${PROCESS}`]),
          exclude: [...ALONE, ...never],
          pool: 'forks',
          // They wait about as much as they compute.
          maxWorkers: availableParallelism() + 2,
          ...PROCESS_TIMES,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: 'alone',
          include: included(isAlone, [...ALONE]),
          exclude: never,
          pool: 'forks',
          fileParallelism: false,
          ...PROCESS_TIMES,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
