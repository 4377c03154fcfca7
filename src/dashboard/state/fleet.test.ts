import { describe, expect, test } from 'vitest';
import { row } from '../testing/rows.ts';
import { Fleet, NOBODY, UNKNOWN } from './fleet.ts';

function fleetOf(...live: string[]): { fleet: Fleet; moves: string[] } {
  const moves: string[] = [];
  const fleet = new Fleet({
    moved: (set, before, now) => moves.push(`${set.name} ${before}>${set.writable} at ${now}`),
    raised: (set, now) => moves.push(`${set.name} raised to ${set.gcn} at ${now}`),
    removed: (set) => moves.push(`${set.name} removed`),
  });
  for (const region of ['east', 'west']) fleet.addNode(`${region}-1`, region);
  for (const node of live) fleet.connected(node);
  return { fleet, moves };
}

describe('who can write', () => {
  test('is known to the region itself; the register alone does not say it', () => {
    const { fleet } = fleetOf('east-1', 'west-1');
    fleet.apply('west-1', [row({ writer: 'east' })], 1);
    expect(fleet.find('s-1')).toMatchObject({ writer: 'east', writable: NOBODY });
    fleet.apply('east-1', [row({ writer: 'east', canWrite: true })], 2);
    expect(fleet.find('s-1')!.writable).toBe(0);
    expect(fleet.counts).toMatchObject({ total: 1, writable: [1, 0], nobody: 0, unknown: 0 });
  });

  test('is unknown until the write region was reached or found dead', () => {
    const { fleet, moves } = fleetOf('west-1');
    fleet.apply('west-1', [row({ writer: 'east' })], 1);
    expect(fleet.find('s-1')!.writable).toBe(UNKNOWN);
    fleet.lost('east-1', 5);
    expect(fleet.find('s-1')!.writable).toBe(NOBODY);
    expect(moves).toEqual(['s-1 -2>-1 at 5']);
  });

  test('is nobody when the stream of the one that could breaks, though it said nothing', () => {
    const { fleet, moves } = fleetOf('east-1', 'west-1');
    fleet.apply('east-1', [row({ canWrite: true })], 1);
    fleet.apply('west-1', [row()], 1);
    fleet.lost('east-1', 7);
    expect(fleet.counts).toMatchObject({ writable: [0, 0], nobody: 1 });
    expect(moves.at(-1)).toBe('s-1 0>-1 at 7');
    // What it said before it broke is not believed when it is back.
    fleet.connected('east-1');
    expect(fleet.find('s-1')!.writable).toBe(NOBODY);
  });

  test('is not one that has not heard of the GCN in force', () => {
    const { fleet } = fleetOf('east-1', 'west-1');
    fleet.apply('west-1', [row({ gcn: 2, writer: 'west', canWrite: true })], 1);
    fleet.apply('east-1', [row({ gcn: 1, writer: 'east', canWrite: true })], 2);
    expect(fleet.find('s-1')!.writable).toBe(1);
    fleet.apply('west-1', [row({ gcn: 3, writer: null, phase: 'Ungraceful' })], 3);
    expect(fleet.find('s-1')!.writable).toBe(NOBODY);
  });
});

describe('the register', () => {
  test('is what the row with the highest GCN and step says, whoever comes last', () => {
    const { fleet, moves } = fleetOf('east-1', 'west-1');
    fleet.apply('east-1', [row({ gcn: 3, step: 5, phase: 'Ungraceful', writer: null })], 1);
    fleet.apply('west-1', [row({ gcn: 3, step: 4, writer: 'east' })], 2);
    expect(fleet.find('s-1')).toMatchObject({ gcn: 3, step: 5, writer: null });
    expect(fleet.counts.moving).toBe(1);
    fleet.apply('west-1', [row({ gcn: 4, step: 6, writer: 'west' })], 3);
    expect(fleet.counts.moving).toBe(0);
    expect(moves).toContain('s-1 raised to 4 at 3');
  });

  test('is not raised by being seen for the first time', () => {
    const { fleet, moves } = fleetOf('east-1', 'west-1');
    fleet.apply('east-1', [row({ gcn: 9, canWrite: true })], 1);
    expect(moves).toEqual(['s-1 -2>0 at 1']);
  });
});

describe('partition-sets', () => {
  test('are gone when the last node that has them says so', () => {
    const { fleet, moves } = fleetOf('east-1', 'west-1');
    fleet.apply('east-1', [row({ canWrite: true })], 1);
    fleet.apply('west-1', [row()], 1);
    fleet.gone('east-1', ['s-1']);
    expect(fleet.find('s-1')).toBeDefined();
    expect(moves.at(-1)).toBe('s-1 -2>0 at 1');
    fleet.gone('west-1', ['s-1']);
    expect(fleet.find('s-1')).toBeUndefined();
    expect(moves.at(-1)).toBe('s-1 removed');
    expect(fleet.counts).toMatchObject({ total: 0, writable: [0, 0], nobody: 0, moving: 0 });
  });

  test('that were deleted while the page was away are missed by the whole, once all nodes are heard', () => {
    const { fleet } = fleetOf('east-1', 'west-1');
    fleet.apply('east-1', [row(), row({ name: 's-2' })], 1, true);
    fleet.apply('west-1', [row(), row({ name: 's-2' })], 1, true);
    fleet.lost('east-1', 2);
    fleet.apply('west-1', [row()], 3, true);
    fleet.connected('east-1');
    fleet.apply('east-1', [row()], 4, true);
    expect(fleet.find('s-2')).toBeUndefined();
    expect(fleet.counts.total).toBe(1);
  });

  test('of a node that died are still there', () => {
    const { fleet } = fleetOf('east-1', 'west-1');
    fleet.apply('east-1', [row()], 1, true);
    fleet.lost('east-1', 2);
    fleet.apply('west-1', [], 3, true);
    expect(fleet.find('s-1')).toBeDefined();
  });

  test('look different only when what is drawn of them has changed', () => {
    const { fleet } = fleetOf('east-1', 'west-1');
    fleet.apply('east-1', [row({ canWrite: true })], 1);
    fleet.changed.clear();
    fleet.apply('east-1', [row({ canWrite: true })], 2);
    expect(fleet.changed.size).toBe(0);
    fleet.apply('east-1', [row({ canWrite: true, phase: 'Graceful', step: 2 })], 3);
    expect([...fleet.changed]).toEqual([0]);
  });
});
