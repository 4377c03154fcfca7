/** The body of a request: JSON, of a bounded size. */
import type { IncomingMessage } from 'node:http';
import { HttpError } from './errors.ts';

/** Throws BODY_TOO_LARGE or BODY_NOT_JSON. An empty body is an empty object. */
export async function readJson(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  const tooLarge = new HttpError(413, 'BODY_TOO_LARGE', `The body has more than ${maxBytes} bytes.`);
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge;
  const type = request.headers['content-type'] ?? '';
  if (!/^application\/json(?:;|$)/i.test(type.trim()))
    throw new HttpError(415, 'BODY_NOT_JSON', 'The body must be JSON, with content-type application/json.');
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooLarge;
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof HttpError) throw error;
    throw new HttpError(400, 'BAD_REQUEST', 'The body did not come whole.');
  }
  const text = Buffer.concat(chunks).toString();
  if (text === '') return {};
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new HttpError(400, 'BODY_NOT_JSON', 'The body is not JSON.');
  }
}
