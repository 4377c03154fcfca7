/** The words of a condition. One pass over the text, and nothing in it is looked at twice. */

export interface Token {
  readonly kind: 'name' | 'text' | 'number' | 'symbol' | 'end';
  /** As it is written; of a text what it means. */
  readonly text: string;
  /** Where it begins, counted from 1. */
  readonly at: number;
}

export class ConditionProblem extends Error {
  constructor(at: number, what: string) {
    super(`The condition cannot be read at character ${at}: ${what}.`);
  }
}

const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const NUMBER = /(?:[0-9]+\.?|\.[0-9])[0-9]*(?:[eE][+-]?[0-9]+)?/y;
const SYMBOLS: ReadonlySet<string> = new Set('( ) [ ] . , = < > + - * / % != <> <= >='.split(' '));
const BLANKS = ' \t\r\n';

/** Throws ConditionProblem. The last token is always the end. */
export function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  let from = 0;
  for (;;) {
    while (from < text.length && BLANKS.includes(text[from]!)) from += 1;
    const at = from + 1;
    if (from >= text.length) return [...tokens, { kind: 'end', text: 'the end', at }];
    const quote = text[from]!;
    if (quote === "'" || quote === '"') {
      const end = endOfText(text, from);
      tokens.push({ kind: 'text', text: unescaped(text.slice(from + 1, end), at + 1), at });
      from = end + 1;
      continue;
    }
    const token = wordAt(text, from);
    tokens.push({ ...token, at });
    from += token.text.length;
  }
}

function wordAt(text: string, from: number): Pick<Token, 'kind' | 'text'> {
  const number = matchAt(NUMBER, text, from);
  if (number !== undefined) return { kind: 'number', text: number };
  const name = matchAt(NAME, text, from);
  if (name !== undefined) return { kind: 'name', text: name };
  const pair = text.slice(from, from + 2);
  if (pair.length === 2 && SYMBOLS.has(pair)) return { kind: 'symbol', text: pair };
  const one = text[from]!;
  if (SYMBOLS.has(one)) return { kind: 'symbol', text: one };
  throw new ConditionProblem(from + 1, `${JSON.stringify(one)} has no meaning there`);
}

function matchAt(pattern: RegExp, text: string, from: number): string | undefined {
  pattern.lastIndex = from;
  return pattern.exec(text)?.[0];
}

/** Where the quotation mark is that ends what begins there. */
function endOfText(text: string, from: number): number {
  const quote = text[from];
  for (let at = from + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === quote) return at;
  }
  throw new ConditionProblem(from + 1, 'the text that begins there does not end');
}

const ESCAPES: Readonly<Record<string, string>> = {
  "'": "'",
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

function unescaped(text: string, at: number): string {
  if (!text.includes('\\')) return text;
  let result = '';
  for (let index = 0; index < text.length; index += 1) {
    if (text[index] !== '\\') {
      result += text[index]!;
      continue;
    }
    const mark = text[index + 1] ?? '';
    const digits = text.slice(index + 2, index + 6);
    if (mark === 'u' && /^[0-9A-Fa-f]{4}$/.test(digits)) {
      result += String.fromCharCode(parseInt(digits, 16));
      index += 5;
    } else if (Object.hasOwn(ESCAPES, mark)) {
      result += ESCAPES[mark]!;
      index += 1;
    } else throw new ConditionProblem(at + index, 'there is no such escape');
  }
  return result;
}
