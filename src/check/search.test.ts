import { type History, checkLinearizability, type Operation, type SequentialModel } from 'baton/check';
import { expect, test } from 'vitest';

/** A bag: `take` gives any of its members, a taker that heard no answer took any of them, and `size` counts them. */
type Bag = readonly string[];
type Input = { readonly put: string } | 'take' | 'size';

const add = (bag: Bag, member: string): Bag => [...bag, member].sort();
const without = (bag: Bag, member: string): Bag => bag.toSpliced(bag.indexOf(member), 1);

const bagModel: SequentialModel<Bag, Input, string | undefined> = {
  initial: [],
  step(bag, input, output) {
    if (input === 'size') return output === String(bag.length) ? [bag] : [];
    if (input !== 'take') return [add(bag, input.put)];
    return output !== undefined && bag.includes(output) ? [without(bag, output)] : [];
  },
  effects(bag, input) {
    if (input === 'size') return [];
    return input === 'take' ? bag.map((member) => without(bag, member)) : [add(bag, input.put)];
  },
  key: (bag) => bag.join(),
};

const put = (start: number, member: string): Operation<Input, string> => {
  return { process: 1, start, end: start + 1, input: { put: member } };
};
const take = (start: number, output: string): Operation<Input, string> => {
  return { process: 2, start, end: start + 1, input: 'take', output };
};
const size = (start: number, output: string): Operation<Input, string> => {
  return { process: 4, start, end: start + 1, input: 'size', output };
};
const lostTake = (start: number): Operation<Input, string> => ({ process: 3, start, input: 'take' });

const history: History<Input, string> = [put(0, 'a'), put(2, 'b'), put(4, 'c'), lostTake(6), take(8, 'a')];

test.each([
  ['a taker that took nothing', [take(10, 'b'), take(12, 'c')], 'linearizable'],
  ['one that must have taken b', [size(10, '1'), take(12, 'c')], 'linearizable'],
  ['one that must have taken c', [size(10, '1'), take(12, 'b')], 'linearizable'],
  ['one that must have taken both', [size(10, '0')], 'not linearizable'],
  [
    'one that must have taken something and did not',
    [size(10, '1'), put(12, 'd'), size(14, '3')],
    'not linearizable',
  ],
  ['a member that is there no more', [take(10, 'b'), take(12, 'b')], 'not linearizable'],
  ['a member that never was', [take(10, 'd')], 'not linearizable'],
])('a model that leaves a choice is searched through all of it: %s', (_, more, verdict) => {
  expect(checkLinearizability(bagModel, [...history, ...more]).verdict).toBe(verdict);
});
