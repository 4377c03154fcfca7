/**
 * For a test that cannot run where it is: it says what is lacking and how to get that, and ends. `npm test` lists every
 * such test; with CI set it fails. Nothing else may skip a test: the reporter (`scripts/test-reporter.mjs`), which reads
 * these notes, counts any other skip as a failure. A test of data that the repository does not have is registered only
 * where that data is.
 */
export interface NotRun {
  /** What is lacking, as a sentence without its full stop: "redis-server is not on the PATH". */
  readonly what: string;
  /** How to get it. */
  readonly how: string;
}

/** What of vitest's test context is needed here. */
export interface Skippable {
  skip(note?: string): never;
}

export function notRun(context: Skippable, reason: NotRun): never {
  return context.skip(noteFor(reason));
}

function noteFor({ what, how }: NotRun): string {
  return `not run: ${what}; to get it: ${how}`;
}
