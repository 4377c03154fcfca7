import { decode, type DecodedPacket, encode, type OptAnswer, type Packet, type TxtAnswer } from 'dns-packet';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AccountRecord, encodeAccountRecord } from '../../client/index.ts';
import { answer, type Transport } from './answer.ts';
import { Zone } from './zone.ts';

const DEMO = account('demo', 1);
const BIG = account('big', 100);
const ZONE = new Zone({
  zone: 'Baton.Local.',
  records: () =>
    new Map([
      ['demo', DEMO],
      ['big', BIG],
      ['broken', { ...DEMO, account: 'not good' }],
    ]),
  address: '127.0.0.1',
});

function account(name: string, nodes: number): AccountRecord {
  const addresses = Array.from({ length: nodes }, (_, index) => `127.0.0.1:${4000 + index}`);
  return { account: name, serial: 5, consistency: 'Session', regions: [{ region: 'west', addresses }] };
}

type Decoded = DecodedPacket & { rcode: string; opcode: string };

function query(name: string, type: string, more: Packet = {}): Buffer {
  return encode({
    type: 'query',
    id: 4711,
    flags: 0x01_00,
    questions: [{ name, type: type as 'TXT' }],
    ...more,
  });
}

function edns(udpPayloadSize: number, ednsVersion = 0, flags = 0): Packet {
  const opt = { type: 'OPT' as const, name: '.', udpPayloadSize, ednsVersion, flags };
  return { additionals: [{ ...opt, extendedRcode: 0, flag_do: false, options: [] }] };
}

function ask(message: Buffer, transport: Transport = 'udp', zone = ZONE): Decoded {
  return decode(answer(zone, message, transport)!.bytes) as Decoded;
}

function textOf(answered: Decoded): string {
  return Buffer.concat((answered.answers as TxtAnswer[])[0]!.data as Buffer[]).toString();
}

function summary(answered: Decoded): unknown[] {
  const types = (list: Packet['answers']): string => (list ?? []).map(({ type }) => type).join();
  return [answered.rcode, answered.flag_aa, types(answered.answers), types(answered.authorities)];
}

describe('the zone', () => {
  it.each([
    ['demo.baton.local', 'TXT', ['NOERROR', true, 'TXT', '']],
    ['demo.baton.local', 'ANY', ['NOERROR', true, 'TXT', '']],
    ['demo.baton.local', 'A', ['NOERROR', true, '', 'SOA']],
    ['baton.local', 'SOA', ['NOERROR', true, 'SOA', '']],
    ['baton.local', 'NS', ['NOERROR', true, 'NS', '']],
    ['baton.local', 'ANY', ['NOERROR', true, 'SOA,NS', '']],
    ['baton.local', 'TXT', ['NOERROR', true, '', 'SOA']],
    ['ns.baton.local', 'A', ['NOERROR', true, 'A', '']],
    ['ns.baton.local', 'AAAA', ['NOERROR', true, '', 'SOA']],
    ['nobody.baton.local', 'TXT', ['NXDOMAIN', true, '', 'SOA']],
    ['demo.x.baton.local', 'TXT', ['NXDOMAIN', true, '', 'SOA']],
    ['x.demo.baton.local', 'TXT', ['NXDOMAIN', true, '', 'SOA']],
    ['broken.baton.local', 'TXT', ['SERVFAIL', false, '', '']],
    ['demo.example.com', 'TXT', ['REFUSED', false, '', '']],
    ['local', 'TXT', ['REFUSED', false, '', '']],
    ['xbaton.local', 'TXT', ['REFUSED', false, '', '']],
    ['.', 'NS', ['REFUSED', false, '', '']],
    ['baton.local', 'AXFR', ['REFUSED', false, '', '']],
  ])('answers %s %s', (name, type, expected) => {
    const answered = ask(query(name, type));
    expect(summary(answered)).toEqual(expected);
    expect(answered).toMatchObject({
      id: 4711,
      flag_qr: true,
      flag_rd: true,
      flag_ra: false,
      flag_tc: false,
    });
    expect(answered.questions).toMatchObject([{ name, type }]);
  });

  it('gives the text of the record, for a short time', () => {
    const answered = ask(query('demo.baton.local', 'TXT'));
    expect(textOf(answered)).toBe(encodeAccountRecord(DEMO));
    expect(answered.answers).toMatchObject([{ ttl: 5 }]);
  });

  it('lets "no such name" be remembered for as short a time, and counts its serial up with any record', () => {
    const soa = ask(query('nobody.baton.local', 'TXT')).authorities;
    expect(soa).toMatchObject([{ ttl: 5, data: { minimum: 5, serial: 15, mname: 'ns.baton.local' } }]);
  });

  it('takes names in any case and gives them back as they came', () => {
    const answered = ask(query('dEMo.BATON.loCAL', 'TXT'));
    expect(answered.questions).toMatchObject([{ name: 'dEMo.BATON.loCAL' }]);
    expect(answered.answers).toMatchObject([{ name: 'dEMo.BATON.loCAL' }]);
    expect(textOf(answered)).toBe(encodeAccountRecord(DEMO));
  });

  it('does not take a dot in a label for a boundary, and gives strange bytes back', () => {
    const bytes = Buffer.concat([
      query('', 'TXT').subarray(0, 12),
      Buffer.from('\x0Ademo.\xFFaton\x05baton\x05local\0\0\x10\0\x01', 'latin1'),
    ]);
    const dotted = Buffer.from(bytes);
    dotted.write('demo.baton', 13, 'latin1');
    for (const message of [bytes, dotted]) {
      const answered = answer(ZONE, message, 'udp')!;
      expect(answered.rcode).toBe('NXDOMAIN');
      expect(answered.bytes.subarray(12, message.length)).toEqual(message.subarray(12));
    }
  });

  it('serves the class IN only', () => {
    expect(ask(query('demo.baton.local', 'TXT', chaos())).rcode).toBe('REFUSED');
  });

  function chaos(): Packet {
    return { questions: [{ name: 'demo.baton.local', type: 'TXT', class: 'CH' }] };
  }

  it('must have a name that can be one', () => {
    for (const zone of ['', '.', 'a..b', 'a b', 'x'.repeat(64)])
      expect(() => new Zone({ zone, records: () => new Map() }), zone).toThrow(RangeError);
  });
});

describe('what is no query of ours', () => {
  it('is told what it is', () => {
    const asked = query('demo.baton.local', 'TXT');
    expect(summary(ask(query('demo.baton.local', 'SOA', { flags: 4 << 11 })))).toEqual(
      expect.arrayContaining(['NOTIMP']),
    );
    expect(ask(asked.subarray(0, 4))).toMatchObject({ rcode: 'FORMERR', id: 4711 });
    expect(ask(asked.subarray(0, -1))).toMatchObject({ rcode: 'FORMERR', id: 4711 });
    expect(ask(Buffer.concat([asked, Buffer.alloc(1)])).rcode).toBe('FORMERR');
    expect(ask(Buffer.concat([asked, Buffer.alloc(1300)])).rcode).toBe('FORMERR');
    const two = { questions: [1, 2].map(() => ({ name: 'demo.baton.local', type: 'TXT' as const })) };
    expect(ask(query('', 'TXT', two)).rcode).toBe('FORMERR');
    const counts = Buffer.from(asked);
    counts.fill(0xff, 6, 12);
    expect(ask(counts).rcode).toBe('FORMERR');
    const pointer = Buffer.from(asked);
    pointer[12] = 0xc0;
    expect(ask(pointer).rcode).toBe('FORMERR');
  });

  it('gets no answer if it is one, or has nothing to answer to', () => {
    const response = Buffer.from(query('demo.baton.local', 'TXT'));
    response[2]! |= 0x80;
    for (const message of [response, Buffer.alloc(0), Buffer.alloc(3)])
      expect(answer(ZONE, message, 'udp')).toBeUndefined();
  });

  it('is a failure of the server if the records cannot be had', () => {
    const zone = new Zone({
      zone: 'baton.local',
      records: () => {
        throw new Error('gone');
      },
    });
    expect(ask(query('demo.baton.local', 'TXT'), 'udp', zone).rcode).toBe('SERVFAIL');
  });
});

describe('EDNS', () => {
  it('is answered with EDNS, and only then', () => {
    expect(ask(query('demo.baton.local', 'TXT')).additionals).toEqual([]);
    const answered = ask(query('demo.baton.local', 'TXT', edns(4096, 0, 0x80_00)));
    expect(answered.additionals).toMatchObject([{ type: 'OPT', udpPayloadSize: 1232, flag_do: true }]);
    expect(summary(answered)).toEqual(['NOERROR', true, 'TXT', '']);
  });

  it('of another version is refused in the words of version 0', () => {
    const answered = ask(query('demo.baton.local', 'TXT', edns(1232, 1)));
    expect(answered).toMatchObject({ rcode: 'NOERROR', answers: [] });
    expect(answered.additionals).toMatchObject([{ extendedRcode: 1, ednsVersion: 0 }]);
  });

  it('twice is malformed', () => {
    const [opt] = edns(1232).additionals!;
    expect(ask(query('demo.baton.local', 'TXT', { additionals: [opt!, opt!] })).rcode).toBe('FORMERR');
  });

  it.each([
    ['udp', undefined, 'TC'],
    ['udp', 0, 'TC'],
    ['udp', 1232, 'TC'],
    ['udp', 65_535, 'TC'],
    ['tcp', undefined, 'whole'],
  ] as const)('over %s with %s bytes gives a large record %s', (transport, size, expected) => {
    const message = query('big.baton.local', 'TXT', size === undefined ? {} : edns(size));
    const { bytes, isTruncated } = answer(ZONE, message, transport)!;
    const answered = decode(bytes) as Decoded;
    expect(isTruncated).toBe(expected === 'TC');
    expect(answered.flag_tc).toBe(expected === 'TC');
    if (expected === 'TC') expect(answered.answers).toEqual([]);
    else expect(textOf(answered)).toBe(encodeAccountRecord(BIG));
  });

  it('does not make a question longer than it may be', () => {
    const padded = (length: number): Packet => {
      const [opt] = edns(1232).additionals as OptAnswer[];
      return { additionals: [{ ...opt!, options: [{ code: 12, type: 'PADDING', length }] }] };
    };
    expect(ask(query('demo.baton.local', 'TXT', padded(1000))).rcode).toBe('NOERROR');
    expect(ask(query('demo.baton.local', 'TXT', padded(1200))).rcode).toBe('FORMERR');
  });

  it('makes room for what is larger than 512 bytes', () => {
    const zone = new Zone({ zone: 'baton.local', records: () => new Map([['mid', account('mid', 40)]]) });
    expect(ask(query('mid.baton.local', 'TXT'), 'udp', zone).flag_tc).toBe(true);
    expect(ask(query('mid.baton.local', 'TXT', edns(600)), 'udp', zone).flag_tc).toBe(true);
    expect(ask(query('mid.baton.local', 'TXT', edns(1232)), 'udp', zone).flag_tc).toBe(false);
  });
});

describe('any bytes at all', () => {
  const name = fc.constantFrom('demo.baton.local', 'big.baton.local', 'baton.local', 'x.y', 'no.baton.local');
  const sound = fc
    .tuple(name, fc.constantFrom('TXT', 'ANY', 'SOA', 'A'), fc.option(fc.nat(65_535)))
    .map(([asked, type, size]) => query(asked, type, size === null ? {} : edns(size)));
  const spoiled = fc
    .tuple(sound, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 6 }), fc.nat(100))
    .map(([message, changes, cut]) => {
      const bytes = Buffer.from(message);
      for (const [at, value] of changes) bytes[at % bytes.length] = value;
      return cut < 20 ? bytes.subarray(0, Math.max(0, bytes.length - cut)) : bytes;
    });
  const noise = fc.uint8Array({ maxLength: 1500 }).map((bytes) => Buffer.from(bytes));

  it('get an answer that is one, to the id that was asked with, and never a large one', () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(fc.oneof(sound, spoiled, noise), (message) => {
        const answered = answer(ZONE, message, 'udp');
        if (answered === undefined) return;
        seen.add(answered.rcode);
        const { bytes } = answered;
        expect(bytes.length).toBeLessThanOrEqual(1232);
        expect(bytes.readUInt16BE(0)).toBe(message.readUInt16BE(0));
        expect(bytes[2]! & 0x80).toBe(0x80);
        decode(bytes);
        expect(decode.bytes).toBe(bytes.length);
      }),
      { seed: 4, numRuns: 4000 },
    );
    expect(seen.size).toBeGreaterThanOrEqual(6);
  });
});
