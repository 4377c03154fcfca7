/**
 * Whether a condition holds for an item. The logic has three values, as in the API: what is not there is undefined, so is a
 * comparison of values of different types, and a condition holds only if it is true. `NOT` of undefined is undefined; `AND` is
 * false as soon as one side is, `OR` true as soon as one side is.
 *
 * What it costs is bounded too: an item may be two megabytes, and a condition may look at it a thousand times. Whoever asks for
 * more work than `MOST_WORK` is told so.
 */
import type { Arithmetic, Comparison, Condition, Expression, FunctionName } from './condition.ts';
import { has, isObject, type JsonObject } from './json-value.ts';

/** Characters and values that may be looked at: the largest item a few times over. */
const MOST_WORK = 16 * 1024 * 1024;

/** `undefined`: to find out would take too much work. */
export function holds({ expression }: Condition, document: JsonObject): boolean | undefined {
  try {
    return new Evaluation(document).valueOf(expression) === true;
  } catch (error) {
    if (error instanceof TooMuchWork) return undefined;
    throw error;
  }
}

class TooMuchWork extends Error {}

class Evaluation {
  readonly #document: JsonObject;
  #work = 0;

  constructor(document: JsonObject) {
    this.#document = document;
  }

  valueOf(expression: Expression): unknown {
    this.#spend(1);
    switch (expression.kind) {
      case 'literal':
        return expression.value;
      case 'path':
        return this.#at(expression.names);
      case 'and':
        return this.#any(expression.operands, false);
      case 'or':
        return this.#any(expression.operands, true);
      case 'not': {
        const value = this.valueOf(expression.operand);
        return typeof value === 'boolean' ? !value : undefined;
      }
      case 'minus':
      case 'plus': {
        const value = this.valueOf(expression.operand);
        if (typeof value !== 'number') return undefined;
        return expression.kind === 'minus' ? -value : value;
      }
      case 'compare':
        return this.#compare(
          expression.operator,
          this.valueOf(expression.left),
          this.valueOf(expression.right),
        );
      case 'in':
        return this.#isIn(this.valueOf(expression.operand), expression.list);
      case 'between': {
        const value = this.valueOf(expression.operand);
        const isAbove = this.#compare('>=', value, this.valueOf(expression.low));
        const isBelow = this.#compare('<=', value, this.valueOf(expression.high));
        return isAbove === false || isBelow === false ? false : both(isAbove, isBelow);
      }
      case 'arithmetic': {
        let value = this.valueOf(expression.first);
        for (const { operator, operand } of expression.rest)
          value = arithmetic(operator, value, this.valueOf(operand));
        return value;
      }
      case 'call':
        return this.#call(
          expression.name,
          expression.operands.map((operand) => this.valueOf(operand)),
        );
    }
  }

  #at(names: readonly (string | number)[]): unknown {
    let value: unknown = this.#document;
    for (const name of names) {
      if (typeof name === 'number') value = Array.isArray(value) ? (value[name] as unknown) : undefined;
      else value = isObject(value) && has(value, name) ? value[name] : undefined;
    }
    return value;
  }

  /** `and` is decided by a false operand, `or` by a true one. */
  #any(operands: readonly Expression[], decides: boolean): boolean | undefined {
    let isOpen = false;
    for (const operand of operands) {
      const value = this.valueOf(operand);
      if (value === decides) return decides;
      if (typeof value !== 'boolean') isOpen = true;
    }
    return isOpen ? undefined : !decides;
  }

  #isIn(value: unknown, list: readonly Expression[]): boolean | undefined {
    let isOpen = false;
    for (const one of list) {
      const isSame = this.#compare('=', value, this.valueOf(one));
      if (isSame === true) return true;
      if (isSame === undefined) isOpen = true;
    }
    return isOpen ? undefined : false;
  }

  #compare(operator: Comparison, left: unknown, right: unknown): boolean | undefined {
    const type = typeOf(left);
    if (left === undefined || type !== typeOf(right)) return undefined;
    if (operator === '=') return this.#isSame(left, right);
    if (operator === '!=') return !this.#isSame(left, right);
    if (type === 'array' || type === 'object') return undefined;
    this.#spend(sizeOf(left));
    const order = left === right ? 0 : (left as string) < (right as string) ? -1 : 1;
    if (operator === '<') return order < 0;
    if (operator === '<=') return order <= 0;
    return operator === '>' ? order > 0 : order >= 0;
  }

  #isSame(left: unknown, right: unknown): boolean {
    this.#spend(1 + sizeOf(left));
    if (Array.isArray(left)) {
      return (
        Array.isArray(right) &&
        left.length === right.length &&
        left.every((one, at) => this.#isSame(one, right[at]))
      );
    }
    if (!isObject(left)) return left === right;
    if (!isObject(right)) return false;
    const names = Object.keys(left);
    this.#spend(names.length);
    if (names.length !== Object.keys(right).length) return false;
    return names.every((name) => has(right, name) && this.#isSame(left[name], right[name]));
  }

  #call(name: FunctionName, operands: readonly unknown[]): unknown {
    const [first, second, third] = operands;
    switch (name) {
      case 'IS_DEFINED':
        return first !== undefined;
      case 'IS_NULL':
        return first === null;
      case 'IS_BOOL':
        return typeof first === 'boolean';
      case 'IS_NUMBER':
        return typeof first === 'number';
      case 'IS_STRING':
        return typeof first === 'string';
      case 'IS_ARRAY':
        return Array.isArray(first);
      case 'IS_OBJECT':
        return isObject(first);
      case 'STARTSWITH':
        return this.#inTexts(first, second, third, (text, part) => text.startsWith(part));
      case 'ENDSWITH':
        return this.#inTexts(first, second, third, (text, part) => text.endsWith(part));
      case 'CONTAINS':
        return this.#inTexts(first, second, third, contains);
      case 'ARRAY_CONTAINS':
        return this.#arrayContains(first, second, third === true);
      case 'LENGTH':
        return typeof first === 'string' ? first.length : undefined;
      case 'ARRAY_LENGTH':
        return Array.isArray(first) ? first.length : undefined;
      case 'ABS':
        return typeof first === 'number' ? Math.abs(first) : undefined;
      case 'LOWER':
        return typeof first === 'string' ? this.#lower(first) : undefined;
      case 'UPPER':
        if (typeof first !== 'string') return undefined;
        this.#spend(first.length);
        return first.toUpperCase();
    }
  }

  /** The third operand, true: large and small letters are the same. */
  #inTexts(
    text: unknown,
    part: unknown,
    ignoreCase: unknown,
    look: (text: string, part: string) => boolean,
  ): boolean | undefined {
    if (typeof text !== 'string' || typeof part !== 'string') return undefined;
    if (ignoreCase !== undefined && typeof ignoreCase !== 'boolean') return undefined;
    this.#spend(text.length + part.length);
    return ignoreCase === true ? look(this.#lower(text), this.#lower(part)) : look(text, part);
  }

  #lower(text: string): string {
    this.#spend(text.length);
    return text.toLowerCase();
  }

  /** `partially`: an object that has more than what is looked for will do. */
  #arrayContains(array: unknown, wanted: unknown, partially: boolean): boolean | undefined {
    if (!Array.isArray(array) || wanted === undefined) return undefined;
    return array.some((one) => {
      if (!partially || !isObject(one) || !isObject(wanted)) return this.#isSame(one, wanted);
      const names = Object.keys(wanted);
      this.#spend(1 + names.length);
      return names.every((name) => has(one, name) && this.#isSame(one[name], wanted[name]));
    });
  }

  #spend(work: number): void {
    this.#work += work;
    if (this.#work > MOST_WORK) throw new TooMuchWork();
  }
}

function both(a: boolean | undefined, b: boolean | undefined): boolean | undefined {
  return a === true && b === true ? true : undefined;
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function sizeOf(value: unknown): number {
  return typeof value === 'string' ? value.length : 0;
}

function arithmetic(operator: Arithmetic, left: unknown, right: unknown): number | undefined {
  if (typeof left !== 'number' || typeof right !== 'number') return undefined;
  const result = {
    '+': () => left + right,
    '-': () => left - right,
    '*': () => left * right,
    '/': () => left / right,
    '%': () => left % right,
  }[operator]();
  return Number.isFinite(result) ? result : undefined;
}

/** Knuth, Morris and Pratt: in time that is proportional to both, whatever they are. */
function contains(text: string, part: string): boolean {
  if (part.length > text.length) return false;
  const back = new Int32Array(part.length + 1);
  back[0] = -1;
  for (let at = 1, same = 0; at < part.length; at += 1) {
    back[at] = part[at] === part[same] ? back[same]! : same;
    while (same >= 0 && part[at] !== part[same]) same = back[same]!;
    same += 1;
  }
  let same = 0;
  for (let at = 0; at < text.length && same < part.length; at += 1) {
    while (same >= 0 && text[at] !== part[same]) same = back[same]!;
    same += 1;
  }
  return same === part.length;
}
