/**
 * The documents that a store holds, as text that a person can read in any store's console:
 *
 *   baton1 1c291ca3 {"set":1,"promised":[7,"west",81985529216486895],"accepted":[...],"value":"..."}
 *
 * a format name, the CRC-32 of the rest, and JSON. Garbage is never taken for an empty register: an acceptor that
 * forgot what it promised is worse than one that is down.
 */
import { crc32 } from 'node:zlib';
import { type Ballot, isBallot } from '../../protocol/index.ts';
import {
  checkConfiguration,
  type Claimed,
  isToldLife,
  type RegisterRecord,
  type Retirement,
  type ToldLife,
} from '../core/index.ts';
import { CasPaxosError } from '../errors.ts';

const FORMAT = 'baton1';
const PREFIX_LENGTH = FORMAT.length + 1 + 8 + 1;

export interface IdentityDocument extends Claimed {
  readonly id: string;
  readonly createdAt: string;
  /** The line of memory that it was made on, or was first seen on (`lineage.ts`). */
  readonly lineage?: string;
  /** The present one, of an acceptor that keeps its own disk. */
  readonly life?: ToldLife;
  /** It was found to have forgotten: nobody uses it any more. */
  readonly retired?: Retirement & { readonly at: string };
}

export function encodeRecord(record: RegisterRecord): string {
  const { set, promised, accepted, value } = record;
  return seal({
    set,
    promised: encodeBallot(promised),
    accepted: encodeBallot(accepted),
    value: value ?? null,
  });
}

export function decodeRecord(text: string, what: string): RegisterRecord {
  const fields = open(text, what) as {
    set?: unknown;
    promised?: unknown;
    accepted?: unknown;
    value?: unknown;
  };
  const promised = decodeBallot(fields.promised);
  const accepted = decodeBallot(fields.accepted);
  const { set, value } = fields;
  const sound =
    promised !== undefined &&
    accepted !== undefined &&
    Number.isSafeInteger(set) &&
    (value === null ? accepted.counter === 0 : typeof value === 'string' && accepted.counter > 0);
  if (!sound) throw corrupt(what);
  return { set: set as number, promised, accepted, value: (value as string | null) ?? undefined };
}

export function encodeIdentity(identity: IdentityDocument): string {
  return seal(identity);
}

export function decodeIdentity(text: string, what: string): IdentityDocument {
  const identity = open(text, what) as Partial<IdentityDocument>;
  const { id, createdAt, cluster, configuration, lineage, life, retired } = identity;
  if (typeof id !== 'string' || typeof createdAt !== 'string') throw corrupt(what);
  if (cluster !== undefined && typeof cluster !== 'string') throw corrupt(what);
  if (lineage !== undefined && typeof lineage !== 'string') throw corrupt(what);
  if (life !== undefined && !isToldLife(life)) throw corrupt(what);
  if (retired !== undefined && !isRetired(retired)) throw corrupt(what);
  if (configuration === undefined) return { ...identity, id, createdAt };
  try {
    return { ...identity, id, createdAt, configuration: checkConfiguration(configuration) };
  } catch {
    throw corrupt(what);
  }
}

function isRetired(value: unknown): boolean {
  const { code, why, at } = (value ?? {}) as Partial<Record<string, unknown>>;
  return [code, why, at].every((text) => typeof text === 'string');
}

export interface Checkpoint {
  readonly sequence: number;
  /** There is a mark beside the journal; earlier versions made none. */
  readonly isMarked: boolean;
}

export function encodeCheckpoint({ sequence, isMarked }: Checkpoint): string {
  return seal({ checkpoint: sequence, ...(isMarked && { marked: true }) });
}

export function decodeCheckpoint(text: string, what: string): Checkpoint {
  // Earlier versions wrote it without a checksum: the next checkpoint replaces it.
  if (/^\d+$/.test(text)) return { sequence: Number(text), isMarked: false };
  const { checkpoint, marked } = open(text, what) as { checkpoint?: unknown; marked?: unknown };
  if (!Number.isSafeInteger(checkpoint)) throw corrupt(what);
  return { sequence: checkpoint as number, isMarked: marked === true };
}

function seal(content: object): string {
  const json = JSON.stringify(content);
  return `${FORMAT} ${checksum(json)} ${json}`;
}

function open(text: string, what: string): object {
  const [format] = text.split(' ', 1);
  if (format !== FORMAT && /^baton\d+$/.test(format ?? '')) {
    throw new CasPaxosError(
      'FORMAT_NEWER',
      `${what} was written by a newer version of Baton (format ${format}).`,
    );
  }
  const json = text.slice(PREFIX_LENGTH);
  if (text.slice(0, PREFIX_LENGTH) !== `${FORMAT} ${checksum(json)} `) throw corrupt(what);
  let content: unknown;
  try {
    content = JSON.parse(json);
  } catch {
    throw corrupt(what);
  }
  if (typeof content !== 'object' || content === null) throw corrupt(what);
  return content;
}

function checksum(json: string): string {
  return crc32(json).toString(16).padStart(8, '0');
}

function corrupt(what: string): CasPaxosError {
  return new CasPaxosError(
    'CORRUPT_RECORD',
    `${what} holds something that Baton did not write; it was left as it is.`,
  );
}

function encodeBallot(ballot: Ballot): readonly [number, string, number] {
  return [ballot.counter, ballot.proposer, ballot.incarnation];
}

function decodeBallot(fields: unknown): Ballot | undefined {
  if (!Array.isArray(fields) || fields.length !== 3) return undefined;
  const [counter, proposer, incarnation] = fields as unknown[];
  const ballot = { counter, proposer, incarnation };
  return isBallot(ballot) ? ballot : undefined;
}
