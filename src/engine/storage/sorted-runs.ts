/**
 * Texts that come in any order and are taken out in theirs, without a moment in which all of them are sorted: they are
 * sorted in short runs as they come, and the runs are merged as they are taken. Each text is given once.
 */
const RUN = 512;

export class SortedRuns {
  #runs: string[][] = [];
  #last: string[] = [];

  add(text: string): void {
    this.#last.push(text);
    if (this.#last.length === RUN) this.#endRun();
  }

  /** Nothing may be added any more. */
  *merged(): IterableIterator<string> {
    this.#endRun();
    // A heap of the runs, that with the least text on top; `at` is the place of that text in each.
    const heap = this.#runs
      .map((texts) => ({ texts, at: 0 }))
      .sort((a, b) => (headOf(a) < headOf(b) ? -1 : 1));
    while (heap.length > 0) {
      const top = heap[0]!;
      yield headOf(top);
      top.at += 1;
      if (top.at === top.texts.length) {
        const other = heap.pop()!;
        if (heap.length === 0) return;
        if (other !== top) heap[0] = other;
      }
      sink(heap);
    }
  }

  #endRun(): void {
    if (this.#last.length === 0) return;
    this.#runs.push(this.#last.sort());
    this.#last = [];
  }
}

interface Run {
  readonly texts: readonly string[];
  at: number;
}

function headOf({ texts, at }: Run): string {
  return texts[at]!;
}

/** Brings the top to where it belongs. */
function sink(heap: Run[]): void {
  const run = heap[0]!;
  const head = headOf(run);
  let at = 0;
  for (;;) {
    const left = 2 * at + 1;
    if (left >= heap.length) break;
    const right = left + 1;
    const least = right < heap.length && headOf(heap[right]!) < headOf(heap[left]!) ? right : left;
    if (head <= headOf(heap[least]!)) break;
    heap[at] = heap[least]!;
    at = least;
  }
  heap[at] = run;
}
