import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { healthy, heartbeat, intent, movingTo } from '../../../../test/failover/reports.ts';
import { REFUSALS } from './refusal.ts';
import type { Report } from './report.ts';
import { parseReport, parseState } from './schema.ts';
import type { FailoverState } from './state.ts';
import { transition } from './transition.ts';

/** A copy of the value with one field, given by its path, changed or taken out. */
function spoiled(value: object, path: string, to: unknown): object {
  const copy = structuredClone(value) as Record<string, unknown>;
  const steps = path.split('.');
  const last = steps.pop()!;
  let at: Record<string, unknown> = copy;
  for (const step of steps) at = at[step] as Record<string, unknown>;
  if (to === undefined) delete at[last];
  else at[last] = to;
  return copy;
}

const refusalIn = (parsed: object) =>
  'refusal' in parsed ? (parsed.refusal as { code: string; field: string }) : undefined;

describe('a malformed state is refused with the field', () => {
  const state = movingTo('B');

  test.each<[path: string, to: unknown, field?: string]>([
    ['schema', 2],
    ['schema', undefined],
    ['minReader', 0],
    ['partitionSet', ''],
    ['gcn', -1],
    ['gcn', 1.5],
    ['gcn', '7'],
    ['gcn', Number.MAX_SAFE_INTEGER + 2],
    ['writer', 3],
    ['writer', 'Z', 'writer'],
    ['writer', null, 'writer'],
    ['phase', 'Lost'],
    ['step', undefined],
    ['target', 'Z', 'target'],
    ['target', undefined, 'target'],
    ['final', { epoch: 1 }, 'final.lsn'],
    ['configuration.priorities', []],
    ['configuration.priorities', ['A', 'Z'], 'configuration.priorities'],
    ['configuration.consistency', 'Total'],
    ['configuration.minDurability', 0],
    ['configuration.timings.leaseMs', 0],
    ['configuration.failback', 'sometimes'],
    ['configuration.signals', { disk: 'explode' }, 'configuration.signals.disk'],
    ['leaseMs', '45 s'],
    ['leaseSet', ['B', 'C'], 'leaseSet'],
    ['leaseSet', ['A', 'B', 'Z'], 'leaseSet'],
    ['regions.B', 7],
    ['regions.B.beat', -1],
    ['regions.B.report.progress.lsn', 1e300],
    ['regions.B.report.reaches', 'A'],
    ['raise.cause', 'weather'],
    ['damping.wait', undefined],
    ['open', {}],
    ['open.0.id', ''],
    ['recent', null],
    ['statistics', [1]],
    ['history', [{}], 'history.0.at'],
  ])('%s = %j', (path, to, field = path) => {
    const found = refusalIn(parseState(spoiled(state, path, to)));
    expect(found).toMatchObject({ code: 'STATE_MALFORMED', field });
  });

  test('writes are quiesced nowhere but in Graceful', () => {
    expect(refusalIn(parseState({ ...healthy(), quiesce: true }))).toMatchObject({ field: 'quiesce' });
  });

  test.each([undefined, null, 7, 'state', [], {}])('%j is no state', (value) => {
    expect(refusalIn(parseState(value))?.code).toBe('STATE_MALFORMED');
  });

  test('a newer one is refused as such, whatever else is new in it', () => {
    const newer = { ...healthy(), minReader: 99, phase: 'Levitating' };
    expect(refusalIn(parseState(newer))).toMatchObject({ code: 'STATE_TOO_NEW', field: 'minReader' });
  });
});

describe('a malformed report is refused with the field', () => {
  const state = healthy();
  const report = heartbeat(state, 'A', {
    silence: { gcn: 1, writer: 'A', beat: 1, waitedMs: 1 },
    wait: { step: 1, waitedMs: 1 },
    phase2Ms: 5,
    signals: ['disk'],
  });

  test.each<[path: string, to: unknown]>([
    ['type', 'rumour'],
    ['region', ''],
    ['region', 'x'.repeat(65)],
    ['incarnation', 0],
    ['version', '2'],
    ['gcn', 0],
    ['gcn', undefined],
    ['at', 'yesterday'],
    ['at', `2026-03-01T12:00${'0'.repeat(60)}`],
    ['scheduled', 'yes'],
    ['build', 'Ruined'],
    ['progress.lsn', -1],
    ['progress.lsn', 0.5],
    ['progress.lsn', 1e300],
    ['progress.epoch', null],
    ['gclsn', Number.NaN],
    ['canCommit', 1],
    ['reaches', 'B'],
    ['silence.waitedMs', -1],
    ['silence.waitedMs', Number.POSITIVE_INFINITY],
    ['silence.beat', undefined],
    ['wait.step', 0],
    ['writer.commitSet', undefined],
    ['writer.add', [1]],
    ['stopping', false],
    ['busy', 'x'],
    ['busy', false],
    ['signals', [7]],
    ['phase2Ms', -1],
    ['phase2Ms', 1e200],
  ])('%s = %j', (path, to) => {
    const found = refusalIn(parseReport(spoiled(report, path, to)));
    expect(found).toMatchObject({ code: 'REPORT_MALFORMED' });
    expect(found?.field.startsWith(path)).toBe(true);
  });

  test('one of a busy process is well-formed', () => {
    const busy = { ...report, busy: true };
    expect(parseReport(busy)).toEqual({ value: busy });
  });

  test.each<[to: unknown, field: string]>([
    [{ kind: 'conquer' }, 'intent.kind'],
    [{ kind: 'switchover' }, 'intent.target'],
    [{ kind: 'failover', acceptLoss: 'yes' }, 'intent.acceptLoss'],
    [{ kind: 'durability', minDurability: 0 }, 'intent.minDurability'],
    [{ kind: 'consistency', consistency: 'Total' }, 'intent.consistency'],
    [{ kind: 'timings', timings: { intervalMs: 0, leaseMs: 1, settleMs: 1 } }, 'intent.timings.intervalMs'],
    [
      { kind: 'failback', failback: { windows: [{ from: '25:00', to: '06:00' }] } },
      'intent.failback.windows.0.from',
    ],
    [{ kind: 'maximum loss', writes: -1 }, 'intent.writes'],
    [{ kind: 'signals', signals: { disk: 'maybe' } }, 'intent.signals.disk'],
  ])('intent %j', (body, field) => {
    const found = refusalIn(parseReport({ ...intent({ kind: 'pause' }), intent: body }));
    expect(found).toMatchObject({ code: 'REPORT_MALFORMED', field });
  });

  test.each([
    ['an id', { id: '' }, 'id'],
    ['who', { who: '' }, 'who'],
    ['who, at length', { who: 'x'.repeat(65) }, 'who'],
  ])('an intent without %s', (_, changes, field) => {
    expect(refusalIn(parseReport({ ...intent({ kind: 'pause' }), ...changes }))).toMatchObject({ field });
  });
});

describe('a report that does not fit the state is refused, and the register left as it was', () => {
  const state: FailoverState = { ...healthy(), removed: ['Z'] };

  test.each<[string, Report, string, string]>([
    ['an unknown region', heartbeat(state, 'Q'), 'REGION_UNKNOWN', 'region'],
    ['a removed region', heartbeat(state, 'Z'), 'REGION_REMOVED', 'region'],
    [
      'a region with the name of a method',
      heartbeat(state, 'toString', { reaches: [] }),
      'REGION_UNKNOWN',
      'region',
    ],
    ['a GCN that went back', heartbeat(state, 'B', { gcn: 2 }), 'GCN_AHEAD', 'gcn'],
    [
      'an epoch that never was',
      heartbeat(state, 'B', { progress: { epoch: 2, lsn: 1 } }),
      'PROGRESS_IMPOSSIBLE',
      'progress.epoch',
    ],
  ])('%s', (_, report, code, field) => {
    const before = structuredClone(state);
    const verdict = transition(state, report);
    expect(verdict).toMatchObject({ verdict: 'refused', refusal: { code, field } });
    expect(state).toStrictEqual(before);
  });

  test('every refusal has a meaning for people', () => {
    for (const meaning of Object.values(REFUSALS)) expect(meaning).toMatch(/^[a-z].{10,}[^.]$/);
  });
});

describe('whatever JSON comes, the answer is a value or a refusal', () => {
  const seed = 7;

  test('for states and for reports', () => {
    const property = fc.property(fc.jsonValue(), (value) => {
      for (const parsed of [parseState(value), parseReport(value)]) {
        const keys = Object.keys(parsed);
        expect(keys.length === 1 && ['value', 'refusal'].includes(keys[0]!)).toBe(true);
      }
    });
    fc.assert(property, { seed, numRuns: 500 });
  });

  test('also for ones that are almost right', () => {
    const state = movingTo('B');
    const report = heartbeat(state, 'A');
    const paths = (value: object, before = ''): string[] =>
      Object.entries(value).flatMap(([key, item]) => [
        `${before}${key}`,
        ...(typeof item === 'object' && item !== null ? paths(item as object, `${before}${key}.`) : []),
      ]);
    const near = (value: object) => fc.tuple(fc.constantFrom(...paths(value)), fc.jsonValue());
    fc.assert(
      fc.property(near(state), near(report), ([statePath, stateTo], [reportPath, reportTo]) => {
        const parsed = parseState(spoiled(state, statePath, stateTo));
        const said = parseReport(spoiled(report, reportPath, reportTo));
        // What passes both goes through the machine, which does not throw either.
        if ('value' in parsed && 'value' in said) transition(parsed.value, said.value);
        if ('value' in parsed) transition(parsed.value, report);
        if ('value' in said) transition(state, said.value);
      }),
      { seed, numRuns: 1500 },
    );
  });
});
