/**
 * YAML into plain values, and where each of them stands. The text may come from anybody, so every cost has a bound before it
 * is paid: bytes, tokens, the length of one value, depth (a document that is deep enough ends the process, so depth is
 * counted while tokens come in, before anything recurses), and the number of values after aliases are followed.
 */
import {
  Composer,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  Parser,
  type YAMLError,
  type YAMLMap,
} from 'yaml';
import { fieldPath, type Position, type Problem, quoted } from './problems.ts';

export const MAX_FILE_BYTES = 1024 * 1024;
const MAX_TOKENS = 200_000;
const MAX_VALUE_LENGTH = 64 * 1024;
const MAX_DEPTH = 100;
const MAX_VALUES = 50_000;

export type Plain = string | number | boolean | null | readonly Plain[] | PlainMap;
export interface PlainMap {
  readonly [key: string]: Plain;
}

export interface ReadYaml {
  readonly value: Plain;
  /** There is no telling what was meant: the value is not worth looking at. */
  readonly broken: boolean;
  readonly problems: readonly Problem[];
  /** Of the value at these steps, or of what comes nearest above it. */
  readonly positionOf: (steps: readonly PropertyKey[]) => Position;
  /** Of the key of that value. */
  readonly keyPositionOf: (steps: readonly PropertyKey[]) => Position;
}

const START: Position = { line: 1, column: 1 };

export function readYaml(text: string): ReadYaml {
  const lines = new LineCounter();
  const at = (offset: number): Position => {
    const { line, col } = lines.linePos(Math.max(0, Math.min(offset, text.length)));
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const composed = compose(text, lines);
  if ('sentence' in composed)
    return nothing([{ ...at(composed.offset), field: '', sentence: composed.sentence }]);
  const [document, second] = composed.documents;
  if (document?.contents === undefined || document.contents === null)
    return nothing(
      [...syntaxProblems(document, at), { ...START, field: '', sentence: 'The file is empty.' }].slice(0, 1),
    );
  const reader = new Reader(document, at);
  const value = reader.read(document.contents, []);
  const syntax = syntaxProblems(document, at);
  if (second !== undefined) {
    const sentence = 'A second document begins here; a file has one.';
    syntax.push({ ...at(second.range[0]), field: '', sentence });
  }
  return {
    value,
    broken: syntax.length > 0,
    problems: [...syntax, ...reader.problems],
    positionOf: (steps) => nearest(reader.values, steps),
    keyPositionOf: (steps) => reader.keys.get(keyOf(steps)) ?? nearest(reader.values, steps),
  };
}

function nothing(problems: readonly Problem[]): ReadYaml {
  return { value: null, broken: true, problems, positionOf: () => START, keyPositionOf: () => START };
}

type Composed =
  | { readonly documents: readonly Document.Parsed[] }
  | { readonly offset: number; readonly sentence: string };

function compose(text: string, lines: LineCounter): Composed {
  const parser = new Parser(lines.addNewLine);
  const tokens = [];
  let count = 0;
  lines.addNewLine(0);
  for (const lexeme of new Lexer().lex(text)) {
    count += 1;
    tokens.push(...parser.next(lexeme));
    const { offset } = parser;
    if (parser.stack.length > MAX_DEPTH) return { offset, sentence: 'Values are nested too deep here.' };
    if (count > MAX_TOKENS) return { offset, sentence: 'The file has too many parts.' };
    if (lexeme.length > MAX_VALUE_LENGTH)
      return { offset: offset - lexeme.length, sentence: 'A value is longer than 65536 characters.' };
  }
  tokens.push(...parser.end());
  const composer = new Composer({ uniqueKeys: false, prettyErrors: false, lineCounter: lines });
  return { documents: [...composer.compose(tokens, true, text.length)] };
}

/** The library's own sentences may quote the file, and with it a token: only those that cannot are passed on. */
const SENTENCES: Readonly<Record<string, string>> = {
  ALIAS_PROPS: 'An alias has an anchor or a tag of its own.',
  BAD_ALIAS: 'An alias names an anchor that is not there.',
  BAD_DIRECTIVE: 'A directive is not known.',
  BAD_DQ_ESCAPE: 'An escape in a quoted text is not known.',
  BAD_INDENT: 'The indentation does not fit what stands above, or a bracket or brace is not closed.',
  BAD_SCALAR_START: 'A text that begins like this needs quotation marks.',
  BLOCK_IN_FLOW: 'A block cannot stand inside brackets or braces.',
  BLOCK_AS_IMPLICIT_KEY: 'A mapping cannot begin on the line of another key; put it on a line of its own.',
  KEY_OVER_1024_CHARS: 'The name of a field is too long.',
  MISSING_CHAR: 'A closing quotation mark, bracket or brace, a comma or a colon is missing.',
  MULTILINE_IMPLICIT_KEY: 'The name of a field goes over several lines; a colon may be missing.',
  TAB_AS_INDENT: 'A tab is used for indentation; use spaces.',
  TAG_RESOLVE_FAILED: 'A tag is not known.',
  UNEXPECTED_TOKEN: 'This does not belong here.',
};

function syntaxProblems(
  document: { readonly errors: readonly YAMLError[]; readonly warnings: readonly YAMLError[] } | undefined,
  at: (offset: number) => Position,
): Problem[] {
  const errors = [...(document?.errors ?? []), ...(document?.warnings ?? [])];
  return errors.slice(0, 1000).map(({ code, pos }) => ({
    ...at(pos[0]),
    field: '',
    sentence: `This is not YAML: ${SENTENCES[code] ?? 'the structure is broken here.'}`,
  }));
}

function keyOf(steps: readonly PropertyKey[]): string {
  return JSON.stringify(steps);
}

function nearest(positions: ReadonlyMap<string, Position>, steps: readonly PropertyKey[]): Position {
  for (let length = steps.length; length >= 0; length -= 1) {
    const position = positions.get(keyOf(steps.slice(0, length)));
    if (position !== undefined) return position;
  }
  return START;
}

/** Follows the nodes of one document. */
class Reader {
  readonly problems: Problem[] = [];
  readonly values = new Map<string, Position>();
  readonly keys = new Map<string, Position>();
  readonly #document: Document.Parsed;
  readonly #at: (offset: number) => Position;
  readonly #open = new Set<Node>();
  #count = 0;

  constructor(document: Document.Parsed, at: (offset: number) => Position) {
    this.#document = document;
    this.#at = at;
  }

  read(node: unknown, steps: readonly PropertyKey[], alias?: Position): Plain {
    if (node === null || node === undefined) return null;
    const position = alias ?? this.#positionOf(node as Node);
    this.values.set(keyOf(steps), position);
    this.#count += 1;
    if (this.#count === MAX_VALUES + 1)
      this.#complain(position, [], 'Aliases and lists make too many values.');
    if (this.#count > MAX_VALUES) return null;
    if (steps.length > MAX_DEPTH) {
      this.#complain(position, [], 'Values are nested too deep here.');
      return null;
    }
    if (isScalar(node)) return plainScalar(node.value);
    if (isAlias(node)) return this.#follow(node.resolve(this.#document), steps, position);
    if (isSeq(node)) return node.items.map((item, index) => this.read(item, [...steps, index], alias));
    return isMap(node) ? this.#readMap(node, steps, alias) : null;
  }

  #follow(target: Node | undefined, steps: readonly PropertyKey[], position: Position): Plain {
    if (target === undefined) {
      this.#complain(position, steps, 'An alias names an anchor that is not there.');
      return null;
    }
    if (this.#open.has(target)) {
      this.#complain(position, steps, 'An alias leads back to itself.');
      return null;
    }
    this.#open.add(target);
    const value = this.read(target, steps, position);
    this.#open.delete(target);
    return value;
  }

  #readMap(map: YAMLMap, steps: readonly PropertyKey[], alias: Position | undefined): Plain {
    const fields = Object.create(null) as Record<string, Plain>;
    for (const { key, value } of map.items) {
      const position = alias ?? this.#positionOf(key as Node | null);
      const name = isScalar(key) ? plainScalar(key.value) : null;
      if (name === null || typeof name === 'object') {
        this.#complain(position, steps, 'The name of a field must be a word.');
        continue;
      }
      const path = [...steps, String(name)];
      const first = this.keys.get(keyOf(path));
      if (first !== undefined) this.#complain(position, path, `This field is already on line ${first.line}.`);
      else {
        this.keys.set(keyOf(path), position);
        this.values.set(keyOf(path), position);
        fields[String(name)] = this.read(value, path, alias);
      }
    }
    return fields;
  }

  #positionOf(node: Node | null): Position {
    return this.#at(node?.range?.[0] ?? 0);
  }

  #complain(position: Position, steps: readonly PropertyKey[], sentence: string): void {
    if (this.problems.length < 1000) this.problems.push({ ...position, field: fieldPath(steps), sentence });
  }
}

function plainScalar(value: unknown): Plain {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  return value === null || value === undefined ? null : quoted(value);
}
