/**
 * The condition of a patch: `FROM c WHERE c.stock > 0 AND NOT IS_DEFINED(c.closed)`. It is the WHERE of the query language, on
 * the one item that the patch is for. This file reads the text; `condition-values.ts` says whether it holds.
 *
 * The text may come from anybody, so its length and its nesting are bounded, and reading it takes time in proportion to it. Lists of
 * operands stay lists (`a AND b AND c` is one node with three), so that only nesting makes the tree deep.
 *
 *   or        and { OR and }
 *   and       not { AND not }
 *   not       [ NOT ] comparison
 *   compare   sum [ (= | != | <> | < | <= | > | >=) sum | [ NOT ] IN ( or, ... ) | [ NOT ] BETWEEN sum AND sum ]
 *   sum       product { (+ | -) product }
 *   product   unary { (* | / | %) unary }
 *   unary     [ + | - ] ( literal | path | function ( or, ... ) | ( or ) )
 */
import { ConditionProblem, type Token, tokensOf } from './condition-tokens.ts';

export type Comparison = '=' | '!=' | '<' | '<=' | '>' | '>=';
export type Arithmetic = '+' | '-' | '*' | '/' | '%';

export type Expression =
  | { readonly kind: 'literal'; readonly value: unknown }
  | { readonly kind: 'path'; readonly names: readonly (string | number)[] }
  | { readonly kind: 'and' | 'or'; readonly operands: readonly Expression[] }
  | { readonly kind: 'not' | 'minus' | 'plus'; readonly operand: Expression }
  | {
      readonly kind: 'compare';
      readonly operator: Comparison;
      readonly left: Expression;
      readonly right: Expression;
    }
  | { readonly kind: 'in'; readonly operand: Expression; readonly list: readonly Expression[] }
  | {
      readonly kind: 'between';
      readonly operand: Expression;
      readonly low: Expression;
      readonly high: Expression;
    }
  | { readonly kind: 'arithmetic'; readonly first: Expression; readonly rest: readonly ArithmeticStep[] }
  | { readonly kind: 'call'; readonly name: FunctionName; readonly operands: readonly Expression[] };

export interface ArithmeticStep {
  readonly operator: Arithmetic;
  readonly operand: Expression;
}

/** How many operands each takes, at least and at most. */
const FUNCTIONS = {
  IS_DEFINED: [1, 1],
  IS_NULL: [1, 1],
  IS_BOOL: [1, 1],
  IS_NUMBER: [1, 1],
  IS_STRING: [1, 1],
  IS_ARRAY: [1, 1],
  IS_OBJECT: [1, 1],
  STARTSWITH: [2, 3],
  ENDSWITH: [2, 3],
  CONTAINS: [2, 3],
  ARRAY_CONTAINS: [2, 3],
  LENGTH: [1, 1],
  ARRAY_LENGTH: [1, 1],
  ABS: [1, 1],
  LOWER: [1, 1],
  UPPER: [1, 1],
} as const;
export type FunctionName = keyof typeof FUNCTIONS;

export interface Condition {
  readonly expression: Expression;
}

export type ParsedCondition =
  | { readonly ok: true; readonly condition: Condition }
  /** In one sentence. */
  | { readonly ok: false; readonly message: string };

const LONGEST = 16 * 1024;
const DEEPEST = 50;

export function parseCondition(text: string): ParsedCondition {
  if (text.length > LONGEST) {
    const message = `The condition has ${text.length} characters; at most ${LONGEST} are allowed.`;
    return { ok: false, message };
  }
  try {
    return { ok: true, condition: { expression: new Parser(tokensOf(text)).read() } };
  } catch (error) {
    if (error instanceof ConditionProblem) return { ok: false, message: error.message };
    throw error;
  }
}

const CONSTANTS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['TRUE', true],
  ['FALSE', false],
  ['NULL', null],
  ['UNDEFINED', undefined],
]);
const KEYWORDS: ReadonlySet<string> = new Set([
  'FROM',
  'WHERE',
  'AND',
  'OR',
  'NOT',
  'IN',
  'BETWEEN',
  ...CONSTANTS.keys(),
]);
const COMPARISONS: ReadonlyMap<string, Comparison> = new Map<string, Comparison>([
  ['=', '='],
  ['!=', '!='],
  ['<>', '!='],
  ['<', '<'],
  ['<=', '<='],
  ['>', '>'],
  ['>=', '>='],
]);

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;
  #alias = '';

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  read(): Expression {
    this.#demandWord('FROM');
    const alias = this.#take();
    if (alias.kind !== 'name' || KEYWORDS.has(alias.text.toUpperCase()))
      throw problem(alias, 'the name of the item belongs there, as in FROM c');
    this.#alias = alias.text;
    this.#demandWord('WHERE');
    const expression = this.#or();
    if (this.#next.kind !== 'end') throw problem(this.#next, 'the end belongs there');
    return expression;
  }

  #or(): Expression {
    this.#depth += 1;
    if (this.#depth > DEEPEST)
      throw new ConditionProblem(this.#next.at, `it is nested deeper than ${DEEPEST} levels`);
    const operands = [this.#and()];
    while (this.#isWord('OR')) operands.push(this.#and());
    this.#depth -= 1;
    return operands.length === 1 ? operands[0]! : { kind: 'or', operands };
  }

  #and(): Expression {
    const operands = [this.#not()];
    while (this.#isWord('AND')) operands.push(this.#not());
    return operands.length === 1 ? operands[0]! : { kind: 'and', operands };
  }

  #not(): Expression {
    let count = 0;
    while (this.#isWord('NOT')) count += 1;
    const operand = this.#comparison();
    if (count === 0) return operand;
    const once: Expression = { kind: 'not', operand };
    return count % 2 === 1 ? once : { kind: 'not', operand: once };
  }

  #comparison(): Expression {
    const left = this.#sum();
    const operator = this.#next.kind === 'symbol' ? COMPARISONS.get(this.#next.text) : undefined;
    if (operator !== undefined) {
      this.#take();
      return { kind: 'compare', operator, left, right: this.#sum() };
    }
    const isNegated = this.#isWord('NOT');
    const membership = this.#membership(left);
    if (membership === undefined) {
      if (isNegated) throw problem(this.#next, 'IN or BETWEEN belongs there');
      return left;
    }
    return isNegated ? { kind: 'not', operand: membership } : membership;
  }

  #membership(operand: Expression): Expression | undefined {
    if (this.#isWord('IN')) return { kind: 'in', operand, list: this.#list() };
    if (!this.#isWord('BETWEEN')) return undefined;
    const low = this.#sum();
    this.#demandWord('AND');
    return { kind: 'between', operand, low, high: this.#sum() };
  }

  #sum(): Expression {
    return this.#arithmetic(['+', '-'], () => this.#product());
  }

  #product(): Expression {
    return this.#arithmetic(['*', '/', '%'], () => this.#unary());
  }

  #arithmetic(operators: readonly Arithmetic[], operand: () => Expression): Expression {
    const first = operand();
    const rest: ArithmeticStep[] = [];
    for (;;) {
      const operator = operators.find((one) => this.#isSymbol(one));
      if (operator === undefined) return rest.length === 0 ? first : { kind: 'arithmetic', first, rest };
      rest.push({ operator, operand: operand() });
    }
  }

  #unary(): Expression {
    if (this.#isSymbol('-')) return { kind: 'minus', operand: this.#primary() };
    if (this.#isSymbol('+')) return { kind: 'plus', operand: this.#primary() };
    return this.#primary();
  }

  #primary(): Expression {
    const token = this.#take();
    if (token.kind === 'text') return { kind: 'literal', value: token.text };
    if (token.kind === 'number') return { kind: 'literal', value: numberIn(token) };
    if (token.kind === 'symbol' && token.text === '(') {
      const inner = this.#or();
      this.#demandSymbol(')');
      return inner;
    }
    if (token.kind === 'name') return this.#named(token);
    throw problem(token, 'a value belongs there');
  }

  #named(token: Token): Expression {
    const upper = token.text.toUpperCase();
    if (CONSTANTS.has(upper)) return { kind: 'literal', value: CONSTANTS.get(upper) };
    if (this.#next.kind === 'symbol' && this.#next.text === '(') return this.#call(token, upper);
    if (token.text === this.#alias) return { kind: 'path', names: this.#names() };
    throw problem(token, `only ${this.#alias} is known there`);
  }

  #call(token: Token, name: string): Expression {
    if (!isFunction(name))
      throw new ConditionProblem(token.at, `there is no function ${shortened(token.text)}`);
    const operands = this.#list();
    const [least, most] = FUNCTIONS[name];
    if (operands.length < least || operands.length > most)
      throw new ConditionProblem(
        token.at,
        `${name} takes ${least === most ? `${least} operand` : `${least} or ${most} operands`}`,
      );
    return { kind: 'call', name, operands };
  }

  /** In parentheses, at least one. */
  #list(): readonly Expression[] {
    this.#demandSymbol('(');
    const list = [this.#or()];
    while (this.#isSymbol(',')) list.push(this.#or());
    this.#demandSymbol(')');
    return list;
  }

  /** What follows the item's name: `.a.b["c"][0]`. */
  #names(): readonly (string | number)[] {
    const names: (string | number)[] = [];
    for (;;) {
      if (this.#isSymbol('.')) {
        const name = this.#take();
        if (name.kind !== 'name') throw problem(name, 'the name of a property belongs there');
        names.push(name.text);
      } else if (this.#isSymbol('[')) {
        names.push(this.#subscript());
        this.#demandSymbol(']');
      } else return names;
    }
  }

  #subscript(): string | number {
    const token = this.#take();
    if (token.kind === 'text') return token.text;
    if (token.kind === 'number' && /^[0-9]{1,10}$/.test(token.text)) return Number(token.text);
    throw problem(token, 'a name in quotation marks or the number of an element belongs there');
  }

  get #next(): Token {
    return this.#tokens[this.#at]!;
  }

  #take(): Token {
    const token = this.#next;
    if (token.kind !== 'end') this.#at += 1;
    return token;
  }

  /** Takes it if it is there. */
  #isWord(word: string): boolean {
    const isIt = this.#next.kind === 'name' && this.#next.text.toUpperCase() === word;
    if (isIt) this.#take();
    return isIt;
  }

  #isSymbol(symbol: string): boolean {
    const isIt = this.#next.kind === 'symbol' && this.#next.text === symbol;
    if (isIt) this.#take();
    return isIt;
  }

  #demandWord(word: string): void {
    if (!this.#isWord(word)) throw problem(this.#next, `${word} belongs there`);
  }

  #demandSymbol(symbol: string): void {
    if (!this.#isSymbol(symbol)) throw problem(this.#next, `"${symbol}" belongs there`);
  }
}

function isFunction(name: string): name is FunctionName {
  return Object.hasOwn(FUNCTIONS, name);
}

function numberIn(token: Token): number {
  const value = Number(token.text);
  if (Number.isFinite(value)) return value;
  throw new ConditionProblem(token.at, 'the number is too large');
}

const SHOWN = 20;

function shortened(text: string): string {
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}...` : text;
}

function problem({ at, kind, text }: Token, what: string): ConditionProblem {
  return new ConditionProblem(
    at,
    kind === 'end' ? `it ends, and ${what}` : `${what}, not ${shortened(text)}`,
  );
}
