import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CONSISTENCY_LEVELS } from '../../failover/index.ts';
import {
  type AccountRecord,
  encodeAccountRecord,
  findAccountRecord,
  parseAccountRecord,
  RECORD_LIMITS,
  splitText,
} from './account-record.ts';
import { formatAddress, parseAddress } from './address.ts';

const RECORD: AccountRecord = {
  account: 'demo',
  serial: 7,
  consistency: 'Strong',
  regions: [
    { region: 'west', addresses: ['127.0.0.1:4101', '127.0.0.1:4111'] },
    { region: 'east', addresses: ['[::1]:4201'] },
  ],
};
const TEXT =
  'v=baton1; account=demo; serial=7; consistency=Strong; region=west 127.0.0.1:4101,127.0.0.1:4111; region=east [::1]:4201';

const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?$/);
const address = fc.oneof(
  fc.tuple(fc.ipV4(), fc.integer({ min: 1, max: 65_535 })).map(([ip, port]) => `${ip}:${port}`),
  fc.tuple(fc.ipV6(), fc.integer({ min: 1, max: 65_535 })).map(([ip, port]) => `[${ip}]:${port}`),
  fc.tuple(fc.domain(), fc.integer({ min: 1, max: 65_535 })).map(([name, port]) => `${name}:${port}`),
);
const region = fc.record({
  region: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }).filter((name) => name.length <= 64),
  addresses: fc.array(address, { minLength: 1, maxLength: 4 }),
});
const extension = fc
  .tuple(fc.stringMatching(/^x-[a-z0-9-]{0,9}$/), fc.stringMatching(/^[!-:<-~]{0,30}$/))
  .map(([key, value]) => `${key}=${value}`);
const record: fc.Arbitrary<AccountRecord> = fc
  .record({
    account: label,
    serial: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
    consistency: fc.option(fc.constantFrom(...CONSISTENCY_LEVELS)),
    regions: fc.uniqueArray(region, { minLength: 1, maxLength: 6, selector: (one) => one.region }),
    extensions: fc.array(extension, { maxLength: 3 }),
  })
  .map(({ consistency, extensions, ...rest }) => ({
    ...rest,
    ...(consistency !== null && { consistency }),
    ...(extensions.length > 0 && { extensions }),
  }));

function read(text: string): AccountRecord {
  const parsed = parseAccountRecord(text);
  if (parsed.kind !== 'record') throw new Error(JSON.stringify(parsed));
  return parsed.record;
}

function reasonFor(text: string): string {
  const parsed = parseAccountRecord(text);
  if (parsed.kind !== 'invalid') throw new Error(JSON.stringify(parsed));
  return parsed.reason;
}

describe('the record of an account', () => {
  it('is written as people read it', () => {
    expect(encodeAccountRecord(RECORD)).toBe(TEXT);
    expect(read(TEXT)).toEqual(RECORD);
  });

  it('is read as it was written, whatever it says', () => {
    fc.assert(
      fc.property(record, (written) => {
        const text = encodeAccountRecord(written);
        expect(text).toMatch(/^[ -~]*$/);
        expect(read(text)).toEqual(written);
        const strings = splitText(text);
        expect(Math.max(...strings.map((string) => string.length))).toBeLessThanOrEqual(255);
        expect(findAccountRecord([strings], written.account)).toMatchObject({ record: written });
      }),
      { seed: 1, numRuns: 300 },
    );
  });

  it('is refused, or not ours, or sound, whatever bytes come', () => {
    const bytes = fc.uint8Array({ maxLength: 600 }).map((all) => Buffer.from(all).toString('latin1'));
    const nearly = fc
      .tuple(record, fc.nat(), fc.string({ maxLength: 5, unit: 'binary' }))
      .map(([one, at, noise]) => {
        const text = encodeAccountRecord(one);
        const cut = at % text.length;
        return text.slice(0, cut) + noise + text.slice(cut + noise.length);
      });
    const kinds = new Set<string>();
    fc.assert(
      fc.property(fc.oneof(bytes, nearly), (text) => {
        const parsed = parseAccountRecord(text);
        kinds.add(parsed.kind);
        if (parsed.kind === 'record') expect(read(encodeAccountRecord(parsed.record))).toEqual(parsed.record);
      }),
      { seed: 2, numRuns: 1500 },
    );
    expect([...kinds]).toEqual(expect.arrayContaining(['record', 'foreign', 'invalid']));
  });

  it('may come from a newer writer that older readers understand', () => {
    const newer =
      'v=baton1.12;tls=1 ; account=demo;;serial=7; consistency=Galactic;region=west 127.0.0.1:4101  weight=3 zone=b; x=;';
    expect(read(newer)).toEqual({
      account: 'demo',
      serial: 7,
      regions: [{ region: 'west', addresses: ['127.0.0.1:4101'] }],
      extensions: ['tls=1', 'x='],
    });
    expect(encodeAccountRecord(read(newer))).toContain('tls=1; x=');
  });

  it('says so when it is too new, and is left alone when it is not ours', () => {
    expect(parseAccountRecord('v=baton2; what=ever')).toEqual({ kind: 'newer', version: 'baton2' });
    expect(parseAccountRecord('v=baton10')).toEqual({ kind: 'newer', version: 'baton10' });
    for (const text of ['', 'v=spf1 -all', 'v=baton', 'account=demo; v=baton1', 'v=batonx1;', ' v=baton1;'])
      expect(parseAccountRecord(text)).toEqual({ kind: 'foreign' });
  });

  it.each([
    [TEXT.replace('account=demo', 'account=Demo'), 'The account must'],
    [TEXT.replace('account=demo; ', ''), 'The account must'],
    [TEXT.replace('serial=7', 'serial=-7'), 'The serial must'],
    [TEXT.replace('serial=7', 'serial=9007199254740993'), 'The serial is too large'],
    [TEXT.replace('serial=7', 'serial=7; serial=8'), 'The field serial stands there twice'],
    [TEXT.replace('=east', '=west'), 'A region stands there twice'],
    [TEXT.replace('=east', '='), 'The name of a region'],
    [TEXT.replace('=east', '=%ff'), 'The name of a region'],
    [TEXT.replace('[::1]:4201', ''), '"" is not of the form HOST:PORT'],
    [TEXT.replace('[::1]:4201', '[::1]:65536'), 'is not of the form HOST:PORT'],
    [TEXT.replace('4101,', '4101,,'), '"" is not of the form HOST:PORT'],
    [`${TEXT}; nonsense`, '"nonsense" is not of the form key=value'],
    ['v=baton1; account=demo; serial=1', 'at least one region'],
    [`${TEXT}; x=${'y'.repeat(RECORD_LIMITS.bytes)}`, 'bytes'],
    [`${TEXT}${'; x=y'.repeat(RECORD_LIMITS.fields)}`, 'fields'],
    [`${TEXT}; region=r ${Array.from({ length: 257 }, () => 'h:1').join(',')}`, '256 addresses'],
    [`${TEXT}; ${Array.from({ length: 64 }, (_, at) => `region=r${at} h:1`).join('; ')}`, '64 regions'],
  ])('is refused with a reason: %.80s', (text, reason) => {
    expect(reasonFor(text)).toContain(reason);
  });

  it.each<[string, Partial<AccountRecord>]>([
    ['an account that smuggles a field in', { account: 'demo; serial=9' }],
    [
      'an address that smuggles a region in',
      { regions: [{ region: 'a', addresses: ['h:1; region=b h:1'] }] },
    ],
    ['a further field that is known', { extensions: ['serial=9'] }],
    ['a further field that is a region', { extensions: ['region=evil h:1'] }],
    ['a further field that is two', { extensions: ['x=1; region=evil h:1'] }],
    ['half a character', { regions: [{ region: '\uD800', addresses: ['h:1'] }] }],
    ['no regions', { regions: [] }],
    ['a serial that is no whole number', { serial: 1.5 }],
  ])('is not written with %s', (_, change) => {
    expect(() => encodeAccountRecord({ ...RECORD, ...change })).toThrow(
      expect.objectContaining({ code: 'ACCOUNT_RECORD_INVALID' }),
    );
  });
});

describe('the record among others', () => {
  const other = ['v=spf1 ', '-all'];

  it('is found among those that are not ours, the newest of several', () => {
    const older = splitText(encodeAccountRecord({ ...RECORD, serial: 6 }));
    const found = findAccountRecord([other, older, splitText(TEXT), older, []], 'demo');
    expect(found).toEqual({ kind: 'record', record: RECORD, text: TEXT });
  });

  it('is not another account, and not a broken one if there is a sound one', () => {
    expect(findAccountRecord([other, [TEXT]], 'shop')).toMatchObject({ kind: 'invalid' });
    expect(findAccountRecord([['v=baton2'], ['v=baton1; what'], [TEXT]], 'demo')).toMatchObject({
      record: RECORD,
    });
    expect(findAccountRecord([['v=baton2'], other], 'demo')).toMatchObject({ kind: 'newer' });
    expect(findAccountRecord([other, []], 'demo')).toBeUndefined();
  });
});

describe('an address', () => {
  it('is host and port, and back', () => {
    fc.assert(
      fc.property(address, (text) => {
        expect(formatAddress(parseAddress(text)!)).toBe(text);
      }),
      { seed: 3 },
    );
    for (const text of ['', 'h', 'h:0', 'h:x', ':1', '::1:1', '[h]:1', 'h h:1', `${'h'.repeat(300)}:1`])
      expect(parseAddress(text), text).toBeUndefined();
  });
});
