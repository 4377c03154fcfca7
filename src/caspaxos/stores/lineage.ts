/**
 * The line of memory that a store's answers come from: a server's system identifier and timeline, a cluster's id. A copy that takes
 * a server's place has the same documents, the same identity among them, and lacks what was answered after it was made; but where it
 * comes from is not the same, and the server can tell.
 *
 * A store notes here what a connection, or an answer, tells of its line, *before* anybody gets an answer from there. Its
 * `StoreAcceptor` compares with the line in the identity document, and with whatever was told before. Once broken it stays broken:
 * an answer from the wrong line may be on its way while a new connection leads to the right one again.
 */
import type { LastingCode } from '../errors.ts';

export interface BrokenLine {
  readonly code: LastingCode;
  /** A clause about the server. */
  readonly why: string;
}

/** Whether a server that tells `now` may have everything that was answered by one that told `earlier`. */
export type Continues = (earlier: string, now: string) => boolean;

export class Lineage {
  readonly #continues: Continues;
  #line: string | undefined;
  #broken: BrokenLine | undefined;

  constructor(continues: Continues = tellTheSame) {
    this.#continues = continues;
  }

  /** What was told last; undefined: nothing was told yet, or the server cannot tell. */
  get line(): string | undefined {
    return this.#line;
  }

  /** Why the server cannot have all that was answered; undefined: nothing speaks against it. */
  get broken(): BrokenLine | undefined {
    return this.#broken;
  }

  saw(line: string): void {
    if (this.#line !== undefined) this.#broken ??= this.differenceFrom(this.#line, line);
    this.#line = line;
  }

  /** What only ever grows was `before` and is `now`. */
  wentBack(what: string, before: string, now: string): void {
    this.forgot(`${what} was ${before} and is ${now}, as in an old copy`);
  }

  /** `why`: a clause about the server. */
  forgot(why: string): void {
    this.#broken ??= { code: 'ACCEPTOR_BEHIND', why };
  }

  /** Why `now`, what was told last, cannot come after `earlier`. */
  differenceFrom(earlier: string, now: string | undefined = this.#line): BrokenLine | undefined {
    if (now === undefined || now === earlier || this.#continues(earlier, now)) return undefined;
    const why = `it was ${earlier} and is ${now}, as a copy that was promoted or restored`;
    return { code: 'ACCEPTOR_PROMOTED', why };
  }
}

/** A line is `name value, name value`. Not every user is told everything: what both tell has to be the same. */
function tellTheSame(earlier: string, now: string): boolean {
  const known = new Map(partsOf(earlier));
  return partsOf(now).every(([name, value]) => !known.has(name) || known.get(name) === value);
}

function partsOf(line: string): readonly (readonly [name: string, value: string])[] {
  return line.split(', ').map((part) => {
    const at = part.lastIndexOf(' ');
    return [part.slice(0, at), part.slice(at + 1)];
  });
}
