/** Documents by the text of their keys (`keyText`), and the order of those. */
import type { DocumentKey } from '../core/index.ts';

export const EPK_DIGITS = 32;

export function splitText(text: string): DocumentKey {
  return { epk: text.slice(0, EPK_DIGITS), id: text.slice(EPK_DIGITS) };
}

/** The order of UTF-8 bytes. It differs from that of JavaScript's strings where one side has a surrogate. */
export function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left !== right) return codePointRank(left) - codePointRank(right);
  }
  return a.length - b.length;
}

/** Surrogates stand for what lies behind all other code units. */
function codePointRank(unit: number): number {
  return (unit & 0xf800) === 0xd800 ? unit + 0x10000 : unit;
}
