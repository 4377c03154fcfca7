/** The table of flags reads what it describes and refuses the rest; the help prints the same table. */
import { expect, test } from 'vitest';
import { describeLeftOut, helpOf } from '../../bench/support/benchmark.ts';
import {
  amount,
  count,
  counts,
  FlagError,
  oneOf,
  readFlags,
  someOf,
  text,
  toggle,
} from '../../bench/support/flags.ts';

const FLAGS = {
  systems: someOf(['ours', 'theirs', 'nobody'], 'systems to measure', ['ours', 'theirs']),
  profile: oneOf(['paper', 'fast'], 'profile', 'paper'),
  inFlight: counts('operations in flight', [1, 64]),
  seconds: amount('seconds', 5),
  runs: count('runs', 3),
  memory: count('writes', undefined),
  charts: text('DIRECTORY', 'where charts go', undefined),
  noSimulation: toggle('without the simulator'),
};

const DEFAULTS = {
  systems: ['ours', 'theirs'],
  profile: 'paper',
  inFlight: [1, 64],
  seconds: 5,
  runs: 3,
  memory: undefined,
  charts: undefined,
  noSimulation: false,
};

test('absent flags have their defaults, typed ones their values', () => {
  expect(readFlags(FLAGS, [])).toEqual(DEFAULTS);
  const typed =
    '--systems nobody,ours,nobody --profile=fast --in-flight 8 --seconds 0.5 --memory 1e6 --charts here --no-simulation';
  expect(readFlags(FLAGS, typed.split(' '))).toEqual({
    ...DEFAULTS,
    systems: ['nobody', 'ours'],
    profile: 'fast',
    inFlight: [8],
    seconds: 0.5,
    memory: 1_000_000,
    charts: 'here',
    noSimulation: true,
  });
});

test.each([
  [
    '--meteorite',
    'FLAG_UNKNOWN',
    /^Unknown flag --meteorite; known flags: --systems, --profile, .*, --help\.$/,
  ],
  ['-x', 'FLAG_UNKNOWN', /^Unknown flag -x; /],
  ['meteorite', 'FLAG_UNKNOWN', /^Unknown argument "meteorite"; /],
  ['--runs', 'FLAG_INVALID', /^--runs needs a value: --runs N\.$/],
  ['--runs --no-simulation', 'FLAG_INVALID', /^--runs needs a value: --runs N\.$/],
  ['--runs 0', 'FLAG_INVALID', /^--runs needs a whole number above 0, not "0"\.$/],
  ['--runs 1.5', 'FLAG_INVALID', /^--runs needs a whole number above 0, not "1\.5"\.$/],
  ['--seconds=-1', 'FLAG_INVALID', /^--seconds needs a number above 0, not "-1"\.$/],
  ['--seconds soon', 'FLAG_INVALID', /^--seconds needs a number above 0, not "soon"\.$/],
  ['--in-flight 1,', 'FLAG_INVALID', /^--in-flight needs a whole number above 0, not ""\.$/],
  [
    '--systems ours,oracle',
    'FLAG_INVALID',
    /^--systems does not know "oracle"; known: ours, theirs, nobody\.$/,
  ],
  ['--profile slow', 'FLAG_INVALID', /^--profile does not know "slow"; known: paper, fast\.$/],
  ['--no-simulation=yes', 'FLAG_INVALID', /^--no-simulation takes no value\.$/],
])('refuses %s', (typed, code, sentence) => {
  const read = (): unknown => readFlags(FLAGS, typed.split(' '));
  expect(read).toThrow(FlagError);
  expect(read).toThrow(expect.objectContaining({ code, message: expect.stringMatching(sentence) }));
});

test('the help has a line for each flag: what it takes, what it is for, its default', () => {
  const help = helpOf({
    name: 'toy',
    about: 'A toy.',
    flags: FLAGS,
    example: '--runs 1',
    programs: ['etcd'],
  });
  const lines = help.split('\n');
  expect(lines.slice(0, 4)).toEqual(['npm run bench:toy -- [FLAGS]', '', 'A toy.', '']);
  expect(lines).toContain(
    '  --systems NAME,...  systems to measure: ours, theirs, nobody (default: ours,theirs)',
  );
  expect(lines).toContain('  --in-flight N,...   operations in flight (default: 1,64)');
  expect(lines).toContain('  --memory N          writes');
  expect(lines).toContain('  --no-simulation     without the simulator');
  expect(lines).toContain('  npm run bench:toy -- --runs 1');
  expect(help).toContain('Programs used: etcd.');
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
});

test('what is left out says why, and how to get it where it can be got', () => {
  expect(describeLeftOut([])).toBe('');
  const lacking = { name: 'etcd', why: 'it needs etcd: it is not here', how: 'apt-get install etcd-server' };
  expect(describeLeftOut([lacking, { name: 'redis', why: 'it failed: no disk' }])).toBe(
    '\nLeft out:\n  etcd: it needs etcd: it is not here\n    to get it: apt-get install etcd-server\n  redis: it failed: no disk\n',
  );
});
