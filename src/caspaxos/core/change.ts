/**
 * One change of a register from its caller's point of view: the operation that may take several attempts, and what it
 * turns out to have done. It is the editor that the proposer runs, so it is pure but for remembering what each attempt
 * proposed: when an attempt of unknown outcome is later found in the value (rule 4), its result is still at hand.
 */
import {
  append,
  decodeEnvelope,
  EMPTY_ENVELOPE,
  encodeEnvelope,
  type Envelope,
  type OperationId,
  trace,
} from './envelope.ts';
import type { Edit } from './proposer.ts';

/** What the caller's editor makes of the register's JSON. */
export type EditDecision =
  | { readonly type: 'set'; readonly json: string }
  | { readonly type: 'delete' }
  | { readonly type: 'reject'; readonly code: string; readonly message: string };

export type JsonEditor = (json: string | undefined) => EditDecision;

/** What a commit of the last edit means. */
export type ChangeVerdict =
  | { readonly type: 'changed' | 'unchanged'; readonly version: number; readonly json: string | undefined }
  | {
      readonly type: 'rejected';
      readonly version: number;
      readonly json: string | undefined;
      readonly code: string;
      readonly message: string;
    }
  /** An operation of a former process: it was applied, but what it made is no longer known. */
  | { readonly type: 'applied before'; readonly version: number }
  | { readonly type: 'forgotten' };

interface Proposed {
  readonly attempt: number;
  readonly json: string | undefined;
  readonly before: Proposed | undefined;
}

export class RegisterChange {
  readonly operation: OperationId;
  readonly #editor: JsonEditor;
  readonly #isContinued: boolean;
  /** What each attempt proposed, the last one first. */
  #proposed: Proposed | undefined;
  #attempt: number;
  #since: number | undefined;
  #verdict: ChangeVerdict = { type: 'forgotten' };

  /** `retry` continues an operation whose outcome somebody was left not knowing. */
  constructor(
    editor: JsonEditor,
    operation: OperationId,
    retry?: { sinceVersion: number; attempts: number },
  ) {
    this.operation = operation;
    this.#editor = editor;
    this.#isContinued = retry !== undefined;
    this.#since = retry?.sinceVersion;
    this.#attempt = retry?.attempts ?? 0;
  }

  get verdict(): ChangeVerdict {
    return this.#verdict;
  }

  /** The version that the register had when the operation first looked. */
  get sinceVersion(): number {
    return this.#since ?? 0;
  }

  get attempts(): number {
    return this.#attempt;
  }

  /** Never throws: an editor that fails leaves the register as it is. */
  readonly edit: Edit<string> = (current, uncertain) => {
    try {
      return this.#edit(current, uncertain);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.#verdict = { type: 'rejected', version: 0, json: undefined, code: 'CORRUPT_RECORD', message };
      return current ?? (uncertain ? encodeEnvelope(EMPTY_ENVELOPE) : undefined);
    }
  };

  #edit(current: string | undefined, uncertain: boolean): string | undefined {
    const envelope = decodeEnvelope(current);
    // The lowest version that any attempt built on: a first look may have been at a value that never came to be.
    this.#since = Math.min(this.#since ?? Infinity, envelope.version);
    if (uncertain || this.#proposed !== undefined) {
      const traced = trace(envelope, this.operation, this.#since);
      if (traced.found === 'applied') {
        this.#verdict = this.#verdictOf(traced.attempt, traced.version, envelope);
        return current;
      }
      if (traced.found === 'forgotten' && uncertain) {
        this.#verdict = { type: 'forgotten' };
        return current;
      }
    }
    const edited = this.#apply(envelope, current);
    // Leaving a register empty needs no writing, unless an earlier attempt of ours must be buried.
    return edited === undefined && uncertain ? encodeEnvelope(EMPTY_ENVELOPE) : edited;
  }

  #apply(envelope: Envelope, current: string | undefined): string | undefined {
    const { version, json } = envelope;
    const decision = this.#editor(json);
    if (decision.type === 'reject') {
      this.#verdict = { type: 'rejected', version, json, code: decision.code, message: decision.message };
      return current;
    }
    const edited = decision.type === 'delete' ? undefined : decision.json;
    if (edited === json) {
      this.#verdict = { type: 'unchanged', version, json };
      return current;
    }
    this.#attempt += 1;
    const next = append(envelope, this.operation, this.#attempt, edited);
    this.#proposed = { attempt: this.#attempt, json: edited, before: this.#proposed };
    this.#verdict = { type: 'changed', version: next.version, json: edited };
    return encodeEnvelope(next);
  }

  #verdictOf(attempt: number, version: number, envelope: Envelope): ChangeVerdict {
    let proposed = this.#proposed;
    while (proposed !== undefined && proposed.attempt !== attempt) proposed = proposed.before;
    if (proposed === undefined) return { type: 'applied before', version };
    // Whoever else continues the operation numbers attempts alike. Only the value as it was made tells whose this one is.
    const isMine = version === envelope.version && proposed.json === envelope.json;
    if (this.#isContinued && !isMine) return { type: 'applied before', version };
    return { type: 'changed', version, json: proposed.json };
  }
}
