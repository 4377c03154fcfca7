/** What came of an operation on its way: where it was tried, why there, how long it took. Every answer and every error has it. */
import type { AttemptDiagnostics } from '../core/index.ts';

export interface Diagnostics {
  /** `create`, `read`, `changes` and so on; `connect` for the first look at the account. */
  readonly operation: string;
  readonly container?: string;
  readonly partitionSet?: string;
  /** Of a write: its name in the log. */
  readonly operationId?: string;
  /** That answered. */
  readonly region?: string;
  readonly durationMs: number;
  /** In the order in which they began. */
  readonly attempts: readonly AttemptDiagnostics[];
}

const SHOWN = 8;

/** One line for people: `west 1 ms NOT_WRITER, east 4 ms DONE; 5 ms in all`. Of many attempts the last ones. */
export function describeDiagnostics({ attempts, durationMs }: Diagnostics): string {
  if (attempts.length === 0) return `Nothing was tried in ${Math.round(durationMs)} ms.`;
  const shown = attempts
    .slice(-SHOWN)
    .map((one) => `${one.region} ${Math.round(one.durationMs)} ms ${one.what}${one.hedge ? ' (hedge)' : ''}`);
  const hidden = attempts.length - shown.length;
  const before = hidden > 0 ? `${hidden} earlier, ` : '';
  return `Tried: ${before}${shown.join(', ')}; ${Math.round(durationMs)} ms in all.`;
}
