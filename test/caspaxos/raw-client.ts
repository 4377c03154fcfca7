/** A client of the acceptor service that says whatever the test wants, in bytes. */
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { until } from '../support/until.ts';

const UPGRADE = 'GET /v1/stream HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: baton-acceptor/1\r\n';

export class RawClient {
  readonly socket: Socket;
  #received = Buffer.alloc(0);
  #isClosed = false;

  private constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    this.socket.on('data', (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk]);
    });
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => {
      this.#isClosed = true;
    });
    this.socket.on('end', () => {
      this.#isClosed = true;
    });
    onTestFinished(() => {
      this.socket.destroy();
    });
  }

  /** Connected, and nothing said yet. */
  static async connect(port: number): Promise<RawClient> {
    const client = new RawClient(port);
    await new Promise((resolve) => client.socket.once('connect', resolve));
    return client;
  }

  /** Upgraded to a stream, and greeted. */
  static async upgrade(port: number, headers = ''): Promise<RawClient> {
    const client = await RawClient.connect(port);
    client.socket.write(`${UPGRADE}${headers}\r\n`);
    await client.until((text) => text.includes('\r\n\r\n'));
    return client;
  }

  /** The other side has ended or cut the stream. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  get text(): string {
    return this.#received.toString('latin1');
  }

  async until(condition: (text: string) => boolean): Promise<void> {
    await until('the answer is there', () => {
      if (condition(this.text)) return true;
      throw new Error(`received ${JSON.stringify(this.text)}`);
    });
  }
}
