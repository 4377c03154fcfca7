/**
 * Whether JSON text names a property of one object twice. Parsers disagree on what that means: most keep the last, some the first, and
 * bodies are stored as they were sent, so a document would be another one for another reader; its id too. A parser tells nobody of it.
 * So names are counted: the text has a colon behind each, and what was parsed lacks those that were dropped.
 */
import type { JsonBytes } from '../model.ts';
import type { JsonObject } from './json-value.ts';

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
/** Strings up to that length are walked; to search in longer ones is faster. */
const NEAR = 24;

export const NAMED_TWICE = 'An object in the body names a property twice.';

/** `value` is what a parser made of the text. However deep it is nested, this is not. */
export function hasDuplicateNames(text: JsonBytes, value: unknown): boolean {
  return namesIn(text) !== namesOf(value);
}

function namesIn(text: JsonBytes): number {
  let names = 0;
  for (let at = 0; at < text.length;) {
    const byte = text[at];
    at += 1;
    if (byte === COLON) names += 1;
    else if (byte === QUOTE) at = afterString(text, at);
  }
  return names;
}

/** Where the string ends whose first character stands there. */
function afterString(text: JsonBytes, start: number): number {
  let at = start;
  for (; at < start + NEAR; at += 1) {
    const byte = text[at];
    if (byte === QUOTE) return at + 1;
    if (byte === BACKSLASH) at += 1;
  }
  for (;;) {
    const quote = text.indexOf(QUOTE, at);
    if (quote === -1) return text.length;
    let escapes = quote;
    while (escapes > at && text[escapes - 1] === BACKSLASH) escapes -= 1;
    at = quote + 1;
    if ((quote - escapes) % 2 === 0) return at;
  }
}

function namesOf(value: unknown): number {
  let names = 0;
  const waiting: object[] = [];
  const note = (member: unknown): void => {
    if (typeof member === 'object' && member !== null) waiting.push(member);
  };
  note(value);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (Array.isArray(next)) {
      for (const element of next) note(element);
      continue;
    }
    for (const name in next) {
      names += 1;
      note((next as JsonObject)[name]);
    }
  }
  return names;
}
