/** Reads server-sent events as they come. */
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';

export interface ReadEvent {
  readonly name: string;
  readonly data: Record<string, unknown>;
}

export class EventReader {
  readonly status: number;
  readonly events: ReadEvent[] = [];
  hasEnded = false;
  readonly #request: ClientRequest;
  #text = '';
  #heard = (): void => {};

  private constructor(asking: ClientRequest, answer: IncomingMessage) {
    this.#request = asking;
    this.status = answer.statusCode!;
    answer.setEncoding('utf8');
    answer.on('data', (text: string) => this.#take(text));
    answer.on('error', () => {});
    answer.on('close', () => {
      this.hasEnded = true;
      this.#heard();
    });
  }

  static async open(url: string, token?: string): Promise<EventReader> {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const asking = request(url, { agent: false, headers }).end();
    const [answer] = (await once(asking, 'response')) as [IncomingMessage];
    asking.on('error', () => {});
    return new EventReader(asking, answer);
  }

  /** The first of those that came, or that come, of which that is true. */
  async find(is: (event: ReadEvent) => boolean): Promise<ReadEvent> {
    for (;;) {
      const found = this.events.find(is);
      if (found !== undefined) return found;
      if (this.hasEnded) throw new Error('the stream has ended');
      await new Promise<void>((resolve) => (this.#heard = resolve));
    }
  }

  named(name: string): Promise<ReadEvent> {
    return this.find((event) => event.name === name);
  }

  async ended(): Promise<void> {
    while (!this.hasEnded) await new Promise<void>((resolve) => (this.#heard = resolve));
  }

  close(): void {
    this.#request.destroy();
  }

  #take(text: string): void {
    this.#text += text;
    const blocks = this.#text.split('\n\n');
    this.#text = blocks.pop()!;
    for (const block of blocks) {
      const [, name, json] = /^event: (\w+)\ndata: (.*)$/.exec(block) ?? [];
      if (name !== undefined) this.events.push({ name, data: JSON.parse(json!) as Record<string, unknown> });
    }
    this.#heard();
  }
}
