import { describe, expect, test } from 'vitest';
import { change, row } from '../testing/rows.ts';
import { Model } from './model.ts';

function model(): Model {
  const made = new Model();
  for (const region of ['east', 'west']) {
    made.addNode(`${region}-1`, region, '');
    made.fleet.connected(`${region}-1`);
  }
  say(made, 'west-1', row(), 0);
  say(made, 'east-1', row({ canWrite: true }), 0);
  return made;
}

function say(to: Model, node: string, set: ReturnType<typeof row>, now: number): void {
  to.apply(node, { type: 'sets', isWhole: false, sets: [set] }, now);
}

describe('a recovery', () => {
  test('runs from the broken stream over the raise to the new writer', () => {
    const it = model();
    it.lose('east-1', 'gone', 1000);
    expect(it.recoveries.openLosses).toBe(1);
    say(it, 'west-1', row({ gcn: 2, writer: null, phase: 'Ungraceful', cause: 'silence' }), 3500);
    say(it, 'west-1', row({ gcn: 2, step: 3, writer: 'west', canWrite: true, cause: 'silence' }), 4200);
    expect(it.recoveries.recoveries).toEqual([
      {
        partitionSet: 's-1',
        kind: 'failover',
        cause: 'silence',
        from: 'east',
        to: 'west',
        at: 4200,
        recoveryMs: 3200,
        detectionMs: 2500,
      },
    ]);
    expect(it.recoveries.openLosses).toBe(0);
  });

  test('begins too when the write region itself says that it cannot write', () => {
    const it = model();
    say(it, 'east-1', row({ canWrite: false }), 2000);
    say(it, 'west-1', row({ gcn: 2, writer: 'west', canWrite: true, cause: 'unable' }), 2600);
    expect(it.recoveries.recoveries).toMatchObject([{ kind: 'failover', recoveryMs: 600, detectionMs: 600 }]);
  });

  test('of a frozen region begins when it was last heard, though its stream is still open', () => {
    const it = model();
    it.apply('east-1', { type: 'gone', sets: [] }, 1000);
    say(it, 'west-1', row({ gcn: 2, writer: null, phase: 'Ungraceful', cause: 'silence' }), 3200);
    expect(it.fleet.counts.nobody).toBe(1);
    say(it, 'west-1', row({ gcn: 2, step: 3, writer: 'west', canWrite: true, cause: 'silence' }), 3900);
    expect(it.recoveries.recoveries).toMatchObject([
      { kind: 'failover', from: 'east', to: 'west', recoveryMs: 2900, detectionMs: 2200 },
    ]);
  });

  test('that nobody saw begin, of one who was heard just before, took no time', () => {
    const it = model();
    it.apply('east-1', { type: 'gone', sets: [] }, 1000);
    say(it, 'west-1', row({ gcn: 2, writer: 'west', canWrite: true, cause: 'switch' }), 1200);
    expect(it.recoveries.recoveries).toMatchObject([{ kind: 'planned', recoveryMs: 0, detectionMs: 0 }]);
  });

  test('of a planned move is kept apart', () => {
    const it = model();
    say(it, 'east-1', row({ canWrite: false, phase: 'Graceful', step: 2 }), 1000);
    say(it, 'west-1', row({ gcn: 2, step: 3, writer: 'west', canWrite: true, cause: 'switch' }), 1250);
    expect(it.recoveries.seen).toEqual({ failover: 0, planned: 1, resumed: 0 });
  });

  test('is a failover too when the old write region is the first to tell of the new GCN', () => {
    const it = model();
    say(it, 'east-1', row({ gcn: 2, writer: null, phase: 'Ungraceful', cause: 'silence' }), 1000);
    say(it, 'west-1', row({ gcn: 2, step: 3, writer: 'west', canWrite: true, cause: 'silence' }), 1700);
    expect(it.recoveries.recoveries).toMatchObject([
      { kind: 'failover', from: 'east', to: 'west', recoveryMs: 700, detectionMs: 0 },
    ]);
  });

  test('is a failover when a planned move follows before the elected region was seen to write', () => {
    const it = model();
    it.lose('east-1', 'gone', 1000);
    say(it, 'west-1', row({ gcn: 2, writer: null, phase: 'Ungraceful', cause: 'silence' }), 3500);
    say(it, 'west-1', row({ gcn: 3, writer: 'west', canWrite: true, cause: 'switch' }), 5000);
    expect(it.recoveries.recoveries).toMatchObject([
      { kind: 'failover', cause: 'silence', recoveryMs: 4000, detectionMs: 2500 },
    ]);
  });

  test('is a failover when only the history tells of it', () => {
    const it = model();
    it.lose('east-1', 'gone', 1000);
    say(it, 'west-1', row({ gcn: 3, writer: 'west', canWrite: true, cause: 'switch' }), 5000);
    expect(it.recoveries.seen).toEqual({ failover: 0, planned: 1, resumed: 0 });
    const before = it.recoveries.count;
    const history = (...entries: ReturnType<typeof change>[]): void =>
      it.apply('west-1', { type: 'history', entries }, 5000);
    history(
      change({ gcn: 1, fromGcn: 0 }),
      change({ gcn: 4, fromGcn: 3 }),
      change({ what: 'switched', gcn: 3, fromGcn: 2 }),
      change({ partitionSet: 's-2' }),
    );
    expect(it.recoveries.seen.planned).toBe(1);
    history(change({ cause: 'unable', gcn: 2, fromGcn: 1 }), change({ gcn: 3, fromGcn: 2 }));
    expect(it.recoveries.seen).toEqual({ failover: 1, planned: 0, resumed: 0 });
    expect(it.recoveries.recoveries).toMatchObject([{ kind: 'failover', cause: 'unable' }]);
    expect(it.recoveries.count).toBe(before + 1);
  });

  test('is not awaited any more of a partition-set that was deleted', () => {
    const it = model();
    it.lose('east-1', 'gone', 1000);
    it.apply('west-1', { type: 'gone', sets: ['s-1'] }, 1500);
    expect(it.recoveries.openLosses).toBe(0);
    expect(it.fleet.counts).toMatchObject({ total: 0, nobody: 0 });
  });

  test('of one that was never away is none, and one without a raise is no failover', () => {
    const it = model();
    say(it, 'east-1', row({ canWrite: false }), 1000);
    say(it, 'east-1', row({ canWrite: true }), 1400);
    expect(it.recoveries.recoveries).toMatchObject([{ kind: 'resumed', recoveryMs: 400 }]);
    expect(it.recoveries.recoveries[0]).not.toHaveProperty('detectionMs');
  });

  test('is not made of what the page did not see begin', () => {
    const it = new Model();
    for (const region of ['east', 'west']) it.addNode(`${region}-1`, region, '');
    it.fleet.connected('west-1');
    say(it, 'west-1', row(), 0);
    it.lose('east-1', 'unreachable', 10);
    say(it, 'west-1', row({ gcn: 2, writer: 'west', canWrite: true, cause: 'silence' }), 900);
    expect(it.recoveries.recoveries).toEqual([]);
  });
});

describe('the model', () => {
  test('notes availability only when every node was tried, and some is heard', () => {
    const it = new Model();
    for (const region of ['east', 'west']) it.addNode(`${region}-1`, region, '');
    it.fleet.connected('west-1');
    say(it, 'west-1', row({ writer: 'west', canWrite: true }), 0);
    it.tick(500);
    expect(it.availability.samples).toEqual([]);
    it.lose('east-1', 'unreachable', 600);
    it.tick(1000);
    expect(it.availability.samples).toEqual([{ at: 1000, writable: [0, 1], nobody: 0, total: 1 }]);
    it.lose('west-1', 'broken', 1200);
    it.tick(1500);
    expect(it.availability.samples).toHaveLength(1);
  });

  test('knows the silent: connected, and nothing said for seconds', () => {
    const it = model();
    const node = it.nodes.get('east-1')!;
    expect(it.isSilent(node, 3000)).toBe(false);
    expect(it.isSilent(node, 4000)).toBe(true);
    it.lose('east-1', 'silent', 0);
    expect(it.isSilent(node, 9000)).toBe(false);
  });

  test('has the role that all nodes grant', () => {
    const it = model();
    const hello = {
      type: 'hello' as const,
      region: 'east',
      cluster: 'c',
      version: '1',
      isLocal: true,
      regions: ['east', 'west'],
      timings: { intervalMs: 1, leaseMs: 1, settleMs: 1 },
    };
    expect(it.role).toBe('viewer');
    it.apply('east-1', { ...hello, node: 'east-1', role: 'operator' }, 1);
    expect(it.role).toBe('operator');
    it.apply('west-1', { ...hello, node: 'west-1', role: 'viewer' }, 1);
    expect(it.role).toBe('viewer');
  });
});
