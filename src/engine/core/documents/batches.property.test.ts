/** A batch does what its operations do one by one, in an order that nobody can come between, or nothing at all. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { nodeJson } from '../../../../test/engine/json.ts';
import { etagOf, keyText, type Change, type DocumentKey, type Version } from '../model.ts';
import { epkOf } from './epk.ts';
import { evaluate, type Evaluation } from './evaluate.ts';
import { LIMITS, type Operation } from './request.ts';
import { createdLsnOf, glanceAt, versionIn } from './versions.ts';

const KEY = ['a'];
const NOW = 50_000;
const FIRST = 100;
const context = {
  settings: { partitionKeyPaths: ['/pk'], defaultTtl: -1 },
  limits: LIMITS,
  json: nodeJson,
  now: NOW,
};

class Store {
  readonly versions = new Map<string, Version>();
  find = (key: DocumentKey) => this.versions.get(keyText(key));
  glance = (key: DocumentKey) => {
    const version = this.find(key);
    return version && glanceAt(version);
  };

  apply(changes: readonly Change[], lsn: number, at = NOW): void {
    for (const change of changes)
      this.versions.set(keyText(change), versionIn({ epoch: 1, lsn, at }, change));
  }
  copy(): Store {
    const store = new Store();
    for (const [key, version] of this.versions) store.versions.set(key, version);
    return store;
  }
  contents(): Record<string, unknown> {
    return Object.fromEntries(
      [...this.versions.values()].map((version) => [
        version.id,
        version.body && {
          ...(nodeJson.parse(version.body) as object),
          madeHere: createdLsnOf(version) >= FIRST,
        },
      ]),
    );
  }
  evaluate(operations: Operation[]): Evaluation {
    return evaluate({ partitionKey: KEY, operations }, this, context);
  }
}

const id = fc.constantFrom('x', 'y');
const body = fc
  .record({ id, n: fc.integer({ min: 0, max: 3 }), ttl: fc.constantFrom(undefined, 5) })
  .map((document) => nodeJson.format({ pk: 'a', ...document }));
const conditions = fc.oneof(
  { weight: 6, arbitrary: fc.constant({}) },
  fc.record({ ifMatch: fc.constantFrom('*', etagOf({ epoch: 1, lsn: 1 })) }),
  fc.record({ ifNoneMatch: fc.constantFrom('*', etagOf({ epoch: 1, lsn: 1 })) }),
);
const step = fc.constantFrom(
  { op: 'incr', path: '/n', value: 1 } as const,
  { op: 'add', path: '/list', value: [] } as const,
  { op: 'add', path: '/list/-', value: 1 } as const,
  { op: 'remove', path: '/n' } as const,
);
const operation: fc.Arbitrary<Operation> = fc
  .tuple(
    fc.oneof(
      body.map((bytes) => ({ op: 'create' as const, body: bytes })),
      { weight: 4, arbitrary: body.map((bytes) => ({ op: 'upsert' as const, body: bytes })) },
      id.map((target) => ({
        op: 'replace' as const,
        id: target,
        body: nodeJson.format({ id: target, pk: 'a' }),
      })),
      { weight: 3, arbitrary: fc.record({ op: fc.constant('patch' as const), id, steps: fc.tuple(step) }) },
      { weight: 2, arbitrary: fc.record({ op: fc.constantFrom('delete' as const, 'read' as const), id }) },
    ),
    conditions,
  )
  .map(([what, when]) => ({ ...what, ...when }));

/** Items from before: one that lives, one that is deleted, expired or was never there. */
const initial = fc
  .record({ x: fc.boolean(), y: fc.constantFrom('none', 'deleted', 'expired', 'alive') })
  .map(({ x, y }) => {
    const store = new Store();
    const change = (name: string) => ({
      epk: epkOf(KEY),
      id: name,
      partitionKey: '["a"]',
      createdLsn: 0,
      previous: 0,
    });
    const bytes = (name: string) => nodeJson.format({ id: name, pk: 'a', n: 1 });
    if (x) store.apply([{ ...change('x'), body: bytes('x') }], 1, 0);
    if (y === 'deleted') store.apply([change('y')], 2, 0);
    if (y === 'expired') store.apply([{ ...change('y'), body: bytes('y'), ttl: 3 }], 2, 0);
    if (y === 'alive') store.apply([{ ...change('y'), body: bytes('y') }], 2, 0);
    return store;
  });

function oneByOne(
  start: Store,
  operations: Operation[],
): { store: Store; statuses: number[]; failed: boolean } {
  const store = start.copy();
  const statuses: number[] = [];
  for (const [index, each] of operations.entries()) {
    const evaluation = store.evaluate([each]);
    statuses.push(evaluation.results[0]!.status);
    if (evaluation.outcome === 'refused') return { store, statuses, failed: true };
    if (evaluation.outcome === 'write') store.apply(evaluation.changes, FIRST + index);
  }
  return { store, statuses, failed: false };
}

test('a batch is its operations one by one, all or none', () => {
  const seen = { write: 0, refused: 0, unchanged: 0 };
  fc.assert(
    fc.property(initial, fc.array(operation, { minLength: 1, maxLength: 5 }), (start, operations) => {
      const expected = oneByOne(start, operations);
      const before = start.contents();
      const batch = start.evaluate(operations);
      expect(start.contents()).toEqual(before);
      seen[batch.outcome]++;
      const statuses = batch.results.map(({ status }) => status);
      expect(batch.outcome === 'refused').toBe(expected.failed);
      if (batch.outcome === 'refused') {
        const failing = expected.statuses.length - 1;
        expect(statuses).toEqual(
          operations.map((_, index) => (index === failing ? expected.statuses[failing] : 424)),
        );
        expect(batch).not.toHaveProperty('changes');
        return;
      }
      expect(statuses).toEqual(expected.statuses);
      if (batch.outcome === 'unchanged') return;
      for (const change of batch.changes) expect(change.previous).toBe(start.find(change)?.lsn ?? 0);
      expect(new Set(batch.changes.map(({ id: name }) => name)).size).toBe(batch.changes.length);
      const after = start.copy();
      after.apply(batch.changes, FIRST);
      expect(after.contents()).toEqual(expected.store.contents());
    }),
    { seed: 11, numRuns: 2000 },
  );
  expect(Math.min(seen.write, seen.refused, seen.unchanged * 20)).toBeGreaterThan(200);
});
