import { expect, test } from 'vitest';
import { Random } from '../core/index.ts';
import { describeConfiguration, drawConfiguration } from './configuration.ts';
import { acceptorName, drawFaults, FAULT_NAMES } from './faults.ts';

const WINDOW = { fromMs: 1000, untilMs: 9000 };

const DRAWN = Array.from({ length: 300 }, (_, seed) => {
  const random = new Random(seed);
  const later = new Random(seed, 1);
  const configuration = drawConfiguration(random, later);
  return { configuration, schedule: drawFaults(configuration, WINDOW, random, later) };
});

test('disks that lose what they had belong to so few acceptors that both quorums can do without', () => {
  for (const { configuration, schedule } of DRAWN) {
    const { acceptors, quorums, damaged } = configuration;
    expect(quorums.phase1 + quorums.phase2).toBeGreaterThan(acceptors);
    expect(damaged.length).toBeLessThanOrEqual(acceptors - Math.max(quorums.phase1, quorums.phase2));
    const names = new Set(damaged.map((at) => acceptorName(at)));
    const losses = schedule.filter(({ kind }) =>
      ['forget', 'roll back', 'restore', 'garble', 'shared'].includes(kind),
    );
    expect(losses.map(({ targets }) => targets[0]!).filter((name) => !names.has(name))).toEqual([]);
  }
});

test('where a disk may be rolled back there is one client with one life, and one set of acceptors', () => {
  const rolledBack = DRAWN.filter(({ configuration }) => configuration.faults.has('roll back'));
  expect(rolledBack.length).toBeGreaterThan(100);
  for (const { configuration, schedule } of rolledBack) {
    expect(configuration).toMatchObject({ clients: 1, reopenShare: 0, spares: 0 });
    expect(schedule.filter(({ kind }) => kind === 'crash client' || kind === 'change set')).toEqual([]);
  }
});

test('where a copy is restored there are several clients, and one set of acceptors', () => {
  const restored = DRAWN.filter(({ configuration }) => configuration.faults.has('restore'));
  expect(restored.length).toBeGreaterThan(20);
  for (const { configuration } of restored) {
    expect(configuration.clients).toBeGreaterThan(1);
    expect(configuration.faults.has('roll back') || configuration.faults.has('change set')).toBe(false);
  }
});

test('a copy beside its original is one of a store, and has clients and acceptors on either side', () => {
  const copies = DRAWN.flatMap(({ configuration, schedule }) =>
    schedule.filter(({ kind }) => kind === 'copy').map(({ targets }) => ({ configuration, targets })),
  );
  expect(copies.length).toBeGreaterThan(10);
  for (const { configuration, targets } of copies) {
    const { kind, acceptors, clients, damaged } = configuration;
    const [original, ...side] = targets;
    expect({ kind, isDamaged: damaged.includes(Number(original!.split('-')[1])) }).toEqual({
      kind: 'store',
      isDamaged: true,
    });
    const misled = side.filter((name) => name.startsWith('client-'));
    expect(misled.length).toBeGreaterThan(0);
    expect(misled.length).toBeLessThan(clients);
    expect(side).not.toContain(original);
    expect(side.length - misled.length).toBe((acceptors - 1) / 2);
  }
});

test('an acceptor that is shared with a second cluster is one that the first can do without', () => {
  const shared = DRAWN.filter(({ configuration }) => configuration.faults.has('shared'));
  expect(shared.length).toBeGreaterThan(10);
  for (const { configuration, schedule } of shared) {
    expect(configuration.faults.has('roll back') || configuration.faults.has('change set')).toBe(false);
    const faults = schedule.filter(({ kind }) => kind === 'shared');
    expect(faults.map(({ targets }) => targets)).toEqual([[acceptorName(configuration.damaged[0]!)]]);
  }
});

test('a new set keeps its size or grows, and keeps one of the first acceptors at least', () => {
  const changes = DRAWN.flatMap(({ configuration: { acceptors }, schedule }) =>
    schedule.filter(({ kind }) => kind === 'change set').map(({ targets }) => ({ acceptors, targets })),
  );
  expect(changes.length).toBeGreaterThan(50);
  for (const { acceptors, targets } of changes) {
    const [client, ...members] = targets;
    expect(client).toMatch(/^client-/);
    expect(members.length).toBeGreaterThanOrEqual(acceptors);
    expect(members.some((name) => Number(name.split('-')[1]) < acceptors)).toBe(true);
  }
});

test('every kind of fault occurs, and all that a run used is told', () => {
  const kinds = new Set(DRAWN.flatMap(({ schedule }) => schedule.map(({ kind }) => kind)));
  expect(kinds).toEqual(new Set(FAULT_NAMES));
  const { configuration } = DRAWN[0]!;
  const lines = describeConfiguration(configuration).join('\n');
  for (const name of Object.keys(configuration).filter((key) => key !== 'clocks'))
    expect(lines).toContain(`${name}: `);
  expect(lines).toMatch(/clock drifts: .*\nclock offsets: /);
});
