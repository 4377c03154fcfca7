/**
 * Unary gRPC calls over one HTTP/2 connection, framed by hand. A general client costs more for
 * each call, which on a small machine would be taken from the servers under test; a peer is to be measured at its best. Only what such
 * calls need is here: no TLS, no compression, no header is decoded. A call is answered by its message; one that ends
 * without a message was refused.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;
const WINDOW_UPDATE = 8;

const ACK = 1;
const END_STREAM = 1;
const END_HEADERS = 4;
const PADDED = 8;

const SETTING_INITIAL_WINDOW = 4;
const FRAME_HEADER = 9;
const GRPC_PREFIX = 5;
const DEFAULT_WINDOW = 65_535;
/** What every server takes in one frame. */
const LARGEST_FRAME = 16_384;
const OUR_WINDOW = 2 ** 30;

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** HPACK: `:method: POST` and `:scheme: http` are in the static table. */
const METHOD_AND_SCHEME = Buffer.from([0x83, 0x86]);
/** What the first request of a connection adds to the dynamic table, oldest first: :authority, content-type, te. */
const ADDED_ENTRIES = Buffer.from([0x80 | 64, 0x80 | 63, 0x80 | 62]);

interface Call {
  readonly resolve: (message: Buffer) => void;
  readonly reject: (error: Error) => void;
  parts: Buffer[];
}

/** A request that is not wholly sent: the connection or its stream had no room for more. */
interface Outgoing {
  readonly stream: number;
  readonly data: Buffer;
  at: number;
  window: number;
}

export class GrpcConnection {
  readonly #socket: Socket;
  readonly #address: string;
  readonly #calls = new Map<number, Call>();
  readonly #waiting = new Map<number, Outgoing>();
  #nextStream = 1;
  #window = DEFAULT_WINDOW;
  /** What the server takes of a new stream. */
  #streamWindow = DEFAULT_WINDOW;
  #unacknowledged = 0;
  #received: Buffer = Buffer.alloc(0);
  #outgoing: Buffer[] = [];
  #failure: Error | undefined;

  static async open(address: string): Promise<GrpcConnection> {
    const [host, port] = address.split(':');
    const socket = connect({ host: host!, port: Number(port), noDelay: true });
    await once(socket, 'connect');
    return new GrpcConnection(socket, address);
  }

  private constructor(socket: Socket, address: string) {
    this.#socket = socket;
    this.#address = address;
    socket.on('data', (data: Buffer) => this.#onData(data));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error(`${address} closed the connection`)));
    const settings = Buffer.alloc(6);
    settings.writeUInt16BE(SETTING_INITIAL_WINDOW, 0);
    settings.writeUInt32BE(OUR_WINDOW, 2);
    this.#send(PREFACE);
    this.#send(frame(SETTINGS, 0, 0, settings));
    this.#send(windowUpdate(OUR_WINDOW));
  }

  call(path: Buffer, message: Buffer): Promise<Buffer> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      const stream = this.#nextStream;
      this.#nextStream += 2;
      this.#calls.set(stream, { resolve, reject, parts: [] });
      this.#send(frame(HEADERS, END_HEADERS, stream, this.#headers(stream, path)));
      const data = Buffer.allocUnsafe(GRPC_PREFIX + message.length);
      data[0] = 0;
      data.writeUInt32BE(message.length, 1);
      message.copy(data, GRPC_PREFIX);
      this.#waiting.set(stream, { stream, data, at: 0, window: this.#streamWindow });
      this.#sendWaiting();
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #headers(stream: number, path: Buffer): Buffer {
    const literalPath = Buffer.concat([Buffer.from([0x04, path.length]), path]);
    if (stream > 1) return Buffer.concat([METHOD_AND_SCHEME, literalPath, ADDED_ENTRIES]);
    return Buffer.concat([
      METHOD_AND_SCHEME,
      literalPath,
      Buffer.from([0x41, this.#address.length]),
      Buffer.from(this.#address),
      Buffer.from([0x5f, 16]),
      Buffer.from('application/grpc'),
      Buffer.from([0x40, 2]),
      Buffer.from('te'),
      Buffer.from([8]),
      Buffer.from('trailers'),
    ]);
  }

  #sendWaiting(): void {
    for (const request of this.#waiting.values()) {
      if (this.#window === 0) return;
      this.#sendSome(request);
    }
  }

  /** As many frames as the windows of the connection and of the stream allow. */
  #sendSome(request: Outgoing): void {
    const { stream, data } = request;
    while (request.at < data.length) {
      const size = Math.min(data.length - request.at, LARGEST_FRAME, this.#window, request.window);
      if (size <= 0) return;
      const end = request.at + size;
      const flags = end === data.length ? END_STREAM : 0;
      this.#send(frame(DATA, flags, stream, data.subarray(request.at, end)));
      request.at = end;
      request.window -= size;
      this.#window -= size;
    }
    this.#waiting.delete(stream);
  }

  /** What is sent in one turn goes out in one write. */
  #send(bytes: Buffer): void {
    this.#outgoing.push(bytes);
    if (this.#outgoing.length > 1) return;
    process.nextTick(() => {
      const all = this.#outgoing;
      this.#outgoing = [];
      if (!this.#socket.destroyed) this.#socket.write(Buffer.concat(all));
    });
  }

  #onData(data: Buffer): void {
    let bytes = this.#received.length === 0 ? data : Buffer.concat([this.#received, data]);
    while (bytes.length >= FRAME_HEADER) {
      const end = FRAME_HEADER + bytes.readUIntBE(0, 3);
      if (bytes.length < end) break;
      this.#onFrame(bytes[3]!, bytes[4]!, bytes.readUInt32BE(5), bytes.subarray(FRAME_HEADER, end));
      bytes = bytes.subarray(end);
    }
    this.#received = bytes;
  }

  #onFrame(type: number, flags: number, stream: number, payload: Buffer): void {
    if (type === DATA) {
      this.#acknowledge(payload.length);
      if (flags & PADDED) this.#fail(new Error(`${this.#address} pads its answers`));
      this.#calls.get(stream)?.parts.push(payload);
    }
    if ((type === DATA || type === HEADERS) && flags & END_STREAM) this.#onEnd(stream);
    if (type === RST_STREAM) this.#onEnd(stream);
    if (type === SETTINGS && !(flags & ACK)) this.#onSettings(payload);
    if (type === PING && !(flags & ACK)) this.#send(frame(PING, ACK, 0, Buffer.from(payload)));
    if (type === GOAWAY)
      this.#fail(new Error(`${this.#address} said go away: ${payload.toString('utf8', 8)}`));
    if (type === WINDOW_UPDATE) this.#onWindow(stream, payload.readUInt32BE(0));
  }

  #onSettings(payload: Buffer): void {
    for (let at = 0; at + 6 <= payload.length; at += 6) {
      if (payload.readUInt16BE(at) !== SETTING_INITIAL_WINDOW) continue;
      const before = this.#streamWindow;
      this.#streamWindow = payload.readUInt32BE(at + 2);
      for (const request of this.#waiting.values()) request.window += this.#streamWindow - before;
    }
    this.#send(frame(SETTINGS, ACK, 0, Buffer.alloc(0)));
    this.#sendWaiting();
  }

  #onWindow(stream: number, increment: number): void {
    const request = this.#waiting.get(stream);
    if (stream === 0) this.#window += increment;
    else if (request !== undefined) request.window += increment;
    this.#sendWaiting();
  }

  #onEnd(stream: number): void {
    const call = this.#calls.get(stream);
    if (call === undefined) return;
    this.#calls.delete(stream);
    this.#waiting.delete(stream);
    const answer = call.parts.length === 1 ? call.parts[0]! : Buffer.concat(call.parts);
    if (answer.length < GRPC_PREFIX) call.reject(new Error(`${this.#address} refused a call`));
    else call.resolve(answer.subarray(GRPC_PREFIX));
  }

  /** Gives the server its window back, in large steps. */
  #acknowledge(bytes: number): void {
    this.#unacknowledged += bytes;
    if (this.#unacknowledged < OUR_WINDOW / 4) return;
    this.#send(windowUpdate(this.#unacknowledged));
    this.#unacknowledged = 0;
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    for (const call of this.#calls.values()) call.reject(error);
    this.#calls.clear();
    this.#socket.destroy();
  }
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(FRAME_HEADER + payload.length);
  writeFrameHeader(bytes, type, flags, stream, payload.length);
  payload.copy(bytes, FRAME_HEADER);
  return bytes;
}

function writeFrameHeader(bytes: Buffer, type: number, flags: number, stream: number, length: number): void {
  bytes.writeUIntBE(length, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(stream, 5);
}

function windowUpdate(increment: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(increment, 0);
  return frame(WINDOW_UPDATE, 0, 0, payload);
}
