import { describe, expect, test } from 'vitest';
import { BATON_ERRORS, BatonError, type BatonErrorCode } from '../../client/index.ts';
import { CatalogError } from '../catalog/index.ts';
import { GatewayError, notFound } from './errors.ts';
import { failureOf } from './failures.ts';

const DOOR = { region: 'west', holdMs: 100 };
const CODES = Object.keys(BATON_ERRORS) as BatonErrorCode[];

function told(error: unknown, isWrite: boolean, door: typeof DOOR | undefined): GatewayError {
  return failureOf(error, { isWrite, door }) as GatewayError;
}

describe('what a client is told', () => {
  test.each<[BatonErrorCode, string, string, string]>([
    ['NOT_WRITER_HERE', '403/3', '403/3', '503/0'],
    ['UNREACHABLE', '403/3', '403/3', '503/0'],
    ['DEADLINE', '403/3', '403/3', '503/0'],
    ['ATTEMPTS_EXHAUSTED', '403/3', '403/3', '503/0'],
    ['PARTITION_SET_UNKNOWN', '403/3', '403/3', '503/0'],
    ['THROTTLED', '429/3200', '429/3200', '429/3200'],
    ['LEVEL_TOO_STRONG', '400/0', '400/0', '400/0'],
    ['BAD_REQUEST', '400/0', '400/0', '400/0'],
    ['NOT_FOUND', '404/0', '404/0', '404/0'],
    ['CONFLICT', '409/0', '409/0', '409/0'],
    ['PRECONDITION_FAILED', '412/0', '412/0', '412/0'],
    ['TOO_LARGE', '413/0', '413/0', '413/0'],
  ])('of %s: of a write at a region’s door %s, at the global one %s, of a read %s', (code, ...expected) => {
    const error = new BatonError(code);
    const found = [told(error, true, DOOR), told(error, true, undefined), told(error, false, DOOR)];
    expect(found.map(({ status, substatus }) => `${status}/${substatus}`)).toEqual(expected);
  });

  test('of a write that may have been done: 408, and never what would have it sent again', () => {
    for (const code of CODES)
      for (const door of [DOOR, undefined]) {
        expect(told(new BatonError(code, { outcome: 'unknown' }), true, door).status, code).toBe(408);
      }
  });

  test('of everything else: a status that its client understands, one sentence, and never 1002', () => {
    for (const code of CODES)
      for (const isWrite of [true, false])
        for (const door of [DOOR, undefined]) {
          const error = told(new BatonError(code), isWrite, door);
          expect(error).toBeInstanceOf(GatewayError);
          expect(error.substatus).not.toBe(1002);
          expect(error.message).toMatch(/\.$/);
        }
  });

  test('of the catalogue', () => {
    expect(told(new CatalogError('CATALOG_UNKNOWN', ''), false, DOOR).status).toBe(408);
    expect(told(new CatalogError('CATALOG_UNREACHABLE', ''), false, DOOR).status).toBe(503);
  });

  test('of what is no failure of those: as it is', () => {
    for (const error of [notFound('x'), new TypeError('x'), new CatalogError('CATALOG_DAMAGED', 'x')])
      expect(failureOf(error, { isWrite: true, door: DOOR })).toBe(error);
  });

  test('who is throttled is told when to come back', () => {
    const { headers } = told(new BatonError('THROTTLED'), false, undefined);
    expect(Number(headers['x-ms-retry-after-ms'])).toBeGreaterThan(0);
  });
});
