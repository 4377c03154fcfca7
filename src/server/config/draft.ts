/**
 * A file that may have holes: what could be read of it, for checks that compare one part with another. They look at every
 * part that is there, so that a file with a bad address still hears of its doubled names.
 */
import type { Address } from '../../transport/index.ts';
import { fieldPath, type Position, type Problem } from './problems.ts';
import { valueAt } from './translate.ts';
import { readAddress } from './values.ts';
import type { ReadYaml } from './yaml.ts';

export type Steps = readonly PropertyKey[];

export class Draft {
  readonly problems: Problem[] = [];
  readonly warnings: Problem[] = [];
  readonly #yaml: ReadYaml;

  constructor(yaml: ReadYaml) {
    this.#yaml = yaml;
  }

  has(...steps: Steps): boolean {
    const value = valueAt(this.#yaml.value, steps);
    return value !== undefined && value !== null;
  }

  text(...steps: Steps): string | undefined {
    const value = valueAt(this.#yaml.value, steps);
    return typeof value === 'string' ? value : undefined;
  }

  number(...steps: Steps): number | undefined {
    const value = valueAt(this.#yaml.value, steps);
    return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
  }

  address(...steps: Steps): Address | undefined {
    const text = this.text(...steps);
    const read = text === undefined ? undefined : readAddress(text);
    return read && 'value' in read ? read.value : undefined;
  }

  /** The steps to each item of a list. */
  items(...steps: Steps): Steps[] {
    const value = valueAt(this.#yaml.value, steps);
    return Array.isArray(value) ? value.map((_, index) => [...steps, index]) : [];
  }

  position(steps: Steps): Position {
    return this.#yaml.positionOf(steps);
  }

  complain(steps: Steps, sentence: string): void {
    this.problems.push(this.#about(steps, sentence));
  }

  warn(steps: Steps, sentence: string): void {
    this.warnings.push(this.#about(steps, sentence));
  }

  #about(steps: Steps, sentence: string): Problem {
    return { ...this.#yaml.positionOf(steps), field: fieldPath(steps), sentence };
  }
}

/** Complains about whatever has the mark of something before it. */
export class Once {
  readonly #draft: Draft;
  readonly #what: string;
  readonly #seen = new Map<string, Steps>();

  constructor(draft: Draft, what: string) {
    this.#draft = draft;
    this.#what = what;
  }

  see(mark: string | undefined, steps: Steps): void {
    if (mark === undefined) return;
    const first = this.#seen.get(mark);
    if (first === undefined) {
      this.#seen.set(mark, steps);
      return;
    }
    const { line } = this.#draft.position(first);
    this.#draft.complain(steps, `This ${this.#what} is already used by ${fieldPath(first)} on line ${line}.`);
  }
}
