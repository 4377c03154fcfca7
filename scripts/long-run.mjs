/**
 * The long run, as data: what `npm run test:all` does beside `npm test`. `scripts/test-all.mjs` runs it, `npm test` names it at its end.
 *
 * TESTS start processes and wait for them most of the time; they run one after another. COMPUTING waits for nobody and shows the same on any
 * machine: it takes, at low priority, what the tests leave of the processors. A step that counts its own tests writes them to BATON_TEST_SUMMARY;
 * any other counts as one.
 */
import { execFileSync } from 'node:child_process';
import { ROOT } from './run.mjs';

/** The major version of Node for the second run of the tests. */
const SECOND_NODE = '24';

/**
 * @typedef {{name: string, what: string, minutes: number, countsTests?: boolean, env?: Record<string, string>, command: readonly string[]}} Step
 * `what` it finds, for people; the `minutes` after which it hangs, and is stopped.
 */

/** @type {readonly Step[]} */
export const TESTS = [
  {
    name: 'long tests',
    what: 'clusters killed and stopped at the wrong moments, chaos, fuzzers, smoke tests of the benchmarks',
    minutes: 40,
    countsTests: true,
    command: ['node', 'scripts/test.mjs', '--lane', 'long'],
  },
  {
    name: `Node ${SECOND_NODE}`,
    what: `everything that touches Node itself, on Node ${SECOND_NODE}`,
    minutes: 40,
    countsTests: true,
    command: ['node', 'scripts/test.mjs', '--lane', 'second', '--node', SECOND_NODE],
  },
];

const fuzz = (...args) => ['node', 'dist/cli/main.js', 'sim', 'fuzz', '--workers', '1', ...args];
const registers = (...args) => ['node', 'dist/cli/main.js', 'sim', 'registers', '--workers', '1', ...args];

/** @type {readonly Step[]} */
export const COMPUTING = [
  {
    name: 'specifications',
    what: 'every TLA+ configuration, the large ones too, compared with the states of the real roles',
    minutes: 60,
    command: ['node', 'build/test/spec/full.js'],
  },
  {
    name: 'explorations',
    what: 'every state of the large models of failover and of a change of the acceptors; more seeds against the specification',
    minutes: 60,
    countsTests: true,
    env: { BATON_EXHAUSTIVE: '1', VITEST_MAX_WORKERS: '1' },
    command: ['node', 'scripts/test.mjs', 'test/set-change', 'test/failover-model', 'test/spec/conformance'],
  },
  {
    name: 'mutants',
    what: 'deliberate defects, each of which some test must catch',
    minutes: 30,
    command: ['node', 'scripts/mutants.mjs', '--tests', '--workers', '1'],
  },
  {
    name: 'storage kills',
    what: 'kill -9 of a process that stores, at any moment, 500 times: what was durable is there',
    minutes: 20,
    command: ['node', 'build/test/engine/storage/kills.js', '--kills', '500'],
  },
  {
    name: 'fuzz, fixed seeds',
    what: 'the whole system in virtual time under faults, 200 seeds',
    minutes: 20,
    command: fuzz('--seeds', '200'),
  },
  {
    name: 'fuzz, fresh seeds',
    what: 'the same with 40 seeds that no change before had',
    minutes: 20,
    command: fuzz('--seeds', '40', '--first', 'FRESH'),
  },
  {
    name: 'registers, fixed seeds',
    what: 'the CASPaxos library in virtual time under faults, 200 seeds',
    minutes: 20,
    command: registers('--seeds', '200'),
  },
  {
    name: 'registers, fresh seeds',
    what: 'the same with 200 seeds that no change before had',
    minutes: 20,
    command: registers('--seeds', '200', '--first', 'FRESH'),
  },
];

/**
 * What is not in it although it finds something, because all of it together must be over within three quarters of an hour on two cores.
 *
 * @type {readonly {name: string, what: string, command: string}[]}
 */
export const LEFT_OUT = [
  {
    name: 'mutants by seeds',
    what: 'the same defects, each compiled and run by the simulators until a seed of up to 1,500 shows it',
    command: 'npm run mutants -- --seeds',
  },
  {
    name: 'chaos of any length',
    what: 'faults in a real cluster for as long as one likes; the long tests have a minute of it',
    command: 'npm run chaos',
  },
  {
    name: 'benchmarks',
    what: 'figures; the long tests see that each prints some',
    command: 'npm run bench:NAME',
  },
];

/** What `npm run test:all -- --list` says of it. */
export function describeLeftOut() {
  const lines = LEFT_OUT.map(({ name, what, command }) => `  ${name.padEnd(22)}  ${what} (${command})`);
  return ['Not in it, for want of time:', ...lines].join('\n');
}

/** What a newcomer is told at the end of `npm test`. */
export function describeLongRun() {
  const lines = [...TESTS, ...COMPUTING].map(({ name, what }) => `  ${name.padEnd(22)}  ${what}`);
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
