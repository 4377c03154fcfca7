/**
 * The attempts of one operation, and the one thing that has to be exactly right about them: whether the operation may have been
 * carried out. A write counts as carried out, perhaps, from the moment it is sent (handed over for sending, if nobody says when
 * that is) until there is proof of the contrary: it was not sent, or a node answered that it did not do it. Silence, a lost connection, a cancellation prove
 * nothing.
 */
import type { RegionName } from '../../engine/core/index.ts';
import { assert } from '../../protocol/index.ts';
import type { Why } from './choosing.ts';
import type { FailureOutcome } from './errors.ts';
import type { OperationKind } from './regions.ts';

export interface Attempt {
  readonly id: number;
  readonly region: RegionName;
  readonly why: Why;
  readonly isHedge: boolean;
  readonly startedAtMs: number;
  /** From then on others are tried. */
  readonly leaveAtMs: number;
  /** `left`: it was silent for too long, and may answer yet. */
  state: 'open' | 'left' | 'over';
  /** Given to a connection, as far as is known. */
  isSent: boolean;
  /** Cleared by proof alone. */
  mayBeApplied: boolean;
  /** What it ended with. */
  code: string | undefined;
  /** Whether a node said anything. */
  isAnswered: boolean;
  node: string | undefined;
  endedAtMs: number | undefined;
}

/** What users are shown of an attempt. */
export interface AttemptDiagnostics {
  readonly attempt: number;
  readonly region: RegionName;
  readonly node?: string;
  /** Since the operation began. */
  readonly startedAtMs: number;
  readonly durationMs: number;
  /** DONE, the code of a refusal or failure, SILENT if nothing was heard, CANCELLED if it was no longer needed. */
  readonly what: string;
  readonly why: Why;
  readonly hedge: boolean;
}

export class Attempts {
  readonly #kind: OperationKind;
  readonly #tellsSending: boolean;
  readonly #all: Attempt[] = [];

  /** `tellsSending`: that an attempt is sent is said with `sent`; otherwise it is as soon as it begins. */
  constructor(kind: OperationKind, { tellsSending }: { readonly tellsSending: boolean }) {
    this.#kind = kind;
    this.#tellsSending = tellsSending;
  }

  get count(): number {
    return this.#all.length;
  }

  begin(details: Pick<Attempt, 'region' | 'why' | 'isHedge' | 'startedAtMs' | 'leaveAtMs'>): Attempt {
    const attempt: Attempt = {
      ...details,
      id: this.#all.length + 1,
      state: 'open',
      isSent: false,
      mayBeApplied: false,
      code: undefined,
      isAnswered: false,
      node: undefined,
      endedAtMs: undefined,
    };
    this.#all.push(attempt);
    if (!this.#tellsSending) this.sent(attempt.id);
    return attempt;
  }

  sent(id: number): void {
    const attempt = this.pending(id);
    assert(attempt !== undefined, 'what was given up is not sent');
    attempt.isSent = true;
    attempt.mayBeApplied = this.#kind === 'write';
  }

  /** Undefined: it is over, or there never was one. */
  pending(id: number): Attempt | undefined {
    const attempt = this.#all[id - 1];
    return attempt?.state === 'over' ? undefined : attempt;
  }

  /** Those that somebody waits for. */
  open(): readonly Attempt[] {
    return this.#all.filter(({ state }) => state === 'open');
  }

  /** Those that may answer yet. */
  unfinished(): readonly Attempt[] {
    return this.#all.filter(({ state }) => state !== 'over');
  }

  /** Whether a silent attempt in that region is too young to send another one after it. */
  isBusy(region: RegionName, nowMs: number, resendAfterMs: number): boolean {
    return this.#all.some(
      (attempt) =>
        attempt.state !== 'over' && attempt.region === region && nowMs < attempt.startedAtMs + resendAfterMs,
    );
  }

  get outcome(): FailureOutcome {
    return this.#all.some(({ mayBeApplied }) => mayBeApplied) ? 'unknown' : 'notApplied';
  }

  /** Whether there was any attempt, and all of them ended so. */
  allEnded(so: (attempt: Attempt) => boolean): boolean {
    return this.#all.length > 0 && this.#all.every((attempt) => attempt.state === 'over' && so(attempt));
  }

  get lastCode(): string | undefined {
    return this.#all.findLast(({ code }) => code !== undefined)?.code;
  }

  diagnostics(begunAtMs: number, nowMs: number): readonly AttemptDiagnostics[] {
    return this.#all.map((attempt) => ({
      attempt: attempt.id,
      region: attempt.region,
      ...(attempt.node !== undefined && { node: attempt.node }),
      startedAtMs: attempt.startedAtMs - begunAtMs,
      durationMs: (attempt.endedAtMs ?? nowMs) - attempt.startedAtMs,
      what: attempt.code ?? (attempt.state === 'left' ? 'SILENT' : 'CANCELLED'),
      why: attempt.why,
      hedge: attempt.isHedge,
    }));
  }
}
