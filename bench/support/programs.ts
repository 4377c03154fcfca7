/** Real programs that a benchmark needs, found or fetched by the same script that serves the tests. */
export type ProgramRecord =
  | { readonly name: string; readonly path: string; readonly env: Record<string, string> }
  | { readonly name: string; readonly why: string; readonly how: string };

interface ProgramsScript {
  readonly findPrograms: (names: readonly string[]) => Promise<ProgramRecord[]>;
}

export async function findProgram(name: string): Promise<ProgramRecord> {
  // From build/bench/support, where this runs, to the script in the repository.
  const script = new URL('../../../scripts/programs.mjs', import.meta.url);
  const { findPrograms } = (await import(script.href)) as ProgramsScript;
  return (await findPrograms([name]))[0]!;
}
