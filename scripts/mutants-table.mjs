/** The published table of the mutants. `test/mutants` checks that it is in step with them. */
export function markdown(results, maxSeeds) {
  const rows = results.map(
    ({ id, rule, what, tests, seeds, simulated }) =>
      `| ${rule} | \`${id}\` | ${what} | ${escape(tests.caughtBy)} | ${inTheSimulator(seeds, simulated)} |`,
  );
  const simulated = results.filter(({ seeds }) => seeds !== undefined);
  const needed = simulated.map(({ seeds }) => seeds.seeds).sort((a, b) => a - b);
  return [
    '# Mutants of the CASPaxos library',
    '',
    'Deliberate defects, each applied alone to a copy of the sources, and what catches it: a test, and a check of the',
    `[simulator](simulator.md) with the number of seeds that it took, from seed 1 on and at most ${maxSeeds}. Written by`,
    '`npm run mutants -- --write`. The rules are those of the design, "rules that real implementations got wrong"; rule 0 is',
    'the protocol itself.',
    '',
    `${results.length} mutants, all caught by tests. ${simulated.length} of them show in the simulator: half within`,
    `${needed[Math.floor((needed.length - 1) / 2)]} seeds, the last after ${needed.at(-1)}. For the others the table says why they do not.`,
    '',
    '| rule | mutant | what it breaks | caught by the test | in the simulator: check, seeds |',
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

function inTheSimulator(seeds, simulated) {
  return seeds === undefined ? `not there: ${escape(simulated)}` : `${escape(seeds.check)}, ${seeds.seeds}`;
}

function escape(text) {
  return text.replaceAll('|', '\\|');
}
