/** Rows of text as a table for people. */

/** The first column to the left, the others to the right. */
export function aligned(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!)))
      .join('  ')
      .trimEnd();
  return `${rows.map(line).join('\n')}\n`;
}
