/**
 * Some faults at Strong on a cluster whose acceptors are a PostgreSQL, a Redis, an etcd and two services, with one store after
 * another away meanwhile. `npm run chaos -- --stores` goes on for longer, and at every level.
 */
import { expect, test } from 'vitest';
import { chosenSeed } from '../process/support/seed.ts';
import { notRun, type Skippable } from '../support/not-run.ts';
import { type CampaignOptions, runCampaign } from './campaign.ts';
import { abilitiesOf, findFaketime } from './faults.ts';
import { keepHistories } from './recording.ts';
import { formatSummary, summarize } from './report.ts';
import { STORE_KINDS, type StoreKind } from './schedule.ts';
import { lackingPrograms } from './stores.ts';
import { judge } from './verdict.ts';

const COMMON: Omit<CampaignOptions, 'abilities'> = {
  seed: chosenSeed(),
  consistency: 'Strong',
  seconds: 20,
  partitionSets: 8,
  clients: 6,
  holdsBounds: false,
  progress: () => {},
};

function needPrograms(context: Skippable, stores: readonly StoreKind[]): void {
  const [lacking] = lackingPrograms(stores);
  if (lacking !== undefined) notRun(context, { what: `${lacking.name}: ${lacking.why}`, how: lacking.how });
}

test.concurrent('clients of a cluster that loses one store after another, and regions meanwhile, are told nothing wrong', async (context) => {
  needPrograms(context, STORE_KINDS);
  const abilities = abilitiesOf(false, findFaketime(), STORE_KINDS);
  const evidence = await runCampaign({ ...COMMON, abilities });
  const violations = judge(evidence);
  if (violations.length > 0) keepHistories(evidence);
  expect(violations, formatSummary(summarize(evidence, violations), evidence)).toEqual([]);
  evidence.discard();
});

test.concurrent('a store that says it wrote, and has nothing when it comes back, fails a run', async (context) => {
  needPrograms(context, ['redis']);
  const abilities = { ...abilitiesOf(false, undefined, ['redis']), kinds: ['kill store'] as const };
  const storeDefects = { forgetful: 'redis' } as const;
  const small = { seconds: 1, partitionSets: 2, clients: 1 };
  const evidence = await runCampaign({ ...COMMON, ...small, abilities, storeDefects });
  evidence.discard();
  const troubles = judge(evidence).filter(({ rule }) => rule === 'trouble');
  expect(troubles.map(({ sentence }) => sentence)).toContainEqual(
    expect.stringMatching(/^stuck after kill store redis .* is not used/),
  );
});
