/**
 * The long run, as data: what `npm run test:all` does beside `npm test`. `scripts/test-all.mjs` runs it, `npm test` names it at its end.
 *
 * Groups run one after another, the steps of a group at the same time: each of those computes on one core and waits for nobody, so that
 * together they fill the machine without being in each other's way. A step that counts its own tests writes them to BATON_TEST_SUMMARY; any
 * other counts as one.
 */
import { execFileSync } from 'node:child_process';
import { ROOT } from './run.mjs';

/** The major version of Node for the second run of the tests. */
const SECOND_NODE = '24';

const baton = (...args) => ['node', 'dist/cli/main.js', ...args];

/** @type {ReadonlyArray<ReadonlyArray<{name: string, what: string, minutes: number, countsTests?: boolean, command: readonly string[]}>>} */
export const LONG_RUN = [
  [
    {
      name: 'long tests',
      what: 'clusters killed and stopped at wrong moments, fuzzers and chaos against real processes, smoke tests of the benchmarks',
      minutes: 20,
      countsTests: true,
      command: ['node', 'scripts/test.mjs', '--lane', 'long'],
    },
  ],
  [
    {
      name: `Node ${SECOND_NODE}`,
      what: `everything that touches Node itself, on Node ${SECOND_NODE}`,
      minutes: 20,
      countsTests: true,
      command: ['node', 'scripts/test.mjs', '--lane', 'second', '--node', SECOND_NODE],
    },
  ],
  [
    {
      name: 'specifications',
      what: 'every TLA+ configuration, the large ones too, compared with the states of the real roles',
      minutes: 30,
      command: ['node', 'build/test/spec/full.js'],
    },
    {
      name: 'mutants',
      what: 'deliberate defects, each of which some test must catch',
      minutes: 30,
      command: ['node', 'scripts/mutants.mjs', '--tests', '--workers', '1'],
    },
  ],
  [
    {
      name: 'fuzz, fixed seeds',
      what: 'the whole system in virtual time under faults, 200 fixed seeds and fresh ones',
      minutes: 10,
      command: baton('sim', 'fuzz', '--seeds', '200', '--workers', '1'),
    },
    {
      name: 'fuzz, fresh seeds',
      minutes: 10,
      command: baton('sim', 'fuzz', '--first', 'FRESH', '--seeds', '40', '--workers', '1'),
    },
  ],
];

/** What a newcomer is told at the end of `npm test`. */
export function describeLongRun() {
  const parts = LONG_RUN.flat().filter(({ what }) => what !== undefined);
  const lines = parts.map(({ name, what }) => `  ${name.replace(/,.*/, '').padEnd(14)}  ${what}`);
  return ['npm run test:all (about 40 minutes) runs these as well:', ...lines].join('\n');
}

/** A seed that no earlier change had: it comes from the commit, so that whoever runs it again meets the same one. */
export function freshSeed() {
  try {
    const options = { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] };
    const commit = execFileSync('git', ['rev-parse', '--short=7', 'HEAD'], options);
    return 1_000_000 + Number.parseInt(commit.slice(0, 7), 16);
  } catch {
    return 1_000_000 + Math.floor(Date.now() / 1000); // Not in a checkout.
  }
}
