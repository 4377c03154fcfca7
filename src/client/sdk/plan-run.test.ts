import { expect, test } from 'vitest';
import { type NodeAnswer, type OperationOptions, RegionCache } from '../core/index.ts';
import { type PlannedAttempt, type PlanRan, PlanRun, type Said } from './plan-run.ts';

const DONE: NodeAnswer = { outcome: 'done', position: { epoch: 1, lsn: 1 }, results: [{ status: 200 }] };
const NOT_WRITER: NodeAnswer = { outcome: 'refused', code: 'NOT_WRITER' };

/** Time stands still; attempts are answered by hand. */
class Scene {
  readonly cache = new RegionCache(['west', 'east']);
  readonly made: { readonly attempt: PlannedAttempt; readonly tell: (said: Said<NodeAnswer>) => void }[] = [];
  readonly cancelled: number[] = [];
  readonly timers = new Set<object>();
  readonly defects: unknown[] = [];
  answerAtOnce: ((attempt: PlannedAttempt) => NodeAnswer) | undefined;

  run(options: Partial<OperationOptions> = {}): {
    run: PlanRun<NodeAnswer>;
    ran: () => PlanRan<NodeAnswer> | undefined;
  } {
    let ran: PlanRan<NodeAnswer> | undefined;
    const run = new PlanRun<NodeAnswer>({
      host: {
        now: () => 0,
        random: () => 0.5,
        after: () => {
          const timer = {};
          this.timers.add(timer);
          return timer;
        },
        cancel: (timer) => void this.timers.delete(timer!),
      },
      cache: this.cache,
      options: {
        partitionSet: 's',
        kind: 'write',
        repeatable: 'by operation id',
        deadlineAtMs: 9000,
        ...options,
      },
      attempt: (attempt, tell) => {
        this.made.push({ attempt, tell });
        if (this.answerAtOnce !== undefined) tell({ answer: this.answerAtOnce(attempt) });
      },
      onCancel: (attempt) => this.cancelled.push(attempt),
      onMapOutdated: () => {},
      onDone: (what) => (ran = what),
      onDefect: (error) => this.defects.push(error),
    });
    return { run, ran: () => ran };
  }

  answer(at: number, answer: NodeAnswer): void {
    this.made[at]!.tell({ answer });
  }

  get regions(): readonly string[] {
    return this.made.map(({ attempt }) => attempt.region);
  }
}

test('what one write learns of the writer wakes the others that wait', () => {
  const scene = new Scene();
  const first = scene.run();
  first.run.start();
  scene.answer(0, NOT_WRITER);
  scene.answer(1, NOT_WRITER);
  const second = scene.run();
  second.run.start();
  expect(scene.regions).toEqual(['west', 'east', 'west']);
  scene.answer(2, { ...NOT_WRITER, writer: { region: 'east', gcn: 3 } });
  expect(scene.regions.slice(3), 'both ask whom it named').toEqual(['east', 'east']);
  scene.answer(3, DONE);
  scene.answer(4, DONE);
  for (const { ran } of [first, second]) expect(ran()?.result).toMatchObject({ ok: true, region: 'east' });
  expect(scene.timers.size).toBe(0);
});

test('reads do not wait for writers, nor does who has ended', () => {
  const scene = new Scene();
  const read = scene.run({ kind: 'read' });
  read.run.start();
  scene.answer(0, { outcome: 'refused', code: 'NOT_READY' });
  scene.answer(1, { outcome: 'refused', code: 'NOT_READY' });
  const gone = scene.run();
  gone.run.start();
  gone.run.abort();
  expect(gone.ran()?.result).toMatchObject({ error: { code: 'ABORTED', outcome: 'unknown' } });
  const before = scene.made.length;
  scene.cache.hinted('s', { region: 'east', gcn: 3 }, 0);
  expect(scene.made).toHaveLength(before);
});

test('answers that come at once are taken one after the other', () => {
  const scene = new Scene();
  scene.answerAtOnce = ({ region }) => (region === 'east' ? DONE : NOT_WRITER);
  const { run, ran } = scene.run();
  run.start();
  expect(ran()?.attempts.map(({ region, what }) => `${region} ${what}`)).toEqual([
    'west NOT_WRITER',
    'east DONE',
  ]);
});

test('given up before it starts, it attempts nothing', () => {
  const scene = new Scene();
  const { run, ran } = scene.run();
  run.abort();
  run.start();
  expect(ran()?.result).toMatchObject({ error: { code: 'ABORTED', outcome: 'notApplied' } });
  expect(scene.made).toEqual([]);
});

test('what is cancelled is said to be, and not listened to', () => {
  const scene = new Scene();
  const { run, ran } = scene.run();
  run.start();
  run.abort();
  expect(scene.cancelled).toEqual([1]);
  scene.answer(0, DONE);
  expect(ran()?.result.ok).toBe(false);
});

test('a defect ends the run and is handed on', () => {
  const scene = new Scene();
  const error = new Error('broken');
  scene.answerAtOnce = () => {
    throw error;
  };
  const { run } = scene.run();
  run.start();
  expect(scene.defects).toEqual([error]);
  expect(scene.timers.size).toBe(0);
});
