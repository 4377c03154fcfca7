/**
 * One node's events, for as long as the page is open. A broken stream is opened again, soon at first and then less often. It
 * is read with `fetch`, because an EventSource cannot send a token.
 */
import { EVENT_TYPES, type ServerEvent } from '../api.ts';
import { EventParser } from '../state/sse.ts';
import { ApiError, authorization, errorOf, reach } from './http.ts';

export interface StreamUser {
  readonly url: string;
  readonly token: () => string | undefined;
  readonly onEvent: (event: ServerEvent) => void;
  /** It is broken, or could not be opened. */
  readonly onLost: (error: ApiError) => void;
}

const OPENING_MS = 4000;
const FIRST_WAIT_MS = 400;
const LONGEST_WAIT_MS = 4000;

export class NodeStream {
  readonly #user: StreamUser;
  #abort = new AbortController();
  #wait = FIRST_WAIT_MS;
  #isClosed = false;

  constructor(user: StreamUser) {
    this.#user = user;
    void this.#run();
  }

  /** It is open but says nothing: give it up and try again. */
  renew(): void {
    this.#abort.abort();
  }

  close(): void {
    this.#isClosed = true;
    this.#abort.abort();
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      this.#abort = new AbortController();
      const error = await this.#once().catch((reason: unknown) =>
        reason instanceof ApiError ? reason : new ApiError(0, 'STREAM_BROKEN', 'The connection broke.'),
      );
      if (this.#isClosed) return;
      this.#user.onLost(error);
      if (error.status === 401) return;
      await new Promise((resolve) => setTimeout(resolve, this.#wait * (0.75 + Math.random() / 2)));
      this.#wait = Math.min(LONGEST_WAIT_MS, this.#wait * 1.6);
    }
  }

  /** Up to its end; what it returns is why it ended. */
  async #once(): Promise<ApiError> {
    const { url, token } = this.#user;
    const abort = this.#abort;
    const late = setTimeout(() => abort.abort(), OPENING_MS);
    const answer = await reach(`${url}/v1/events`, {
      headers: { ...authorization(token()), accept: 'text/event-stream' },
      signal: abort.signal,
    }).finally(() => clearTimeout(late));
    if (!answer.ok || answer.body === null) return errorOf(answer);
    this.#wait = FIRST_WAIT_MS;
    const parser = new EventParser();
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return new ApiError(0, 'STREAM_ENDED', 'The node closed the connection.');
      for (const { type, data } of parser.push(value)) this.#tell(type, data);
    }
  }

  #tell(type: string, data: string): void {
    if (!(EVENT_TYPES as readonly string[]).includes(type)) return;
    this.#user.onEvent({ ...(JSON.parse(data) as object), type } as ServerEvent);
  }
}
