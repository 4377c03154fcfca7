/** The body of a request, of a bounded size. */
import type { IncomingMessage } from 'node:http';
import { HttpError } from './errors.ts';

/** Throws BODY_TOO_LARGE or BODY_NOT_JSON. An empty body is an empty object. */
export async function readJson(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  refuseTooLong(request, maxBytes);
  const type = request.headers['content-type'] ?? '';
  if (!/^application\/json(?:;|$)/i.test(type.trim()))
    throw new HttpError(415, 'BODY_NOT_JSON', 'The body must be JSON, with content-type application/json.');
  const text = (await readBytes(request, maxBytes)).toString();
  if (text === '') return {};
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new HttpError(400, 'BODY_NOT_JSON', 'The body is not JSON.');
  }
}

/** Throws BODY_TOO_LARGE, as soon as that is known, or BAD_REQUEST if the rest does not come. */
export function readBytes(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  refuseTooLong(request, maxBytes);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const end = (): void => {
      request.off('data', onData).off('end', onEnd).off('close', onCut).off('error', onCut);
    };
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes <= maxBytes) {
        chunks.push(chunk);
        return;
      }
      end();
      request.pause();
      reject(tooLarge(maxBytes));
    };
    const onEnd = (): void => {
      end();
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
    };
    const onCut = (): void => {
      end();
      reject(new HttpError(400, 'BAD_REQUEST', 'The body did not come whole.'));
    };
    if (request.destroyed) {
      onCut();
      return;
    }
    request.on('data', onData).on('end', onEnd).on('close', onCut).on('error', onCut);
  });
}

function refuseTooLong(request: IncomingMessage, maxBytes: number): void {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
}

function tooLarge(maxBytes: number): HttpError {
  return new HttpError(413, 'BODY_TOO_LARGE', `The body has more than ${maxBytes} bytes.`);
}
