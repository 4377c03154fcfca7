import { expect, test } from 'vitest';
import {
  type NodeAnswer,
  type OperationOptions,
  type PlannedAttempt,
  type PlanRan,
  RegionCache,
  type Said,
} from '../../client/index.ts';
import { World } from '../world.ts';
import { runPlan } from './plan-run.ts';

const DONE: NodeAnswer = { outcome: 'done', position: { epoch: 1, lsn: 1 }, results: [{ status: 200 }] };
const WRITE: Omit<OperationOptions, 'deadlineAtMs'> = {
  partitionSet: 's',
  kind: 'write',
  repeatable: 'by operation id',
};

interface Played {
  readonly ran: PlanRan<NodeAnswer> | undefined;
  readonly wrongs: readonly string[];
  readonly sent: readonly string[];
  readonly endedAt: number;
}

/** One write with a second's time, in a world where `said` tells what each attempt hears, and after how long. */
async function play(
  said: (attempt: PlannedAttempt) => readonly (readonly [ms: number, said: Said<NodeAnswer>])[],
  given: { readonly planUntilMs?: number; readonly abortAfterMs?: number } = {},
): Promise<Played> {
  const world = new World(1);
  const process = world.addProcess({ name: 'client', main: () => {} });
  process.start();
  const wrongs: string[] = [];
  const sent: string[] = [];
  let ran: PlanRan<NodeAnswer> | undefined;
  let endedAt = Infinity;
  const running = runPlan<NodeAnswer>({
    process,
    cache: new RegionCache(['east', 'west']),
    options: { ...WRITE, deadlineAtMs: given.planUntilMs ?? 1000 },
    deadlineAtMs: 1000,
    abortAfterMs: given.abortAfterMs,
    send: (attempt, tell) => {
      sent.push(attempt.region);
      for (const [ms, what] of said(attempt)) process.after(ms, () => tell(what));
    },
    onWrong: (sentence) => wrongs.push(sentence),
  });
  const follow = async (): Promise<void> => {
    ran = await running;
    endedAt = world.now;
  };
  void follow();
  await world.run(10_000);
  return { ran, wrongs, sent, endedAt };
}

test('who says nothing is left, and the write is done elsewhere', async () => {
  const { ran, wrongs, sent } = await play(({ region }) =>
    region === 'east' ? [] : [[5, { answer: DONE }]],
  );
  expect(ran?.result).toMatchObject({ ok: true, region: 'west' });
  expect({ wrongs, sent }).toEqual({ wrongs: [], sent: ['east', 'west'] });
});

test('answers that come twice, or after the end, change nothing', async () => {
  const { ran, sent } = await play(() => [
    [5, { answer: DONE }],
    [6, { answer: { outcome: 'refused', code: 'NOT_WRITER' } }],
    [2000, { answer: DONE }],
  ]);
  expect(ran?.result).toMatchObject({ ok: true, region: 'east' });
  expect(sent).toEqual(['east']);
});

test('a caller that gives up is told at once, and that the write may be on its way', async () => {
  const { ran, endedAt } = await play(() => [], { abortAfterMs: 70 });
  expect(ran?.result).toMatchObject({ ok: false, error: { code: 'ABORTED', outcome: 'unknown' } });
  expect(endedAt).toBe(70);
});

test('an operation ends with its deadline; a plan that goes on is noticed', async () => {
  const refuse = (): [number, Said<NodeAnswer>][] => [
    [5, { failure: { outcome: 'not sent', code: 'UNREACHABLE' } }],
  ];
  const good = await play(refuse);
  expect(good.ran?.result).toMatchObject({ error: { code: 'UNREACHABLE', outcome: 'notApplied' } });
  expect({ wrongs: good.wrongs, endedAt: good.endedAt }).toEqual({ wrongs: [], endedAt: 1000 });
  const { wrongs } = await play(refuse, { planUntilMs: 1400 });
  expect(wrongs).toContain('an attempt started after the deadline');
  expect(wrongs.at(-1)).toBe('an operation went on after its deadline');
});
