import type { SeededSimulation } from 'baton/sim';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { counterSimulation } from '../../../test/sim/counter-simulation.ts';
import { runSeeds, type SeedsOptions } from './registers-campaign.ts';
import { parseSchedule } from './registers-schedule.ts';

const inThisProcess = (simulation: SeededSimulation) => ({
  run: (seed: number) => simulation.run(seed),
  close: async () => {},
});

/** What the command prints, and the exit code that it leaves. */
async function printed(options: Partial<SeedsOptions>): Promise<{ text: string; code: number }> {
  let text = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((part) => {
    text += String(part);
    return true;
  });
  const common = { first: 1, count: 6, workers: 2, twice: false, stopAtFirst: false, json: false };
  await runSeeds({ simulation: counterSimulation, ...common, startRunner: inThisProcess, ...options });
  vi.restoreAllMocks();
  return { text, code: Number(process.exitCode ?? 0) };
}

afterEach(() => {
  process.exitCode = undefined;
});

describe('a campaign with a seed that fails', () => {
  test('tells which check, what the seed used, the shrunk schedule, and how to see it again', async () => {
    const { text, code } = await printed({});
    expect(code).toBe(1);
    expect(text).toMatch(
      /^Seed (\d+) FAILED: counts up\n {2}\d+ came after \d+\n\nWhat it used:\n {2}network: /m,
    );
    expect(text).toMatch(/^Its schedule, shrunk from 1 fault to 1, still failing counts up:\n\[\n/m);
    expect(text).toMatch(/^ {2}baton sim counter --seed \d+$/m);
    expect(text).toMatch(/^\d seeds failed\. The others:\n {2}seed \d: counts up$/m);
    expect(text).toMatch(/\nFAILED\.\n$/);
  });

  test('prints a command whose schedule fails again', async () => {
    const { text } = await printed({ json: true, stopAtFirst: true });
    const { example, failures, passed } = JSON.parse(text);
    expect(passed).toBe(false);
    expect(failures).toHaveLength(1);
    const match = /^echo '(?<schedule>.*)' \| baton sim counter --seed (?<seed>\d+) --schedule -$/.exec(
      example.replayShrunk,
    );
    const schedule = parseSchedule(match!.groups!['schedule']!, 'the command', ['crash']);
    const again = await counterSimulation.run(Number(match!.groups!['seed']), schedule);
    expect(again.failure).toMatchObject({ check: 'counts up' });
    expect(again.trace).toBe(example.shrunk.trace);
  });

  test('that does not repeat itself says so, and does not shrink what it cannot repeat', async () => {
    let times = 0;
    const leaky: SeededSimulation = {
      ...counterSimulation,
      run: async (seed) => ({ ...(await counterSimulation.run(seed, [])), events: (times += 1) }),
    };
    const { text, code } = await printed({ simulation: leaky, twice: true, count: 2 });
    expect(code).toBe(1);
    expect(text).toMatch(/^Seed 1 FAILED: same run\n {2}Two runs of seed 1 differ: /m);
    expect(text).not.toContain('shrunk');
  });
});

describe('a campaign in which something never occurred', () => {
  const calm: SeededSimulation = {
    ...counterSimulation,
    mustOccur: ['eclipse'],
    run: (seed) => counterSimulation.run(seed, []),
  };

  test('says so when it is small, and fails when it is large', async () => {
    const small = await printed({ simulation: calm, count: 2 });
    expect(small).toMatchObject({ code: 0, text: expect.stringContaining('Never occurred: "eclipse".') });
    const large = await printed({
      simulation: { ...calm, run: async (seed) => ({ ...(await still), seed }) },
      count: 200,
    });
    expect(large.code).toBe(1);
    expect(large.text).toContain('FAILED: this must occur in a campaign, and never did: "eclipse".');
  });

  const still = calm.run(1);
});
