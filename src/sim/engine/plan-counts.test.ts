import { expect, test } from 'vitest';
import type { AttemptDiagnostics, NodeAnswer, PlanRan } from '../../client/index.ts';
import { countPlan } from './plan-counts.ts';

function attempt(region: string, what: string, more: Partial<AttemptDiagnostics> = {}): AttemptDiagnostics {
  const common = { attempt: 1, startedAtMs: 0, durationMs: 1, why: 'by priority', hedge: false } as const;
  return { ...common, region, what, ...more };
}

const GOOD = { ok: true, answer: { outcome: 'done', position: { epoch: 1, lsn: 1 } }, region: 'b' } as const;

function counted(what: 'write' | 'read', ran: PlanRan<NodeAnswer>): readonly string[] {
  const all: string[] = [];
  countPlan(what, ran, (one) => all.push(one));
  return all;
}

test('a write that was sent again counts as that, and where', () => {
  const attempts = [attempt('a', 'SILENT'), attempt('b', 'DONE', { why: 'named as the writer' })];
  expect(counted('write', { result: GOOD, attempts })).toEqual([
    'plan write: ok',
    'plan: retried elsewhere',
    'plan: repeated after unknown',
    'plan: followed a hint',
  ]);
  expect(counted('write', { result: GOOD, attempts: [attempt('b', 'DONE')] })).toEqual(['plan write: ok']);
});

test('a hedge counts, and that it won', () => {
  const attempts = [attempt('a', 'CANCELLED'), attempt('b', 'DONE', { why: 'hedge', hedge: true })];
  expect(counted('read', { result: GOOD, attempts })).toEqual([
    'plan read: ok',
    'plan: retried elsewhere',
    'plan: hedged',
    'plan: hedge won',
  ]);
});

test('what is reported of writes that failed counts', () => {
  const error = { code: 'ABORTED', message: '', outcome: 'unknown', retryable: false } as const;
  const unknown = { result: { ok: false, error }, attempts: [attempt('a', 'CANCELLED')] } as const;
  expect(counted('write', unknown)).toEqual([
    'plan write: ABORTED',
    'plan: reported unknown',
    'plan: given up',
  ]);
  const denied = {
    result: { ok: false, error: { ...error, code: 'DEADLINE', outcome: 'notApplied' } },
  } as const;
  expect(counted('write', { ...denied, attempts: [] })).toEqual([
    'plan write: DEADLINE',
    'plan: reported not applied',
  ]);
});
