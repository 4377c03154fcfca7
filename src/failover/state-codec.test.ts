import { describe, expect, test } from 'vitest';
import { after, healthy, heartbeat } from '../../test/failover/reports.ts';
import { type FailoverState, MACHINE_VERSION, storedForm } from './core/index.ts';
import { FailoverError } from './errors.ts';
import { StateCodec } from './state-codec.ts';

const textOf = (state: FailoverState): string => JSON.stringify(storedForm(state));

function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe('how a failover state is written', () => {
  test('packed, and read back as it was', () => {
    const state = healthy();
    const text = new StateCodec().encode(state);
    expect(text).toBe(textOf(state));
    expect(new StateCodec().decode(text)).toStrictEqual(state);
  });

  test('a text that is read twice is one state, and another text another one', () => {
    const codec = new StateCodec();
    const state = healthy();
    const next = after(state, (known) => heartbeat(known, 'A'));
    const first = codec.decode(textOf(state));
    expect(codec.decode(textOf(state))).toBe(first);
    expect(codec.decode(textOf(next))).toStrictEqual(next);
    expect(codec.decode(textOf(state))).toStrictEqual(state);
  });

  test('what was read and left alone is written as the very text that it was read from', () => {
    const codec = new StateCodec();
    const plain = JSON.stringify(healthy());
    const state = codec.decode(plain);
    expect(codec.encode(state)).toBe(plain);
    expect(codec.encode({ ...state })).toBe(textOf(state));
  });

  test('what was written is not read again: it is the state that it was made of', () => {
    const codec = new StateCodec();
    const before = codec.decode(textOf(healthy()));
    const next = after(before, (known) => heartbeat(known, 'A'));
    const text = codec.encode(next);
    expect(text).toBe(textOf(next));
    expect(codec.decode(text)).toBe(next);
    expect(codec.encode(before)).toBe(textOf(before));
  });
});

describe('what is not written like that', () => {
  test('a state for a newer machine is refused as such', () => {
    const error = thrownBy(() =>
      new StateCodec().decode(textOf({ ...healthy(), minReader: MACHINE_VERSION + 1 })),
    );
    expect(error).toBeInstanceOf(FailoverError);
    expect(error).toMatchObject({ code: 'STATE_TOO_NEW', field: 'minReader' });
    const later = JSON.stringify({ ...storedForm(healthy()), form: 2 });
    expect(thrownBy(() => new StateCodec().decode(later))).toMatchObject({
      code: 'STATE_TOO_NEW',
      field: 'form',
    });
  });

  test('a malformed one is refused with the field that is wrong', () => {
    const state = healthy();
    const region = { ...state.regions['B']!, beat: -1 };
    const error = thrownBy(() =>
      new StateCodec().decode(textOf({ ...state, regions: { ...state.regions, B: region } })),
    );
    expect(error).toBeInstanceOf(FailoverError);
    expect(error).toMatchObject({ code: 'STATE_MALFORMED', field: 'regions.B.beat' });
    expect(thrownBy(() => new StateCodec().decode('7'))).toMatchObject({
      code: 'STATE_MALFORMED',
      field: 'state',
    });
  });

  test('what was refused is refused again, and does not spoil what was read before', () => {
    const codec = new StateCodec();
    const state = codec.decode(textOf(healthy()));
    for (let time = 0; time < 2; time += 1)
      expect(thrownBy(() => codec.decode('{}'))).toMatchObject({ code: 'STATE_MALFORMED' });
    expect(codec.decode(textOf(healthy()))).toBe(state);
  });
});
