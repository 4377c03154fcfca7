/** Acceptor services inside the test's process. A restart keeps the data and the port. */
import { AcceptorServer, type AcceptorServerOptions, DiskAcceptor } from 'baton/caspaxos';
import { onTestFinished } from 'vitest';
import { temporaryDirectory } from './directories.ts';

const JOURNAL_BYTES = 1024 * 1024;

type Options = Partial<AcceptorServerOptions> & { readonly lives?: boolean };

export class TestService {
  readonly directory: string;
  readonly #options: Options;
  #disk: DiskAcceptor | undefined;
  #server: AcceptorServer | undefined;
  #port = 0;

  private constructor(directory: string, options: Options) {
    this.directory = directory;
    this.#options = options;
  }

  static async start(options: Options = {}, directory = temporaryDirectory()): Promise<TestService> {
    const service = new TestService(directory, options);
    await service.start();
    onTestFinished(() => service.stop());
    return service;
  }

  static startThree(options: Options = {}): Promise<TestService[]> {
    return Promise.all([0, 1, 2].map(() => TestService.start(options)));
  }

  get disk(): DiskAcceptor {
    if (this.#disk === undefined) throw new Error('the service is stopped');
    return this.#disk;
  }

  get server(): AcceptorServer {
    if (this.#server === undefined) throw new Error('the service is stopped');
    return this.#server;
  }

  get url(): string {
    return this.server.url;
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  async start(): Promise<void> {
    const { host = '127.0.0.1', lives = false, ...options } = this.#options;
    const { directory } = this;
    this.#disk = await DiskAcceptor.open({ directory, journalBytes: JOURNAL_BYTES, lives });
    this.#server = await AcceptorServer.listen(this.#disk, { ...options, host, port: this.#port });
    this.#port = this.port;
  }

  async stop(): Promise<void> {
    await this.#server?.close();
    await this.#disk?.close();
    this.#server = undefined;
    this.#disk = undefined;
  }
}
