/**
 * Keys as names of things in stores that are particular about names. Letters, digits, `-` and `_` stand for themselves; every
 * other byte of the key's UTF-8 is `=` and two digits, as in quoted-printable mail: `register=2Forders`. A name that would be
 * too long that way is `==` and the key in base64url instead, which always fits where 1,000 characters do.
 */
export function nameOf(key: string, longest: number): string {
  const name = spelled(key);
  return name.length <= longest ? name : encoded(key);
}

/** Undefined for a name that `nameOf` does not give: somebody else's. */
export function keyOfName(name: string): string | undefined {
  const isEncoded = name.startsWith('==');
  const key = isEncoded ? decodedKey(name) : spelledKey(name);
  return name === (isEncoded ? encoded(key) : spelled(key)) ? key : undefined;
}

function spelled(key: string): string {
  let name = '';
  for (const byte of Buffer.from(key, 'utf8')) {
    const character = String.fromCharCode(byte);
    name += /[A-Za-z0-9_-]/.test(character) ? character : `=${hex(byte)}`;
  }
  return name;
}

function spelledKey(name: string): string {
  const bytes = name.replace(/=([0-9A-F]{2})/g, (_, digits: string) =>
    String.fromCharCode(parseInt(digits, 16)),
  );
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

function encoded(key: string): string {
  return `==${Buffer.from(key, 'utf8').toString('base64url')}`;
}

function decodedKey(name: string): string {
  return Buffer.from(name.slice(2), 'base64url').toString('utf8');
}

function hex(byte: number): string {
  return byte.toString(16).toUpperCase().padStart(2, '0');
}
