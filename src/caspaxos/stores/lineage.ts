/**
 * The line of memory that a store's answers come from: a server's system identifier and timeline, a cluster's id. A copy that takes
 * a server's place has the same documents, the same identity among them, and lacks what was answered after it was made; but where it
 * comes from is not the same, and the server can tell.
 *
 * A store notes here what a connection, or an answer, tells of its line, *before* anybody gets an answer from there. Its
 * `StoreAcceptor` compares with the line in the identity document, and with whatever was told before. Once broken it stays broken:
 * an answer from the wrong line may be on its way while a new connection leads to the right one again.
 */
export class Lineage {
  readonly #continues: (earlier: string, now: string) => boolean;
  #line: string | undefined;
  #broken: string | undefined;

  /** `continues`: for servers that tell less after a restart than before. Usually a line is its text. */
  constructor(continues: (earlier: string, now: string) => boolean = (earlier, now) => earlier === now) {
    this.#continues = continues;
  }

  /** The line that was told last; undefined: none was told yet, or the server cannot tell. */
  get line(): string | undefined {
    return this.#line;
  }

  /** A clause about the server that says why it cannot have all that was answered; undefined: nothing speaks against it. */
  get broken(): string | undefined {
    return this.#broken;
  }

  saw(line: string): void {
    this.#broken ??= this.#line === undefined ? undefined : this.differenceFrom(this.#line, line);
    this.#line = line;
  }

  /** What only ever grows has become less. */
  wentBack(what: string): void {
    this.#broken ??= what;
  }

  /** Why `now`, what is told now, cannot be what was told as `earlier`. */
  differenceFrom(earlier: string, now: string | undefined = this.#line): string | undefined {
    if (now === undefined || this.#continues(earlier, now)) return undefined;
    return `it was ${earlier} and is ${now}, as a copy that was promoted or restored`;
  }
}
