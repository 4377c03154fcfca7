/**
 * As much of the syntax of TLA+ as it takes to keep tla-checker honest: the values it prints, configuration files, and
 * the names that a module uses. The checker drops a definition that it cannot read, takes a misspelt TRUE for a model
 * value, and notices an undefined name only when it comes to evaluate it, so all of these are refused here.
 */

export class TlaError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = 'TlaError';
    this.code = code;
  }
}

export interface Configuration {
  readonly name: string;
  readonly source: string;
  /** As JSON: a set is a sorted array. */
  readonly constants: ReadonlyMap<string, unknown>;
  readonly invariants: readonly string[];
}

export interface ModuleNames {
  readonly constants: readonly string[];
  readonly variables: readonly string[];
  readonly definitions: readonly string[];
}

/**
 * The canonical JSON text of a value as the checker prints it. Sets become arrays in the order of their elements'
 * texts, tuples arrays, records objects with sorted keys, other functions arrays of pairs.
 */
export function canonicalValue(text: string): string {
  const reader = new ValueReader(text);
  const value = reader.value();
  reader.end();
  return value;
}

class ValueReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): string {
    this.#space();
    if (this.#take('<<')) return `[${this.#list('>>').join(',')}]`;
    if (this.#take('{')) return `[${this.#list('}').sort().join(',')}]`;
    if (this.#take('[')) return `{${this.#pairs('|->', ',', ']', (name) => `"${name}":`).join(',')}}`;
    if (this.#take('(')) return `[${this.#pairs(':>', '@@', ')', (key) => `[${key},`, ']').join(',')}]`;
    return this.#atom();
  }

  end(): void {
    this.#space();
    if (this.#at !== this.#text.length) this.#fail('the end');
  }

  #list(close: string): string[] {
    const items: string[] = [];
    this.#space();
    if (this.#take(close)) return items;
    for (;;) {
      items.push(this.value());
      this.#space();
      if (this.#take(close)) return items;
      if (!this.#take(',')) this.#fail(`, or ${close}`);
    }
  }

  #pairs(arrow: string, comma: string, close: string, open: (key: string) => string, shut = ''): string[] {
    const items: string[] = [];
    for (;;) {
      this.#space();
      const key = arrow === '|->' ? this.#word() : this.value();
      this.#space();
      if (!this.#take(arrow)) this.#fail(arrow);
      items.push(open(key) + this.value() + shut);
      this.#space();
      if (this.#take(close)) return items.sort();
      if (!this.#take(comma)) this.#fail(`${comma} or ${close}`);
    }
  }

  #atom(): string {
    if (this.#take('"')) {
      const from = this.#at;
      this.#at = this.#text.indexOf('"', from) + 1;
      if (this.#at === 0) this.#fail('a closing quote');
      return JSON.stringify(this.#text.slice(from, this.#at - 1));
    }
    const word = this.#word();
    if (/^-?\d+$/.test(word)) return word;
    if (/^(?:true|false)$/i.test(word)) return word.toLowerCase();
    throw new TlaError('model-value', `${word} is neither a number nor a truth value`);
  }

  #word(): string {
    const from = this.#at;
    while (/[\w-]/.test(this.#text[this.#at] ?? '')) this.#at += 1;
    if (from === this.#at) this.#fail('a word');
    return this.#text.slice(from, this.#at);
  }

  #take(mark: string): boolean {
    if (!this.#text.startsWith(mark, this.#at)) return false;
    this.#at += mark.length;
    return true;
  }

  #space(): void {
    while (' \n\t\r'.includes(this.#text[this.#at] ?? 'x')) this.#at += 1;
  }

  #fail(expected: string): never {
    const found = this.#text.slice(this.#at, this.#at + 20);
    throw new TlaError('syntax', `expected ${expected} but found "${found}" in ${this.#text}`);
  }
}

/** Everything but INIT, NEXT, CONSTANTS and INVARIANTS is refused: the checker ignores it or gets it wrong. */
export function parseConfiguration(name: string, source: string): Configuration {
  const constants = new Map<string, unknown>();
  const invariants: string[] = [];
  const sections = withoutComments(source).split(/^(?=[A-Z_]+\b)/m);
  for (const section of sections.filter((text) => text.trim() !== '')) {
    const [, keyword = '', rest = ''] = /^([A-Z_]+)\b([\s\S]*)$/.exec(section) ?? [];
    if (/^CONSTANTS?$/.test(keyword)) readConstants(name, rest, constants);
    else if (/^INVARIANTS?$/.test(keyword)) invariants.push(...rest.trim().split(/\s+/));
    else if (!/^(?:INIT|NEXT)$/.test(keyword)) {
      throw new TlaError('directive', `${name}: ${keyword || section.trim()} is not to be used`);
    }
  }
  if (invariants.length === 0) throw new TlaError('no-invariant', `${name}: nothing is checked`);
  return { name, source, constants, invariants };
}

function readConstants(configuration: string, text: string, into: Map<string, unknown>): void {
  for (const line of text.split('\n').filter((each) => each.trim() !== '')) {
    const [, name, value] = /^\s*(\w+)\s*=\s*(.+)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) {
      throw new TlaError('constant', `${configuration}: "${line.trim()}" is not name = value`);
    }
    if (into.has(name)) throw new TlaError('constant', `${configuration}: ${name} is given twice`);
    into.set(name, JSON.parse(canonicalValue(value.trim())));
  }
}

const KNOWN = new Set(
  `MODULE EXTENDS CONSTANT CONSTANTS VARIABLE VARIABLES ASSUME LET IN IF THEN ELSE CASE OTHER CHOOSE SUBSET UNION
  DOMAIN EXCEPT UNCHANGED TRUE FALSE BOOLEAN Naturals Sequences FiniteSets Cardinality Append Head Tail Len SubSeq
  Seq`.split(/\s+/),
);

/** The names that a module declares and defines; an error if it uses one that nobody defines, or defines one twice. */
export function namesOf(source: string): ModuleNames {
  const code = withoutComments(source).replace(/"[^"]*"/g, '""');
  const body = code.slice(code.indexOf('\n', code.indexOf('MODULE')));
  const constants = declared(body, /^CONSTANTS?\b([\s\S]*?)(?=^[A-Z]|\n\s*\n)/gm);
  const variables = declared(body, /^VARIABLES?\b([\s\S]*?)(?=^[A-Z]|\n\s*\n)/gm);
  const heads = [...body.matchAll(/^(\w+)(?:\(([^)]*)\))?\s*==/gm)];
  const definitions = heads.map(([, name]) => name!);
  const twice = definitions.find((name, index) => definitions.indexOf(name) !== index);
  if (twice !== undefined) throw new TlaError('defined-twice', `${twice} is defined twice`);
  const bound = [
    ...heads.flatMap(([, , parameters]) => (parameters ?? '').split(',').map((each) => each.trim())),
    ...[...body.matchAll(/(\w+)[ \t]*==(?!=)/g)].map(([, name]) => name!),
    ...[...body.matchAll(/(?:\\[EA]|[{[:,]|CHOOSE)\s*(\w+)(?=\s*(?:\\in\b|,))/g)].map(([, name]) => name!),
  ];
  const known = new Set([...KNOWN, ...constants, ...variables, ...definitions, ...bound]);
  for (const [, name] of body.matchAll(/(?<![\\.\w\]])([A-Za-z_]\w*)(?!\w*\s*\|->)/g)) {
    if (!known.has(name!)) throw new TlaError('undefined', `${name!} is used but nowhere defined`);
  }
  return { constants, variables, definitions };
}

function declared(body: string, pattern: RegExp): string[] {
  return [...body.matchAll(pattern)].flatMap(([, names]) => names!.split(',').map((name) => name.trim()));
}

export function withoutComments(source: string): string {
  return source.replace(/\(\*[\s\S]*?\*\)/g, ' ').replace(/\\\*.*$/gm, '');
}
