import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Entry } from './core/index.ts';
import { decodeEntry, encodeEntry } from './entry-codec.ts';

const whole = fc.maxSafeNat();
const epk = fc
  .uint8Array({ minLength: 16, maxLength: 16 })
  .map((bytes) => Buffer.from(bytes).toString('hex').toUpperCase());
const text = fc.string({ unit: 'grapheme', maxLength: 40 });

const change = fc.record(
  {
    epk,
    id: text,
    partitionKey: text,
    body: fc.uint8Array({ maxLength: 300 }),
    createdLsn: whole,
    ttl: fc.integer({ min: -1 }),
    previous: whole,
  },
  { requiredKeys: ['epk', 'id', 'partitionKey', 'createdLsn', 'previous'] },
);

const entry: fc.Arbitrary<Entry> = fc.record(
  {
    epoch: whole,
    lsn: whole,
    at: whole,
    operation: text,
    statuses: fc.array(fc.integer({ min: 100, max: 599 }), { maxLength: 5 }),
    changes: fc.array(change, { maxLength: 5 }),
  },
  { requiredKeys: ['epoch', 'lsn', 'at', 'statuses', 'changes'] },
);

function plain(original: Entry): object {
  const changes = original.changes.map((each) => ({ ...each, ...(each.body && { body: [...each.body] }) }));
  return { ...original, changes, encoded: undefined };
}

test('what was encoded is decoded', () => {
  fc.assert(
    fc.property(entry, (original) => {
      const bytes = encodeEntry(original);
      expect(original.encoded).toBe(bytes);
      expect(encodeEntry(original)).toBe(bytes);
      const decoded = decodeEntry(Uint8Array.from(bytes));
      expect(plain(decoded)).toEqual(plain(original));
      expect(encodeEntry({ ...decoded, encoded: undefined } as unknown as Entry)).toEqual(bytes);
    }),
    { seed: 4 },
  );
});

test('bodies are views of the bytes', () => {
  const body = Buffer.from('{"a":1}');
  const id = { epk: '0'.repeat(32), id: 'x', partitionKey: '["x"]', createdLsn: 0, previous: 0 };
  const bytes = encodeEntry({ epoch: 1, lsn: 1, at: 1, statuses: [], changes: [{ ...id, body }] });
  const decoded = decodeEntry(bytes);
  expect(decoded.encoded).toBe(bytes);
  expect(decoded.changes[0]!.body!.buffer).toBe(bytes.buffer);
});

test('no bit can change, and no byte be missing, without being noticed', () => {
  fc.assert(
    fc.property(entry, fc.nat(), fc.integer({ min: 0, max: 7 }), (original, at, bit) => {
      const bytes = Buffer.from(encodeEntry(original));
      const code = expect.stringMatching(/^(DAMAGED|FORMAT_NEWER)$/) as unknown;
      bytes[at % bytes.length]! ^= 1 << bit;
      expect(() => decodeEntry(bytes)).toThrow(expect.objectContaining({ code }) as Error);
      const cut = encodeEntry(original).subarray(0, at % bytes.length);
      expect(() => decodeEntry(cut)).toThrow(expect.objectContaining({ code: 'DAMAGED' }) as Error);
    }),
    { seed: 5, numRuns: 300 },
  );
});

test('a newer format is not guessed at', () => {
  const bytes = Buffer.from(encodeEntry({ epoch: 1, lsn: 1, at: 1, statuses: [], changes: [] }));
  bytes[0] = 2;
  expect(() => decodeEntry(bytes)).toThrow(expect.objectContaining({ code: 'FORMAT_NEWER' }) as Error);
});
