import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nodeJson } from '../../../../test/engine/json.ts';
import type { Version } from '../model.ts';
import { present } from './present.ts';
import { formatRid, itemNames, parseRid } from './rid.ts';
import { createdLsnOf, versionIn, type Readable } from './versions.ts';

const CONTAINER = 'AQIDBIUGBwg=';
const names = itemNames(CONTAINER);
const entry = { epoch: 0x30000, lsn: 26, at: 1_700_000_000_999 };

function version(body: string, more: Partial<Version> = {}): Readable<Version> {
  const change = { epk: 'E', id: 'x', partitionKey: '["a"]', createdLsn: 0, previous: 0 };
  return { ...versionIn(entry, change), ...more, body: nodeJson.utf8(body) };
}
const shown = (body: string) => nodeJson.parse(present(version(body), names)) as object;

describe('an item as a client reads it', () => {
  test('has the system properties behind its own', () => {
    const rid = names.ridOf(version('{}'));
    expect(Buffer.from(present(version(' {"id":"x" , "n":1.0 } \n'), names)).toString()).toBe(
      ` {"id":"x" , "n":1.0,"_rid":"${rid}","_self":"dbs/AQIDBA==/colls/${CONTAINER}/docs/${rid}/",` +
        `"_etag":"\\"30000-1a\\"","_attachments":"attachments/","_ts":1700000000}`,
    );
  });

  test('may have been empty', () => {
    for (const body of ['{}', '{ \n}', '\t{}\r\n']) expect(Object.keys(shown(body))[0]).toBe('_rid');
  });

  test('has its LSN in the change feed', () => {
    expect(nodeJson.parse(present(version('{"a":{}}'), names, true))).toMatchObject({ a: {}, _lsn: 26 });
    expect(shown('{"a":1}')).not.toHaveProperty('_lsn');
  });

  test('is otherwise what was stored', () => {
    const white = fc.constantFrom('', ' ', '\n', '\t \r');
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), white, white, (document, before, after) => {
        const text = before + JSON.stringify(document, undefined, before) + after;
        const { _rid, _self, _etag, _attachments, _ts, ...own } = shown(text) as Record<string, unknown>;
        expect(own).toEqual(JSON.parse(text));
        expect([_rid, _self, _etag, _attachments, _ts]).not.toContain(undefined);
      }),
      { seed: 5, numRuns: 500 },
    );
  });
});

describe('resource ids', () => {
  test('are base64 without slashes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 20 }), (bytes) => {
        const text = formatRid(bytes);
        expect(text).toBe(Buffer.from(bytes).toString('base64').replaceAll('/', '-'));
        expect(parseRid(text)).toEqual(new Uint8Array(bytes));
      }),
      { seed: 7, numRuns: 300 },
    );
    for (const text of ['A', 'AA', 'AA=', '====', 'A/AA', 'AQIDBIUGBwh='])
      expect(parseRid(text), text).toBeUndefined();
  });

  test('of an item begin with those of its container, and are marked as those of an item', () => {
    for (let lsn = 1; lsn < 200; lsn++) {
      const bytes = parseRid(names.ridOf(version('{}', { createdLsn: lsn })))!;
      expect(bytes).toHaveLength(16);
      expect(formatRid(bytes.subarray(0, 8))).toBe(CONTAINER);
      expect(bytes[15]! >> 4).toBe(0);
    }
  });

  test('tell items apart, and one from another that had its id before', () => {
    const some = [
      version('{}', { createdLsn: 5 }),
      version('{}', { createdLsn: 6 }),
      version('{}', { createdLsn: 5, id: 'y' }),
      version('{}', { createdLsn: 5, epk: 'F' }),
      version('{}', { createdLsn: 5, id: 'é'.repeat(3000) }),
    ];
    expect(new Set(some.map((each) => names.ridOf(each))).size).toBe(some.length);
  });

  test('stay the same from version to version', () => {
    const first = versionIn(entry, { epk: 'E', id: 'x', partitionKey: '["a"]', createdLsn: 0, previous: 0 });
    const later = versionIn({ ...entry, lsn: 90 }, { ...first, previous: 26 });
    expect(later.createdLsn).toBe(26);
    expect(names.ridOf(later)).toBe(names.ridOf(first));
    expect(names.ridOf({ ...first, createdLsn: 0 })).toBe(names.ridOf(first));
    expect(createdLsnOf({ createdLsn: 0, lsn: 9 })).toBe(9);
  });

  test('of a container have eight bytes', () => {
    expect(() => itemNames('AQIDBA==')).toThrow('Not the id of a container: AQIDBA==.');
  });
});
