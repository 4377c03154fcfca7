/** What the answer to a write shows. */
import { expect, test } from 'vitest';
import { nodeJson } from '../../../../test/engine/json.ts';
import { PartitionScene } from '../../../../test/engine/partition-scene.ts';
import type { Operation } from '../documents/request.ts';
import type { WriteAnswer } from './answers.ts';

const body = (id: string, more: object = {}) => nodeJson.format({ id, key: 'k', ...more });

function sceneOf(): PartitionScene {
  const scene = new PartitionScene({ regions: ['a'] });
  scene.reign('a', 1);
  return scene;
}

function write(
  scene: PartitionScene,
  operations: readonly Operation[],
  more: { readonly operation?: string; readonly returning?: boolean } = { returning: true },
): WriteAnswer {
  let answer: WriteAnswer | undefined;
  const request = { partitionKey: ['k'], operations, ...more };
  scene.copy('a').requests.write(request, Infinity, (given) => (answer = given));
  scene.settle();
  return answer!;
}

function shown(answer: WriteAnswer): unknown {
  if (answer.outcome !== 'done') return answer.outcome;
  return answer.shown?.map(
    (version) =>
      version && { ...version, body: version.body === undefined ? 'as sent' : nodeJson.parse(version.body) },
  );
}

test('nothing, unless it is asked for', () => {
  const answer = write(sceneOf(), [{ op: 'create', body: body('x') }], {});
  expect(answer).toMatchObject({ outcome: 'done', results: [{ status: 201 }] });
  expect(answer).not.toHaveProperty('shown');
});

test('each item as its operation left it, with the time and the place of the entry', () => {
  const scene = sceneOf();
  const patch: Operation = { op: 'patch', id: 'x', steps: [{ op: 'incr', path: '/n', value: 1 }] };
  const first = write(scene, [
    { op: 'create', body: body('x', { n: 1 }) },
    patch,
    { op: 'read', id: 'x' },
    { op: 'upsert', body: body('y', { _etag: 'old' }) },
  ]);
  const { position, entry } = first as Extract<WriteAnswer, { outcome: 'done' }>;
  const written = { ...position, at: entry!.at, createdLsn: position.lsn, id: 'x' };
  expect(shown(first)).toMatchObject([
    { ...written, body: 'as sent' },
    { ...written, body: { n: 2 } },
    { ...written, body: { n: 2 } },
    { ...position, id: 'y', body: { id: 'y', key: 'k' } },
  ]);
  const later = write(scene, [patch, { op: 'read', id: 'y' }, { op: 'delete', id: 'y' }]);
  expect(shown(later)).toMatchObject([
    { lsn: position.lsn + 1, createdLsn: position.lsn, body: { n: 3 } },
    { lsn: position.lsn, id: 'y' },
    undefined,
  ]);
  expect(shown(write(scene, [{ op: 'read', id: 'x' }]))).toMatchObject([{ body: { n: 3 } }]);
  expect(shown(write(scene, [{ op: 'create', body: body('x') }]))).toEqual([undefined]);
});

test('a write that is repeated shows what it wrote the first time', () => {
  const scene = sceneOf();
  const operations: Operation[] = [
    { op: 'create', body: body('x', { n: 1 }) },
    { op: 'patch', id: 'x', steps: [{ op: 'incr', path: '/n', value: 1 }] },
    { op: 'create', body: body('y') },
    { op: 'delete', id: 'y' },
  ];
  const once = { operation: 'op-1', returning: true };
  const first = write(scene, operations, once) as Extract<WriteAnswer, { outcome: 'done' }>;
  write(scene, [{ op: 'replace', id: 'x', body: body('x', { n: 100 }) }]);
  const again = write(scene, operations, once);
  expect(again).toMatchObject({
    position: first.position,
    results: [201, 200, 201, 204].map((status) => ({ status })),
  });
  const last = { ...first.position, at: first.entry!.at, id: 'x', body: { id: 'x', key: 'k', n: 2 } };
  expect(shown(again)).toMatchObject([last, last, undefined, undefined]);
});

test('not more than an answer has room for', () => {
  const scene = sceneOf();
  const text = 'x'.repeat(1_500_000);
  for (const id of ['x', 'y', 'z']) write(scene, [{ op: 'create', body: body(id, { text }) }], {});
  const reads = ['x', 'y', 'z', 'x'].map((id): Operation => ({ op: 'read', id }));
  const answer = write(scene, reads) as Extract<WriteAnswer, { outcome: 'done' }>;
  expect(answer.shown!.map((version) => version?.id)).toEqual(['x', 'y', undefined, undefined]);
});
