import { describe, expect, test } from 'vitest';
import type { FailoverState } from '../../../failover/index.ts';
import { SET_ROW, SET_FIELDS, type SetRow } from './schemas.ts';
import { type CopyFigures, PROGRESS_EVERY, type SetPlace, SetTable, type ToldUpTo } from './set-table.ts';

type Some = Partial<Pick<FailoverState, 'gcn' | 'phase' | 'writer' | 'step' | 'target' | 'pin' | 'leaseSet'>>;

/** A node with so many partition-sets, whose states and copies can be changed. */
class Scene {
  readonly table: SetTable;
  readonly states = new Map<string, FailoverState>();
  readonly copies = new Map<string, CopyFigures>();
  places: SetPlace[] = [];
  #told: ToldUpTo = { round: 0, progress: 0 };

  constructor(count: number, keepRounds = 10) {
    for (let at = 0; at < count; at += 1) this.add(`items-${String(at).padStart(5, '0')}`);
    this.table = new SetTable(
      {
        places: () => this.places,
        state: (name) => this.states.get(name),
        copy: (name) => this.copies.get(name),
      },
      keepRounds,
    );
  }

  add(name: string): void {
    this.places = [...this.places, { name, container: 'items' }];
    this.change(name, {});
    this.copies.set(name, { canWrite: true, canRead: true, lsn: 7, gclsn: 6 });
  }

  drop(name: string): void {
    this.places = this.places.filter((place) => place.name !== name);
  }

  /** A state is a new object each time, as agents have it. */
  change(name: string, some: Some): void {
    const first = {
      gcn: 3,
      phase: 'Steady',
      writer: 'west',
      step: 4,
      leaseSet: ['west', 'east'],
      raise: { cause: 'silence' },
    };
    const before = this.states.get(name) ?? (first as unknown as FailoverState);
    this.states.set(name, { ...before, leaseSet: [...before.leaseSet], ...some });
  }

  copy(name: string, some: Partial<CopyFigures>): void {
    this.copies.set(name, { ...this.copies.get(name)!, ...some });
  }

  /** The names that are told in a round more to who was told everything before. */
  told(): string[] {
    this.table.look();
    const rows = this.table.changesSince(this.#told);
    this.#told = this.table.toldAfter(this.#told);
    return rows.map(([name]) => name);
  }

  /** The first look, as who comes then is told it. */
  first(): ToldUpTo {
    this.table.look();
    const { round } = this.table;
    this.#told = { round, progress: round };
    return this.#told;
  }
}

function fieldOf(row: SetRow, name: (typeof SET_FIELDS)[number]): unknown {
  return row[SET_FIELDS.indexOf(name)];
}

const A = 'items-00000';
const B = 'items-00001';

describe('what is told of partition-sets', () => {
  test('at first all of them, in the form of the schema', () => {
    const scene = new Scene(2);
    scene.states.delete(B);
    scene.copies.delete(B);
    scene.change(A, { target: 'east', pin: 'north' });
    scene.table.look();
    const rows = scene.table.rows();
    expect(rows).toEqual([
      [A, 'items', 3, 'Steady', 'west', 1, 1, ['west', 'east'], 'silence', 4, 'east', 'north', 7, 6],
      [B, 'items', 0, 'Unknown', null, 0, 0, [], 'unknown', 0, null, null, 0, 0],
    ]);
    for (const row of rows) expect(SET_ROW.parse(row)).toEqual(row);
    expect(rows[0]).toHaveLength(SET_FIELDS.length);
    expect(fieldOf(rows[0]!, 'gclsn')).toBe(6);
  });

  test('nothing when a state is only another object with the same in it', () => {
    const scene = new Scene(2);
    scene.first();
    scene.change(A, {});
    expect(scene.told()).toEqual([]);
  });

  test.each<[string, (scene: Scene) => void]>([
    ['the GCN', (scene) => scene.change(A, { gcn: 4 })],
    ['the phase', (scene) => scene.change(A, { phase: 'Ungraceful' })],
    ['the step', (scene) => scene.change(A, { step: 5 })],
    ['the writer', (scene) => scene.change(A, { writer: null })],
    ['the target', (scene) => scene.change(A, { target: 'east' })],
    ['the pin', (scene) => scene.change(A, { pin: 'east' })],
    ['the lease set', (scene) => scene.change(A, { leaseSet: ['west', 'north'] })],
    ['the size of the lease set', (scene) => scene.change(A, { leaseSet: ['west'] })],
    ['that it can be written here', (scene) => scene.copy(A, { canWrite: false })],
    ['that it can be read here', (scene) => scene.copy(A, { canRead: false })],
  ])('at once: %s', (_, change) => {
    const scene = new Scene(2);
    scene.first();
    change(scene);
    expect(scene.told()).toEqual([A]);
    expect(scene.told()).toEqual([]);
  });

  test('at once: what was not known before', () => {
    const scene = new Scene(1);
    const state = scene.states.get(A)!;
    scene.states.delete(A);
    scene.first();
    scene.states.set(A, state);
    expect(scene.told()).toEqual([A]);
  });

  test('progress in every fourth round, and then all that came since', () => {
    const scene = new Scene(2);
    for (let round = 1; round < PROGRESS_EVERY; round += 1) scene.table.look();
    scene.first();
    scene.copy(A, { lsn: 8 });
    expect(scene.told()).toEqual([]);
    scene.copy(A, { gclsn: 8 });
    expect(scene.told()).toEqual([]);
    scene.copy(B, { lsn: 9 });
    expect(scene.told()).toEqual([]);
    expect(scene.told()).toEqual([A, B]);
    expect(fieldOf(scene.table.rows()[0]!, 'gclsn')).toBe(8);
    for (let round = 0; round < 2 * PROGRESS_EVERY; round += 1) expect(scene.told()).toEqual([]);
  });

  test('merged, to who was passed over for some rounds', () => {
    const scene = new Scene(3);
    const since = scene.first();
    scene.change(A, { gcn: 4 });
    scene.table.look();
    scene.change(A, { gcn: 5 });
    scene.change(B, { writer: 'east' });
    scene.table.look();
    scene.copy('items-00002', { lsn: 100 });
    for (let round = 0; round < PROGRESS_EVERY; round += 1) scene.table.look();
    const rows = scene.table.changesSince(since);
    expect(rows.map((row) => [fieldOf(row, 'name'), fieldOf(row, 'gcn')])).toEqual([
      [A, 5],
      [B, 3],
      ['items-00002', 3],
    ]);
  });

  test('those that are gone, and come again', () => {
    const scene = new Scene(2, 3);
    const { round: since } = scene.first();
    scene.drop(A);
    scene.add('other');
    expect(scene.told()).toEqual(['other']);
    expect(scene.table.goneSince(since)).toEqual([A]);
    expect(scene.table.goneSince(scene.table.round)).toEqual([]);
    expect(scene.table.rows().map(([name]) => name)).toEqual([B, 'other']);
    scene.add(A);
    expect(scene.told()).toEqual([A]);
    expect(scene.table.goneSince(since)).toEqual([]);
  });

  test('who was told too long ago cannot be told of what is gone', () => {
    const scene = new Scene(2, 3);
    const { round: since } = scene.first();
    scene.drop(A);
    for (let round = 0; round < 3; round += 1) scene.table.look();
    expect([scene.table.reachesBackTo(since), scene.table.goneSince(since)]).toEqual([true, [A]]);
    scene.table.look();
    expect(scene.table.reachesBackTo(since)).toBe(false);
    scene.table.look();
    expect(scene.table.goneSince(0)).toEqual([]);
  });
});

test('of ten thousand only those that changed are told', () => {
  const scene = new Scene(10_000);
  const since = scene.first();
  for (const { name } of scene.places) scene.change(name, {});
  for (const { name } of scene.places.slice(0, 100)) scene.change(name, { gcn: 4, writer: 'east' });
  scene.table.look();
  const rows = scene.table.changesSince(since);
  expect(rows).toHaveLength(100);
  expect(rows.every((row) => fieldOf(row, 'writer') === 'east')).toBe(true);
});
