import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { healthy } from '../../../../test/failover/reports.ts';
import { parseState } from './schema.ts';
import type { FailoverState } from './state.ts';
import { storedForm, unpacked } from './stored.ts';

const packAndBack = (state: unknown) =>
  unpacked(JSON.parse(JSON.stringify(storedForm(state as FailoverState))) as ReturnType<typeof storedForm>);

describe('the packed form of a state', () => {
  test('is unpacked to exactly what was packed', () => {
    const state = healthy();
    expect(packAndBack(state)).toStrictEqual(state);
    expect(parseState(storedForm(state))).toStrictEqual({ value: state });
  });

  test('has the names of the regions in it once', () => {
    const text = JSON.stringify(
      storedForm(healthy({ priorities: ['germanywestcentral', 'eastasia'], minDurability: 1 })),
    );
    expect(text.split('germanywestcentral')).toHaveLength(2);
  });

  test('keeps whatever a newer version has put there, however unlucky its words', () => {
    const words = fc.oneof(
      fc.string(),
      fc.constantFrom('a', 'b', 'aa', '#0', '#1', '#9', '=a', '=#0', 'gcn', 'A', 'toString'),
    );
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 3 },
        words,
        fc.integer(),
        fc.constant(null),
        fc.array(tie('tree')),
        tie('object'),
      ),
      object: fc.dictionary(words, tie('tree'), { noNullPrototype: true }),
    }));
    const property = fc.property(fc.dictionary(words, tree, { noNullPrototype: true }), (extra) => {
      const state = { ...healthy(), ...extra, regions: { ...healthy().regions, '#0': { more: extra } } };
      const stored = JSON.parse(JSON.stringify(state)) as unknown;
      expect(packAndBack(stored)).toStrictEqual(stored);
    });
    fc.assert(property, { seed: 4, numRuns: 300 });
  });

  test('of a later kind is refused as too new', () => {
    const parsed = parseState({ ...storedForm(healthy()), form: 2 });
    expect(parsed).toMatchObject({ refusal: { code: 'STATE_TOO_NEW', field: 'form' } });
  });
});
