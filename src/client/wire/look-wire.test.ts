import { describe, expect, test } from 'vitest';
import type { Payload } from '../../transport/index.ts';
import { decodeLook, decodeLookAnswer, encodeLook, encodeLookAnswer } from './look-wire.ts';
import { packed } from './packing.ts';

function bytesOf(payload: Payload): Buffer {
  return Buffer.concat([payload].flat());
}

const look = { version: 7, partitionSets: ['orders-7-00', 'orders-7-01'], timeoutMs: 250.5 };
const answer = { version: 8, canWrite: [{ partitionSet: 'orders-7-01', gcn: 3 }] };

describe('a look', () => {
  test('and its answer come back as they were', () => {
    expect(decodeLook(bytesOf(encodeLook(look)))).toEqual(look);
    expect(decodeLookAnswer(bytesOf(encodeLookAnswer(answer)))).toEqual(answer);
  });

  test('has its bytes for ever', () => {
    expect(bytesOf(encodeLook(look)).toString('hex')).toMatchInlineSnapshot(
      `"25000000940792ab6f72646572732d372d3030ab6f72646572732d372d3031cb406f50000000000090"`,
    );
    expect(bytesOf(encodeLookAnswer(answer)).toString('hex')).toMatchInlineSnapshot(
      `"1200000093089192ab6f72646572732d372d30310390"`,
    );
  });

  test.each([
    ['no version', [null, [], 1]],
    ['a version below 0', [-1, [], 1]],
    ['names that are none', [1, [1], 1]],
    ['no names', [1, null, 1]],
    ['a time that is none', [1, [], 'soon']],
    ['nothing', []],
  ])('with %s is refused', (_, header) => {
    expect(() => decodeLook(bytesOf(packed(header)))).toThrow('The message cannot be understood.');
  });
});
