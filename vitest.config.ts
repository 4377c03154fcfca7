import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const room = (name: string) => fileURLToPath(new URL(`./src/${name}/index.ts`, import.meta.url));

/** Files that this run leaves out: patterns with blanks between them. */
const leftOut = (process.env['BATON_TESTS_LEFT_OUT'] ?? '').split(' ').filter((pattern) => pattern !== '');

/** Two kinds of tests: most share worker threads; those that start processes run alone, one file at a time. */
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
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
          exclude: ['**/*.process.test.ts', '**/node_modules/**', 'build/**', ...leftOut],
          pool: 'threads',
          // One less than there are cores would leave one idle.
          maxWorkers: '100%',
          isolate: false,
          testTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'process',
          include: ['src/**/*.process.test.ts', 'test/**/*.process.test.ts'],
          exclude: ['**/node_modules/**', 'build/**', ...leftOut],
          pool: 'forks',
          fileParallelism: false,
          testTimeout: 300_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
