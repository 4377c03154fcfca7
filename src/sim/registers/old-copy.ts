/**
 * An old copy in the place of a disk, on the same line of memory: nothing tells that it is one but what others have seen of the
 * original. Who has seen what the copy lacks finds it out and retires it; until then, who has not would be answered as if
 * nothing were missing, and that is not promised to anybody. So this says which questions must not reach it: until it is retired
 * those about what it lacks, from clients that have not seen that.
 *
 * From then on everybody may ask. A read comes with the identity document, which says it. A write under a version that the client
 * knows does not: it is looked at beside such writes, once in `LOOK_AGAIN_MS`, so for that long they stay away.
 */
import {
  decodeRecord,
  EMPTY_RECORD,
  LOOK_AGAIN_MS,
  type RegisterRecord,
  type Standing,
} from '../../caspaxos/index.ts';
import { compareBallots } from '../../protocol/index.ts';
import type { DiskCopy } from '../core/index.ts';
import { REGISTER_KEYS } from './store-server.ts';

/** What a client asks of a store, and what it knew when it asked. */
export interface Question {
  readonly isWrite: boolean;
  readonly keys: readonly string[];
  /** The text of a document as it was told last. */
  readonly told: ReadonlyMap<string, string>;
  readonly sentAt: number;
  /** When the client began to use the store, and knew nothing. */
  readonly openedAt: number;
}

/** Looks are counted on clocks that drift. */
const LOOKED_AGAIN_MS = LOOK_AGAIN_MS * 1.01;

export class OldCopy {
  /** By what it lacks something of: what it has of it. */
  readonly #behind: ReadonlyMap<string, RegisterRecord>;
  readonly #standing: Standing['sequence'];
  #retiredAt = Infinity;

  private constructor(behind: ReadonlyMap<string, RegisterRecord>, sequence: number) {
    this.#behind = behind;
    this.#standing = sequence;
  }

  /**
   * Undefined: the copy lacks nothing. `originals`: all disks that were in that place when they were lost, an old copy perhaps the last
   * of them. All are given without the versions of documents.
   */
  static of(originals: readonly DiskCopy[], copy: DiskCopy, sequence: number): OldCopy | undefined {
    const behind = new Map<string, RegisterRecord>();
    for (const [key, text] of originals.flatMap((original) => [...original])) {
      if (!key.startsWith(REGISTER_KEYS)) continue;
      const [was, is] = [recordIn(text), recordIn(copy.get(key))];
      if (was === undefined || is === undefined || isBehind(is, was)) behind.set(key, is ?? EMPTY_RECORD);
    }
    return behind.size === 0 ? undefined : new OldCopy(behind, sequence);
  }

  /** When everybody could know. */
  get retiredAt(): number {
    return this.#retiredAt;
  }

  /** The retirement is durable, as far as anybody was told. */
  retired(atMs: number): void {
    this.#retiredAt = Math.min(this.#retiredAt, atMs);
  }

  /** Whether a question to a store must not arrive. */
  hides({ isWrite, keys, told, sentAt, openedAt }: Question): boolean {
    const isLooked = openedAt >= this.#retiredAt || sentAt >= this.#retiredAt + LOOKED_AGAIN_MS;
    if (this.#retiredAt < Infinity && (!isWrite || isLooked)) return false;
    const lacking = keys.filter((key) => this.#behind.has(key));
    return lacking.length > 0 && !lacking.some((key) => this.#isKnown(key, told.get(key)));
  }

  /** Whether a client that has seen so much of a service must not get a greeting. */
  hidesFrom({ sequence }: Standing): boolean {
    return this.#retiredAt === Infinity && sequence <= this.#standing;
  }

  #isKnown(key: string, told: string | undefined): boolean {
    const seen = recordIn(told);
    return seen !== undefined && isBehind(this.#behind.get(key)!, seen);
  }
}

function isBehind(record: RegisterRecord, seen: RegisterRecord): boolean {
  return (
    compareBallots(record.promised, seen.promised) < 0 || compareBallots(record.accepted, seen.accepted) < 0
  );
}

/** Undefined: it cannot be read. */
function recordIn(text: string | undefined): RegisterRecord | undefined {
  if (text === undefined) return EMPTY_RECORD;
  try {
    return decodeRecord(text, '');
  } catch {
    return undefined;
  }
}
