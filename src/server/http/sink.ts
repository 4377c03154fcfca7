/** The far end of an answer that goes on. Whoever writes looks at `isFull` and leaves out what would have to wait. */
import type { ServerResponse } from 'node:http';

export interface HttpSink {
  /** More would only pile up in this process. */
  readonly isFull: boolean;
  write(text: string): void;
  /** Called once, when there is nobody any more who reads. */
  onClose(closed: () => void): void;
  end(): void;
}

export function sinkTo(response: ServerResponse): HttpSink {
  return {
    get isFull() {
      return response.writableNeedDrain || response.writableLength > response.writableHighWaterMark;
    },
    write: (text) => {
      if (!response.destroyed && !response.writableEnded) response.write(text);
    },
    onClose: (closed) => {
      if (response.destroyed) closed();
      else response.once('close', closed);
    },
    end: () => {
      response.end();
      // Whoever does not read does not let it end either.
      if (response.writableNeedDrain) response.destroy();
    },
  };
}
