/**
 * The zone that Baton answers for: the TXT records of the accounts, each under the account's name, and the little that any
 * zone must have (SOA, NS, and the address of the name server). Times to live are short: the record changes rarely, but
 * when it does, it should be seen.
 */
import { isIPv4, isIPv6 } from 'node:net';
import type { Answer } from 'dns-packet';
import { type AccountRecord, encodeAccountRecord, splitText } from '../../client/index.ts';
import type { Question, Rcode } from './query.ts';

export const TTL_SECONDS = 5;

const CLASS = { IN: 1, ANY: 255 } as const;
const TYPE = { A: 1, NS: 2, SOA: 6, TXT: 16, AAAA: 28, IXFR: 251, AXFR: 252, ANY: 255 } as const;
const NAME_SERVER = 'ns';
const ZONE = /^(?=.{1,200}$)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/;

export interface ZoneOptions {
  readonly zone: string;
  readonly records: () => ReadonlyMap<string, AccountRecord>;
  /** Where the name server answers, for those who ask for its address; `0.0.0.0` and `::` tell nobody anything. */
  readonly address?: string | undefined;
}

export interface ZoneAnswer {
  readonly rcode: Rcode;
  readonly isAuthoritative: boolean;
  readonly answers: Answer[];
  readonly authorities: Answer[];
}

export class Zone {
  readonly name: string;
  readonly #labels: readonly string[];
  readonly #records: ZoneOptions['records'];
  readonly #address: string | undefined;
  readonly #texts = new WeakMap<AccountRecord, readonly string[]>();

  constructor({ zone, records, address }: ZoneOptions) {
    this.name = zone.toLowerCase().replace(/\.$/, '');
    if (!ZONE.test(this.name)) throw new RangeError(`"${zone}" cannot be the name of a zone.`);
    this.#labels = this.name.split('.');
    this.#records = records;
    this.#address = address === '0.0.0.0' || address === '::' ? undefined : address;
  }

  lookUp(question: Question): ZoneAnswer {
    const prefix = this.#prefixOf(question);
    const { type } = question;
    const isServed = question.class === CLASS.IN || question.class === CLASS.ANY;
    if (prefix === undefined || !isServed || type === TYPE.AXFR || type === TYPE.IXFR) return REFUSED;
    const records = this.#records();
    const found = prefix.length === 0 ? this.#apex(records) : this.#below(prefix, question.name, records);
    if (found === undefined) return this.#nothing('NXDOMAIN', records);
    const answers = found.filter((answer) => type === TYPE.ANY || TYPE[answer.type as 'TXT'] === type);
    if (answers.length === 0) return this.#nothing('NOERROR', records);
    return { rcode: 'NOERROR', isAuthoritative: true, answers, authorities: [] };
  }

  /** The labels in front of the zone's own; nothing if the name is not in the zone. */
  #prefixOf({ labels }: Question): readonly string[] | undefined {
    const cut = labels.length - this.#labels.length;
    return cut >= 0 && this.#labels.every((label, index) => labels[cut + index] === label)
      ? labels.slice(0, cut)
      : undefined;
  }

  /** Everything there is under a name; nothing if there is no such name. The owner is spelled as it was asked for. */
  #below(
    [label, ...more]: readonly string[],
    owner: string,
    records: ReadonlyMap<string, AccountRecord>,
  ): Answer[] | undefined {
    const record = more.length === 0 ? records.get(label!) : undefined;
    const isNameServer = more.length === 0 && label === NAME_SERVER;
    if (record === undefined && !isNameServer) return undefined;
    const found: Answer[] = [];
    if (record !== undefined) {
      const data = this.#textOf(record).map((text) => Buffer.from(text, 'latin1'));
      found.push({ type: 'TXT', name: owner, ttl: TTL_SECONDS, data });
    }
    const address = isNameServer ? this.#address : undefined;
    if (address !== undefined && isIPv4(address))
      found.push({ type: 'A', name: owner, ttl: TTL_SECONDS, data: address });
    if (address !== undefined && isIPv6(address))
      found.push({ type: 'AAAA', name: owner, ttl: TTL_SECONDS, data: address });
    return found;
  }

  #apex(records: ReadonlyMap<string, AccountRecord>): Answer[] {
    const data = `${NAME_SERVER}.${this.name}`;
    return [this.#startOfAuthority(records), { type: 'NS', name: this.name, ttl: TTL_SECONDS, data }];
  }

  #nothing(rcode: Rcode, records: ReadonlyMap<string, AccountRecord>): ZoneAnswer {
    return { rcode, isAuthoritative: true, answers: [], authorities: [this.#startOfAuthority(records)] };
  }

  #startOfAuthority(records: ReadonlyMap<string, AccountRecord>): Answer {
    let serial = 0;
    for (const record of records.values()) serial = (serial + record.serial) % 2 ** 32;
    return {
      type: 'SOA',
      name: this.name,
      ttl: TTL_SECONDS,
      data: {
        mname: `${NAME_SERVER}.${this.name}`,
        rname: `hostmaster.${this.name}`,
        serial,
        refresh: 60,
        retry: 10,
        expire: 86_400,
        minimum: TTL_SECONDS,
      },
    };
  }

  #textOf(record: AccountRecord): readonly string[] {
    let strings = this.#texts.get(record);
    if (strings === undefined) {
      strings = splitText(encodeAccountRecord(record));
      this.#texts.set(record, strings);
    }
    return strings;
  }
}

const REFUSED: ZoneAnswer = { rcode: 'REFUSED', isAuthoritative: false, answers: [], authorities: [] };
