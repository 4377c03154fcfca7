import { expect, test } from 'vitest';
import { History } from './history.ts';
import { Lineages } from './lineages.ts';

/** A document as the acceptors write it, without minding its checksum. */
const document = (content: object): string => `baton1 00000000 ${JSON.stringify(content)}`;

const identity = (cluster?: string): string =>
  document({
    id: 'id',
    ...(cluster !== undefined && {
      configuration: {
        cluster,
        number: 1,
        acceptors: [{ id: 'id', url: cluster === 'one' ? 'sim:a' : 'sim:b' }],
      },
    }),
  });

const record = (operations: readonly string[]): string =>
  document({
    set: 1,
    promised: [1, 'p', 1],
    accepted: [1, 'p', 1],
    value: `${operations.length} 0\n${JSON.stringify(operations)}`,
  });

function scene() {
  const lineages = new Lineages(['sim:a', 'sim:b'], (key) => key === 'x');
  const history = new History(() => 0);
  const begin = (name: string, cluster: string) =>
    history.begin({ name, kind: 'append', key: 'x', client: 'c', cluster });
  const mixture = () => lineages.mixture(history.operations);
  return { lineages, history, begin, mixture };
}

test('each cluster has its own sets and values, though names of registers are the same', () => {
  const { lineages, begin, mixture } = scene();
  begin('a1', 'one');
  begin('b1', 'two');
  for (const [at, cluster, operation] of [
    [0, 'one', 'a1'],
    [1, 'two', 'b1'],
  ] as const) {
    lineages.onDurable(at, 'identity', identity(cluster));
    lineages.onDurable(at, 'register/x', record([operation]));
  }
  expect(mixture()).toBeUndefined();
  expect(lineages.of('two').chosen()).toMatchObject([{ operations: ['b1'] }]);
});

test('an operation in a value of another cluster is found on disks, and in what clients were told', () => {
  const onDisk = scene();
  onDisk.begin('b1', 'two');
  onDisk.lineages.onDurable(0, 'identity', identity('one'));
  onDisk.lineages.onDurable(0, 'register/x', record(['b1']));
  expect(onDisk.mixture()).toBe('b1 was begun in cluster two and is in a value of cluster one');

  const told = scene();
  told.begin('a1', 'one');
  const operation = told.begin('b1', 'two');
  for (const at of [0, 1]) told.lineages.onDurable(at, 'identity', identity(at === 0 ? 'one' : 'two'));
  told.lineages.onDurable(1, 'register/x', record(['b1']));
  told.history.read(told.history.call(operation, 'c', 0), { value: ['a1'], version: 1 });
  expect(told.mixture()).toBe('a1 was begun in cluster one and is in a value of cluster two');
});

test('an acceptor of no cluster has nothing written to its registers; one that was put back is whose it was', () => {
  const { lineages, begin, mixture } = scene();
  begin('a1', 'one');
  lineages.onDurable(0, 'identity', identity('one'));
  lineages.onDurable(0, 'identity', identity());
  lineages.onRolledBack(0, new Map([['identity', `version ${identity('one')}`]]));
  lineages.onDurable(0, 'register/x', record(['a1']));
  expect(mixture()).toBeUndefined();
  lineages.onDurable(0, 'identity', identity());
  lineages.onDurable(0, 'register/x', record(['a1']));
  expect(mixture()).toBe('register/x was written to sim:a, which belongs to no cluster');
});
