/**
 * The handshake. Who dials says HELLO: which versions it speaks, who it is, where it believes to be. Who listens answers
 * WELCOME with the version they will speak and who it is, or REFUSAL with a code and a sentence. Nothing else is sent
 * before the WELCOME. These three keep their layout in every version of the protocol; later versions may only add at the
 * end, and what comes after the fields known here is skipped.
 *
 *   HELLO    magic, 1, oldest u16, newest u16, role u8, max frame u32, max requests u32, incarnation u64, epoch u32,
 *            cluster, node, region, link, token
 *   WELCOME  magic, 2, version u16, role u8, max frame u32, max requests u32, incarnation u64, cluster, node, region
 *   REFUSAL  magic, 3, oldest u16, newest u16, retry after ms u32, code, sentence
 *
 * A text is its length in bytes (u16) and UTF-8. The two limits say what the sender of them takes.
 */
import { RpcError } from './errors.ts';
import { MAX_U32 } from './wire.ts';

const MAGIC = Buffer.from('BTRP', 'latin1');
const HELLO = 1;
const WELCOME = 2;
const REFUSAL = 3;
const ROLES = ['node', 'client'] as const;
const MAX_TEXT_BYTES = 1024;
export const MAX_HANDSHAKE_BYTES = 8 * 1024;

export type PeerRole = (typeof ROLES)[number];

/** Who one side of a connection is. */
export interface Identity {
  readonly role: PeerRole;
  readonly cluster: string;
  readonly node: string;
  readonly region: string;
  /** Higher in every later run of the same node. */
  readonly incarnation: number;
}

/** What one side takes from the other. */
export interface Appetite {
  readonly maxFrameBytes: number;
  readonly maxRequests: number;
}

export interface Hello extends Identity, Appetite {
  readonly versions: VersionRange;
  /** Of the connections of one link only the latest counts: that with the highest epoch. Without a link, ''. */
  readonly link: string;
  readonly epoch: number;
  readonly token: string;
}

export interface Welcome extends Identity, Appetite {
  readonly version: number;
}

export interface Refusal {
  readonly versions: VersionRange;
  readonly error: RpcError;
}

export interface VersionRange {
  readonly oldest: number;
  readonly newest: number;
}

/** The newest version that both speak. */
export function chooseVersion(ours: VersionRange, theirs: VersionRange): number | undefined {
  const newest = Math.min(ours.newest, theirs.newest);
  return newest >= Math.max(ours.oldest, theirs.oldest) ? newest : undefined;
}

export function encodeHello(hello: Hello): Buffer {
  return new Encoder(HELLO)
    .u16(hello.versions.oldest)
    .u16(hello.versions.newest)
    .introduction(hello)
    .u32(hello.epoch)
    .texts(hello.cluster, hello.node, hello.region, hello.link, hello.token).bytes;
}

export function encodeWelcome(welcome: Welcome): Buffer {
  return new Encoder(WELCOME)
    .u16(welcome.version)
    .introduction(welcome)
    .texts(welcome.cluster, welcome.node, welcome.region).bytes;
}

export function encodeRefusal({ versions, error }: Refusal): Buffer {
  return new Encoder(REFUSAL)
    .u16(versions.oldest)
    .u16(versions.newest)
    .u32(error.retryAfterMs)
    .texts(error.code, error.message).bytes;
}

/** Throws HANDSHAKE_INVALID on anything that is not a HELLO. */
export function parseHello(bytes: Buffer): Hello {
  const decoder = new Decoder(bytes);
  if (decoder.kind !== HELLO) throw invalid('it does not begin with a greeting');
  const versions = decoder.versions();
  const introduction = decoder.introduction();
  const epoch = decoder.u32();
  const [cluster, node, region, link, token] = decoder.texts(5);
  return {
    versions,
    ...introduction,
    epoch,
    cluster: cluster!,
    node: node!,
    region: region!,
    link: link!,
    token: token!,
  };
}

/** Throws HANDSHAKE_INVALID on anything that does not answer a HELLO. */
export function parseReply(bytes: Buffer): Welcome | Refusal {
  const decoder = new Decoder(bytes);
  if (decoder.kind === WELCOME) {
    const version = decoder.u16();
    const introduction = decoder.introduction();
    const [cluster, node, region] = decoder.texts(3);
    return { version, ...introduction, cluster: cluster!, node: node!, region: region! };
  }
  if (decoder.kind !== REFUSAL) throw invalid('it does not answer a greeting');
  const versions = decoder.versions();
  const retryAfterMs = decoder.u32();
  const [code, message] = decoder.texts(2);
  return { versions, error: new RpcError(code!, message!, { retryAfterMs }) };
}

type Introduction = Pick<Hello, 'role' | 'maxFrameBytes' | 'maxRequests' | 'incarnation'>;

class Encoder {
  readonly #parts: Buffer[];

  constructor(kind: number) {
    this.#parts = [MAGIC, Buffer.from([kind])];
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#parts);
  }

  u16(value: number): this {
    return this.#integer(value, 2);
  }

  u32(value: number): this {
    return this.#integer(Math.min(MAX_U32, Math.ceil(value)), 4);
  }

  introduction({ role, maxFrameBytes, maxRequests, incarnation }: Introduction): this {
    this.#integer(ROLES.indexOf(role) + 1, 1)
      .u32(maxFrameBytes)
      .u32(maxRequests);
    const part = Buffer.alloc(8);
    part.writeBigUInt64BE(BigInt(incarnation));
    this.#parts.push(part);
    return this;
  }

  texts(...texts: readonly string[]): this {
    for (const text of texts) {
      const part = Buffer.from(text);
      if (part.length > MAX_TEXT_BYTES) throw invalid(`a text in it is longer than ${MAX_TEXT_BYTES} bytes`);
      this.u16(part.length).#parts.push(part);
    }
    return this;
  }

  #integer(value: number, bytes: number): this {
    const part = Buffer.alloc(bytes);
    part.writeUIntBE(value, 0, bytes);
    this.#parts.push(part);
    return this;
  }
}

class Decoder {
  readonly kind: number;
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    if (!this.#take(MAGIC.length).equals(MAGIC)) throw invalid('it is of another protocol');
    this.kind = this.#integer(1);
  }

  u16(): number {
    return this.#integer(2);
  }

  u32(): number {
    return this.#integer(4);
  }

  versions(): VersionRange {
    return { oldest: this.u16(), newest: this.u16() };
  }

  introduction(): Introduction {
    const role = ROLES[this.#integer(1) - 1];
    if (role === undefined) throw invalid('it names no role that is known');
    const [maxFrameBytes, maxRequests] = [this.u32(), this.u32()];
    const incarnation = Number(this.#take(8).readBigUInt64BE());
    if (!Number.isSafeInteger(incarnation)) throw invalid('its incarnation is out of range');
    return { role, maxFrameBytes, maxRequests, incarnation };
  }

  texts(count: number): string[] {
    return Array.from({ length: count }, () => {
      const length = this.u16();
      if (length > MAX_TEXT_BYTES) throw invalid(`a text in it is longer than ${MAX_TEXT_BYTES} bytes`);
      return this.#take(length).toString('utf8');
    });
  }

  #integer(bytes: number): number {
    return this.#take(bytes).readUIntBE(0, bytes);
  }

  #take(bytes: number): Buffer {
    const end = this.#at + bytes;
    if (end > this.#bytes.length) throw invalid('it ends too early');
    const part = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return part;
  }
}

function invalid(why: string): RpcError {
  return new RpcError('HANDSHAKE_INVALID', `The handshake cannot be read: ${why}.`);
}
