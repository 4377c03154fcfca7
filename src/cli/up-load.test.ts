import { expect, test } from 'vitest';
import { parseClusterFile } from '../server/index.ts';
import { overloadAdvice } from './up-load.ts';

function advice(partitionSets: number, profile: string, cores: number): string | undefined {
  const file = `
cluster: demo
profile: ${profile}
regions: [{ name: west, nodes: [{ name: west-1, listen: 127.0.0.1:4101 }] }, { name: east, nodes: [{ name: east-1, listen: 127.0.0.1:4102 }] }, { name: north, nodes: [{ name: north-1, listen: 127.0.0.1:4103 }] }]
acceptors: [{ name: a1, url: http://127.0.0.1:4301, data: ./a1 }]
containers: [{ name: items, partitionSets: ${partitionSets} }]
`;
  return overloadAdvice(parseClusterFile(file, { path: '/demo/baton.yaml' }), cores);
}

test('what a machine carries needs no advice', () => {
  expect(advice(16, 'fast', 1)).toBeUndefined();
  expect(advice(900, 'fast', 2)).toBeUndefined();
  expect(advice(6000, 'paper', 2)).toBeUndefined();
  expect(advice(3000, '{ intervalMs: 10000, leaseMs: 20000, settleMs: 1000 }', 2)).toBeUndefined();
});

test('more than it carries is said before the wait, with what to do', () => {
  expect(advice(10_000, 'fast', 2)).toBe(
    '10000 partition-sets in 3 regions are more than the 2 cores of this machine carry with these timings, about 980. ' +
      'In another directory, try --partition-sets 980 or fewer, or --profile paper, which carries about 6000 and takes longer to fail over.',
  );
  expect(advice(10_000, 'paper', 2)).toMatch(/try --partition-sets 6000 or fewer\.$/);
});
