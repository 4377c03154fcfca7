/**
 * The published tables of the mutants: each area has its marked part of the document, and is written by itself. `test/mutants`
 * checks that they are in step with the mutants.
 */

/** The document with the area's part as the results have it. */
export function withArea(document, area, results) {
  const [begin, end] = [`<!-- ${area.name}:begin -->`, `<!-- ${area.name}:end -->`];
  const from = document.indexOf(begin);
  const to = document.indexOf(end);
  if (from < 0 || to < from) throw new Error(`docs/mutants.md has no part ${area.name}`);
  return `${document.slice(0, from + begin.length)}\n\n${markdown(area, results)}\n${document.slice(to)}`;
}

function markdown({ title, rules, maxSeeds }, results) {
  const rows = results.map(
    ({ id, rule, what, tests, seeds, simulated, level }) =>
      `| ${rule} | \`${id}\` | ${what} | ${escape(tests.caughtBy)} | ${inTheSimulator(seeds, simulated, level)} |`,
  );
  const simulated = results.filter(({ seeds }) => seeds !== undefined);
  const needed = simulated.map(({ seeds }) => seeds.seeds).sort((a, b) => a - b);
  return [
    `## ${title}`,
    '',
    rules,
    '',
    `${results.length} mutants, all caught by tests. ${simulated.length} of them show in the simulator within ${maxSeeds} seeds: half within`,
    `${needed[Math.floor((needed.length - 1) / 2)]} seeds, the last after ${needed.at(-1)}. For the others the table says why they do not.`,
    '',
    '| rule | mutant | what it breaks | caught by the test | in the simulator: check, seeds |',
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

function inTheSimulator(seeds, simulated, level) {
  if (seeds === undefined) return `not there: ${escape(simulated)}`;
  return `${escape(seeds.check)}, ${seeds.seeds}${level === undefined ? '' : ` at ${level}`}`;
}

function escape(text) {
  return text.replaceAll('|', '\\|');
}
