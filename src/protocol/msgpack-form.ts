/**
 * Whether bytes are packed values (MessagePack) that can be unpacked without harm. An unpacker believes the lengths it reads:
 * five bytes can announce a list of millions, for which it makes room before it finds that they do not come, and such lists can
 * stand in each other. So what comes from outside is walked through first, without making anything (DESIGN: CASPaxos rule 11):
 * every length must fit into what is left, nesting and the number of values are bounded, and only the types of plain data are
 * let through (with `undefined`, which msgpackr has its own byte for).
 */
export interface PackedLimits {
  /** How deep lists and maps may stand in each other. */
  readonly depth: number;
  /** How many values there may be in all: the smallest takes a byte there, and dozens here. */
  readonly values: number;
}

const BROKEN = -1;

export function isPlainData(bytes: Uint8Array, limits: PackedLimits): boolean {
  return new Walk(bytes, limits).value(0, 0) === bytes.length;
}

class Walk {
  readonly #bytes: Uint8Array;
  readonly #depth: number;
  #values: number;

  constructor(bytes: Uint8Array, { depth, values }: PackedLimits) {
    this.#bytes = bytes;
    this.#depth = depth;
    this.#values = values;
  }

  /** Where the value that begins there ends; BROKEN: nowhere. */
  value(at: number, depth: number): number {
    const first = this.#bytes[at];
    this.#values -= 1;
    if (first === undefined || depth > this.#depth || this.#values < 0) return BROKEN;
    if (first < 0x80 || first >= 0xe0) return at + 1;
    if (first < 0x90) return this.#items(at + 1, 2 * (first & 0x0f), depth);
    if (first < 0xa0) return this.#items(at + 1, first & 0x0f, depth);
    if (first < 0xc0) return this.#skip(at + 1, first & 0x1f);
    return this.#long(first, at + 1, depth);
  }

  #long(first: number, at: number, depth: number): number {
    switch (first) {
      case 0xc0:
      case 0xc2:
      case 0xc3:
        return at;
      case 0xc4:
      case 0xd9:
        return this.#skip(at + 1, this.#number(at, 1));
      case 0xc5:
      case 0xda:
        return this.#skip(at + 2, this.#number(at, 2));
      case 0xc6:
      case 0xdb:
        return this.#skip(at + 4, this.#number(at, 4));
      case 0xcc:
      case 0xd0:
        return this.#skip(at, 1);
      case 0xcd:
      case 0xd1:
        return this.#skip(at, 2);
      case 0xca:
      case 0xce:
      case 0xd2:
        return this.#skip(at, 4);
      case 0xcb:
      case 0xcf:
      case 0xd3:
        return this.#skip(at, 8);
      case 0xd4:
        return this.#bytes[at] === 0 && this.#bytes[at + 1] === 0 ? at + 2 : BROKEN;
      case 0xdc:
        return this.#items(at + 2, this.#number(at, 2), depth);
      case 0xdd:
        return this.#items(at + 4, this.#number(at, 4), depth);
      case 0xde:
        return this.#items(at + 2, 2 * this.#number(at, 2), depth);
      case 0xdf:
        return this.#items(at + 4, 2 * this.#number(at, 4), depth);
      default:
        return BROKEN;
    }
  }

  /** Each has a byte at least. */
  #items(start: number, count: number, depth: number): number {
    if (!(count <= this.#bytes.length - start)) return BROKEN;
    let at = start;
    for (let item = 0; item < count; item += 1) {
      at = this.value(at, depth + 1);
      if (at === BROKEN) return BROKEN;
    }
    return at;
  }

  #skip(at: number, count: number): number {
    return at + count <= this.#bytes.length ? at + count : BROKEN;
  }

  /** NaN when it is cut off: nothing fits then. */
  #number(at: number, size: 1 | 2 | 4): number {
    let value = 0;
    for (let byte = at; byte < at + size; byte += 1) value = value * 256 + (this.#bytes[byte] ?? Number.NaN);
    return value;
  }
}
