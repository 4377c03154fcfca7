/**
 * One connection in PostgreSQL's own protocol, for what the benchmark needs: prepared statements, pipelined, each executed
 * as a transaction of its own (a Sync follows every Execute). Trust is the only way to log in. Answers come in the order
 * of the requests; each ends with ReadyForQuery.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const PROTOCOL = 196_608;
const HEADER = 5;

const AUTHENTICATION = 'R'.charCodeAt(0);
const DATA_ROW = 'D'.charCodeAt(0);
const ERROR_RESPONSE = 'E'.charCodeAt(0);
const READY_FOR_QUERY = 'Z'.charCodeAt(0);

/** Execute the unnamed portal without a limit of rows, then Sync. */
const EXECUTE_AND_SYNC = Buffer.concat([message('E', cString(''), int32(0)), message('S')]);

interface Request {
  readonly resolve: (firstColumn: Buffer | undefined) => void;
  readonly reject: (error: Error) => void;
}

export class PostgresConnection {
  readonly #socket: Socket;
  readonly #address: string;
  readonly #requests: Request[] = [];
  #received: Buffer = Buffer.alloc(0);
  #outgoing: Buffer[] = [];
  #column: Buffer | undefined;
  #error: Error | undefined;
  #failure: Error | undefined;

  static async open(address: string): Promise<PostgresConnection> {
    const [host, port] = address.split(':');
    const socket = connect({ host: host!, port: Number(port), noDelay: true });
    await once(socket, 'connect');
    const connection = new PostgresConnection(socket, address);
    const content = Buffer.concat([int32(PROTOCOL), cString('user'), cString('postgres'), cString('')]);
    await connection.#request(Buffer.concat([int32(content.length + 4), content]));
    return connection;
  }

  private constructor(socket: Socket, address: string) {
    this.#socket = socket;
    this.#address = address;
    socket.on('data', (data: Buffer) => this.#onData(data));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error(`${address} closed the connection`)));
  }

  /** How many requests wait for their answer. */
  get pending(): number {
    return this.#requests.length;
  }

  /** Resolves to the first column of the last row, as text. */
  query(sql: string): Promise<Buffer | undefined> {
    return this.#request(message('Q', cString(sql)));
  }

  async prepare(name: string, sql: string): Promise<void> {
    await this.#request(Buffer.concat([message('P', cString(name), cString(sql), int16(0)), message('S')]));
  }

  execute(name: Buffer, parameters: readonly Buffer[]): Promise<Buffer | undefined> {
    return this.#request(bindAndExecute(name, parameters));
  }

  close(): void {
    this.#socket.destroy();
  }

  /** What is sent in one turn goes out in one write. */
  #request(bytes: Buffer): Promise<Buffer | undefined> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#requests.push({ resolve, reject });
      this.#outgoing.push(bytes);
      if (this.#outgoing.length === 1) process.nextTick(() => this.#flush());
    });
  }

  #flush(): void {
    const all = this.#outgoing;
    this.#outgoing = [];
    if (!this.#socket.destroyed) this.#socket.write(all.length === 1 ? all[0]! : Buffer.concat(all));
  }

  #onData(data: Buffer): void {
    let bytes = this.#received.length === 0 ? data : Buffer.concat([this.#received, data]);
    while (bytes.length >= HEADER) {
      const end = 1 + bytes.readUInt32BE(1);
      if (bytes.length < end) break;
      this.#onMessage(bytes[0]!, bytes.subarray(HEADER, end));
      bytes = bytes.subarray(end);
    }
    this.#received = bytes;
  }

  #onMessage(type: number, content: Buffer): void {
    if (type === DATA_ROW) this.#column = firstColumn(content);
    else if (type === ERROR_RESPONSE) this.#error ??= new Error(`PostgreSQL says: ${errorText(content)}`);
    else if (type === READY_FOR_QUERY) this.#onReady();
    else if (type === AUTHENTICATION && content.readUInt32BE(0) !== 0) {
      this.#fail(new Error(`${this.#address} wants a password`));
    }
  }

  #onReady(): void {
    const request = this.#requests.shift();
    const column = this.#column;
    const error = this.#error;
    this.#column = undefined;
    this.#error = undefined;
    if (error === undefined) request?.resolve(column);
    else request?.reject(error);
  }

  #fail(error: Error): void {
    this.#failure ??= this.#error ?? error;
    for (const request of this.#requests.splice(0)) request.reject(this.#failure);
    this.#socket.destroy();
  }
}

/** In one buffer: this is built for every operation. */
function bindAndExecute(name: Buffer, parameters: readonly Buffer[]): Buffer {
  let length = 4 + 1 + name.length + 1 + 2 + 2 + 2;
  for (const parameter of parameters) length += 4 + parameter.length;
  const bytes = Buffer.allocUnsafe(1 + length + EXECUTE_AND_SYNC.length);
  bytes[0] = 'B'.charCodeAt(0);
  let at = bytes.writeUInt32BE(length, 1);
  at = bytes.writeUInt8(0, at);
  at += name.copy(bytes, at);
  at = bytes.writeUInt8(0, at);
  at = bytes.writeUInt16BE(0, at);
  at = bytes.writeUInt16BE(parameters.length, at);
  for (const parameter of parameters) {
    at = bytes.writeUInt32BE(parameter.length, at);
    at += parameter.copy(bytes, at);
  }
  at = bytes.writeUInt16BE(0, at);
  EXECUTE_AND_SYNC.copy(bytes, at);
  return bytes;
}

/** The column is a copy-free view of what was received. */
function firstColumn(row: Buffer): Buffer | undefined {
  if (row.readUInt16BE(0) === 0) return undefined;
  const length = row.readInt32BE(2);
  return length < 0 ? undefined : row.subarray(6, 6 + length);
}

/** Fields of a letter and a text each; M is the sentence. */
function errorText(content: Buffer): string {
  const fields = content.toString().split('\0');
  return fields.find((text) => text.startsWith('M'))?.slice(1) ?? fields.join(' ');
}

function message(type: string, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(type), int32(content.length + 4), content]);
}

function cString(text: string): Buffer {
  return Buffer.from(`${text}\0`);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}
