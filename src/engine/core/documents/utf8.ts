/** UTF-8 for a core that cannot see the host's encoder. A lone surrogate becomes U+FFFD, as everywhere. */

export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) continue;
    if (unit < 0x800) bytes += 1;
    else if (isPair(unit, text, at)) {
      bytes += 2;
      at++;
    } else bytes += 2;
  }
  return bytes;
}

/** Writes the text into the bytes from `at` on, and says where it ends. There must be room. */
export function writeUtf8(text: string, into: Uint8Array, at: number): number {
  let end = at;
  for (let index = 0; index < text.length; index++) {
    let code = text.charCodeAt(index);
    if (code < 0x80) {
      into[end++] = code;
      continue;
    }
    if (code < 0x800) {
      into[end++] = 0xc0 | (code >> 6);
      into[end++] = 0x80 | (code & 0x3f);
      continue;
    }
    if (isPair(code, text, index)) {
      code = 0x1_0000 + ((code - 0xd800) << 10) + (text.charCodeAt(++index) - 0xdc00);
      into[end++] = 0xf0 | (code >> 18);
      into[end++] = 0x80 | ((code >> 12) & 0x3f);
    } else {
      if (code >= 0xd800 && code < 0xe000) code = 0xfffd;
      into[end++] = 0xe0 | (code >> 12);
    }
    into[end++] = 0x80 | ((code >> 6) & 0x3f);
    into[end++] = 0x80 | (code & 0x3f);
  }
  return end;
}

function isPair(unit: number, text: string, at: number): boolean {
  if (unit < 0xd800 || unit >= 0xdc00) return false;
  const next = text.charCodeAt(at + 1);
  return next >= 0xdc00 && next < 0xe000;
}
