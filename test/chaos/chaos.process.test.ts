/** Some faults at Strong and at a weaker level, both at once: most of the time they wait. `npm run chaos` goes on for longer. */
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { CONSISTENCY_LEVELS, type ConsistencyLevel } from 'baton/check';
import { chosenSeed } from '../process/support/seed.ts';
import { notRun } from '../support/not-run.ts';
import { runCampaign } from './campaign.ts';
import { canMakeNamespaces } from './environment.ts';
import { abilitiesOf, findFaketime } from './faults.ts';
import { keepHistories } from './recording.ts';
import { formatSummary, summarize } from './report.ts';
import { FAULT_KINDS, isOfStore } from './schedule.ts';
import { judge } from './verdict.ts';

const SECONDS = 30;
const abilities = abilitiesOf(canMakeNamespaces(), findFaketime());
const seed = chosenSeed();
const weaker = CONSISTENCY_LEVELS.slice(1)[seed % (CONSISTENCY_LEVELS.length - 1)]!;

test.concurrent.each<ConsistencyLevel>(['Strong', weaker])(
  'clients of a cluster whose regions die, stand still and are cut off are told nothing wrong: %s',
  async (consistency) => {
    const evidence = await runCampaign({
      seed,
      consistency,
      seconds: SECONDS,
      partitionSets: 8,
      clients: 6,
      abilities,
      holdsBounds: false,
      progress: () => {},
    });
    const violations = judge(evidence);
    if (violations.length > 0) keepHistories(evidence);
    expect(violations, formatSummary(summarize(evidence, violations), evidence)).toEqual([]);
    evidence.discard();
    expect(existsSync(evidence.directory)).toBe(false);
  },
);

test('every kind of fault can be done here', (context) => {
  const [lacking] = abilities.notRun;
  if (lacking !== undefined)
    notRun(context, {
      what: abilities.notRun.join('; '),
      how: 'run as root on Linux with iproute2 and util-linux, and install faketime',
    });
  expect(abilities.kinds).toEqual(FAULT_KINDS.filter((kind) => !isOfStore(kind)));
});
