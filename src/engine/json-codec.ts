/** The core's JSON codec on Node. Text that is not UTF-8 is refused: its bytes would be stored and could never be read. */
import { Buffer, isUtf8 } from 'node:buffer';
import type { JsonCodec } from './core/index.ts';

export const nodeJson: JsonCodec = {
  parse: (bytes) => {
    if (!isUtf8(bytes)) throw new SyntaxError('The text is not UTF-8.');
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
  },
  format: (value) => Buffer.from(JSON.stringify(value)),
  utf8: (text) => Buffer.from(text),
};
