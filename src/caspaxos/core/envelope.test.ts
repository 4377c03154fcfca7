import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  append,
  decodeEnvelope,
  EMPTY_ENVELOPE,
  encodeEnvelope,
  type Envelope,
  REMEMBERED_OPERATIONS,
  trace,
} from './envelope.ts';

function changedBy(envelope: Envelope, origins: readonly string[]): Envelope {
  let changed = envelope;
  for (const [at, origin] of origins.entries()) {
    changed = append(changed, { origin, sequence: 100 + at }, 1, String(at));
  }
  return changed;
}

const others = (count: number): string[] => Array.from({ length: count }, (_, at) => `other${at}`);

describe('the text of a value', () => {
  test('comes back as it was', () => {
    const values = fc.record({
      version: fc.nat(),
      floor: fc.nat(),
      json: fc.option(fc.json(), { nil: undefined }),
      operations: fc.array(
        fc.record({
          origin: fc.stringMatching(/^[^\s]{1,20}$/u),
          sequence: fc.nat(),
          version: fc.nat(),
          attempt: fc.nat(),
        }),
        { maxLength: REMEMBERED_OPERATIONS },
      ),
    });
    fc.assert(
      fc.property(values, (envelope) => {
        expect(decodeEnvelope(encodeEnvelope(envelope))).toEqual(envelope);
      }),
      { seed: 5, numRuns: 300 },
    );
  });

  test('of a register never written is nothing at all', () => {
    expect(decodeEnvelope(undefined)).toEqual(EMPTY_ENVELOPE);
  });

  test.each([
    '',
    'no line break',
    '1\n{}',
    '1 0 origin\n{}',
    '1 0 origin 1 2\n{}',
    'x 0\n{}',
    '1 -1\n{}',
    '1.5 0\n{}',
  ])('that nobody wrote is refused: %j', (text) => {
    expect(() => decodeEnvelope(text)).toThrow('a register value');
  });
});

describe('tracing an operation (rule 4)', () => {
  const operation = { origin: 'west', sequence: 7 };
  const base = changedBy(EMPTY_ENVELOPE, ['east', 'north']);

  test('finds it, with the version it made and the attempt it was', () => {
    const applied = changedBy(append(base, operation, 3, '"x"'), ['east']);
    expect(trace(applied, operation, 2)).toEqual({ found: 'applied', version: 3, attempt: 3 });
  });

  test('knows that it is not there when the list reaches back far enough', () => {
    expect(trace(base, operation, 2)).toEqual({ found: 'not applied' });
    const later = changedBy(base, others(REMEMBERED_OPERATIONS - 2));
    expect(trace(later, operation, 2)).toEqual({ found: 'not applied' });
  });

  test('knows from an older operation of the same process that it is not there', () => {
    const older = append(base, { origin: 'west', sequence: 6 }, 1, '"x"');
    expect(trace(older, operation, 0)).toEqual({ found: 'not applied' });
  });

  test('cannot tell from a younger operation of the same process', () => {
    const younger = append(append(base, operation, 1, '"x"'), { origin: 'west', sequence: 8 }, 1, '"y"');
    expect(trace(younger, operation, 2)).toEqual({ found: 'forgotten' });
  });

  test('cannot tell once sixteen others have changed the value since', () => {
    const pushedOut = changedBy(append(base, operation, 1, '"x"'), others(REMEMBERED_OPERATIONS));
    expect(trace(pushedOut, operation, 2)).toEqual({ found: 'forgotten' });
  });

  test('never says "not applied" of an operation that was applied', () => {
    const origins = fc.constantFrom('a', 'b', 'c', ...others(20));
    fc.assert(
      fc.property(
        fc.array(origins, { maxLength: 40 }),
        fc.array(origins, { maxLength: 60 }),
        (before, after) => {
          const start = changedBy(EMPTY_ENVELOPE, before);
          const end = changedBy(append(start, operation, 1, '1'), after);
          expect(trace(end, operation, start.version).found).not.toBe('not applied');
          expect(end.operations.length).toBeLessThanOrEqual(REMEMBERED_OPERATIONS);
        },
      ),
      { seed: 9, numRuns: 400 },
    );
  });

  test('never says "applied" of an operation that was not', () => {
    const origins = fc.constantFrom('a', 'b', 'west', ...others(20));
    fc.assert(
      fc.property(fc.array(origins, { maxLength: 60 }), (list) => {
        const value = changedBy(EMPTY_ENVELOPE, list);
        expect(trace(value, { origin: 'west', sequence: 1 }, 0).found).not.toBe('applied');
      }),
      { seed: 9, numRuns: 200 },
    );
  });
});

describe('a tombstone', () => {
  test('keeps its version and its operations', () => {
    const deleted = append(changedBy(EMPTY_ENVELOPE, ['a', 'b']), { origin: 'c', sequence: 1 }, 1, undefined);
    const read = decodeEnvelope(encodeEnvelope(deleted));
    expect(read.json).toBeUndefined();
    expect(read.version).toBe(3);
    expect(read.operations.map(({ origin }) => origin)).toEqual(['a', 'b', 'c']);
  });
});
