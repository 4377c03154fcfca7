import { describe, expect, test } from 'vitest';
import {
  checkCheckedRun,
  CONSISTENCY_RULES,
  type ConsistencyRule,
  levelToPlant,
  plantInRun,
  PLANTED_RUNS,
  type RunOptions,
  seededChoose,
  simulateCheckedRun,
} from 'baton/check';

const OPTIONS: RunOptions = {
  level: 'Strong',
  operations: 60,
  clients: 4,
  keys: 3,
  failovers: 15,
  unknownPercent: 10,
  bound: { versions: 4, ms: 60 },
};
const SEEDS = 40;
const WANTED = 5;

const RULES = Object.keys(CONSISTENCY_RULES) as ConsistencyRule[];

describe.each(RULES)('%s', (rule) => {
  test('has two defects or more', () => {
    expect(Object.keys(PLANTED_RUNS[rule]).length).toBeGreaterThanOrEqual(2);
  });

  test.each(Object.keys(PLANTED_RUNS[rule]))('is broken by %s', (defect) => {
    let planted = 0;
    for (let seed = 0; seed < SEEDS && planted < WANTED; seed += 1) {
      const choose = seededChoose(seed);
      const run = simulateCheckedRun({ ...OPTIONS, level: levelToPlant(rule) }, choose);
      const broken = plantInRun(rule, defect, run, choose);
      if (broken === undefined) continue;
      planted += 1;
      const rules = checkCheckedRun(broken).map((finding) => finding.rule);
      expect(rules, `seed ${seed}`).toContain(rule);
    }
    expect(planted).toBe(WANTED);
  });
});
