import { describe, expect, test } from 'vitest';
import { type JsonEditor, RegisterChange } from './change.ts';
import { append, decodeEnvelope, EMPTY_ENVELOPE, encodeEnvelope, REMEMBERED_OPERATIONS } from './envelope.ts';

const increment: JsonEditor = (json) => ({ type: 'set', json: String(Number(json ?? '0') + 1) });
const operation = { origin: 'west/1', sequence: 1 };

/** The register's text after so many increments by so many others. */
function othersMade(count: number, from?: string): string {
  let envelope = decodeEnvelope(from);
  for (let at = 0; at < count; at += 1) {
    const json = String(Number(envelope.json ?? '0') + 1);
    envelope = append(envelope, { origin: `other${at}/1`, sequence: at + 1 }, 1, json);
  }
  return encodeEnvelope(envelope);
}

describe('a change', () => {
  test('edits the value, and knows what that made', () => {
    const change = new RegisterChange(increment, operation);
    const edited = decodeEnvelope(change.edit(othersMade(3), false));
    expect(edited).toMatchObject({ version: 4, json: '4' });
    expect(change.verdict).toEqual({ type: 'changed', version: 4, json: '4' });
  });

  test('leaves the very same text when its editor changes nothing', () => {
    const text = othersMade(2);
    const keep = new RegisterChange((json) => ({ type: 'set', json: json! }), operation);
    expect(keep.edit(text, false)).toBe(text);
    expect(keep.verdict).toEqual({ type: 'unchanged', version: 2, json: '2' });
    const reject = new RegisterChange(() => ({ type: 'reject', code: 'X', message: 'no' }), operation);
    expect(reject.edit(text, false)).toBe(text);
    expect(reject.verdict).toEqual({ type: 'rejected', version: 2, json: '2', code: 'X', message: 'no' });
  });

  test('of a value that nobody wrote is rejected, and leaves it as it is', () => {
    const change = new RegisterChange(increment, operation);
    expect(change.edit('garbage', false)).toBe('garbage');
    expect(change.verdict).toMatchObject({ type: 'rejected', code: 'CORRUPT_RECORD' });
  });
});

describe('a change whose first attempt has an unknown outcome (rule 4)', () => {
  test('is not applied again where it is found, and gives what that attempt made', () => {
    const change = new RegisterChange(increment, operation);
    const limbo = change.edit(othersMade(3), false);
    expect(change.edit(limbo, true)).toBe(limbo);
    expect(change.verdict).toEqual({ type: 'changed', version: 4, json: '4' });
  });

  test('is found under what others have made of it since', () => {
    const change = new RegisterChange(increment, operation);
    const later = othersMade(5, change.edit(othersMade(3), false));
    expect(change.edit(later, true)).toBe(later);
    expect(change.verdict).toEqual({ type: 'changed', version: 4, json: '4' });
  });

  test('is applied where it is not found', () => {
    const change = new RegisterChange(increment, operation);
    change.edit(othersMade(3), false);
    expect(decodeEnvelope(change.edit(othersMade(5), true))).toMatchObject({ version: 6, json: '6' });
    expect(change.verdict).toEqual({ type: 'changed', version: 6, json: '6' });
  });

  test('is looked for even if nobody warned it', () => {
    const change = new RegisterChange(increment, operation);
    const limbo = change.edit(othersMade(3), false);
    expect(change.edit(limbo, false)).toBe(limbo);
  });

  test('gives up when too many others have changed the value to tell', () => {
    const change = new RegisterChange(increment, operation);
    const later = othersMade(REMEMBERED_OPERATIONS, change.edit(othersMade(3), false));
    expect(change.edit(later, true)).toBe(later);
    expect(change.verdict).toEqual({ type: 'forgotten' });
  });

  test('is not fooled by a first look at a value that never came to be', () => {
    const change = new RegisterChange(increment, operation);
    // Its first look is at a tentative value, far ahead of what is chosen in the end.
    change.edit(othersMade(30), false);
    const applied = change.edit(othersMade(7), true);
    const later = othersMade(REMEMBERED_OPERATIONS, applied);
    expect(change.edit(later, true)).toBe(later);
    expect(change.verdict).toEqual({ type: 'forgotten' });
  });

  test('buries the attempt even where there is nothing to write', () => {
    const change = new RegisterChange(() => ({ type: 'delete' }), operation);
    expect(change.edit(undefined, false)).toBeUndefined();
    expect(change.edit(undefined, true)).toBe(encodeEnvelope(EMPTY_ENVELOPE));
  });
});

describe('an operation continued by another process', () => {
  const first = (): { change: RegisterChange; limbo: string } => {
    const change = new RegisterChange(increment, operation);
    return { change, limbo: change.edit(othersMade(3), false)! };
  };

  test('is found, though what it made is no longer known', () => {
    const { change, limbo } = first();
    const retry = new RegisterChange(increment, operation, change);
    expect(retry.edit(limbo, true)).toBe(limbo);
    expect(retry.verdict).toEqual({ type: 'applied before', version: 4 });
  });

  test('is applied once if it was not', () => {
    const { change } = first();
    const retry = new RegisterChange(increment, operation, change);
    const applied = retry.edit(othersMade(4), true);
    expect(retry.verdict).toEqual({ type: 'changed', version: 5, json: '5' });
    expect(retry.edit(applied, true)).toBe(applied);
    expect(retry.verdict).toEqual({ type: 'changed', version: 5, json: '5' });
  });

  test('by two processes at once: neither takes the attempt of the other for its own', () => {
    const { change } = first();
    const one = new RegisterChange(increment, operation, change);
    const other = new RegisterChange(increment, operation, change);
    one.edit(othersMade(4), true);
    const applied = other.edit(othersMade(7), true);
    expect(one.edit(applied, true)).toBe(applied);
    expect(one.verdict).toEqual({ type: 'applied before', version: 8 });
    one.edit(othersMade(2, applied), true);
    expect(one.verdict).toEqual({ type: 'applied before', version: 8 });
  });

  test('numbers its attempts after those of the first', () => {
    const { change } = first();
    expect(change.attempts).toBe(1);
    const retry = new RegisterChange(increment, operation, change);
    retry.edit(othersMade(4), true);
    expect(retry.attempts).toBe(2);
    expect(retry.sinceVersion).toBe(change.sinceVersion);
  });
});
