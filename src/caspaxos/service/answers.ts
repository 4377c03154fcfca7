/** What an acceptor service says, looked at by its client before it believes any of it (`wire.ts`). */
import type { AcceptorDescription } from '../acceptors.ts';
import { checkConfiguration, isToldLife, type Retirement, type ToldLife } from '../core/index.ts';
import { CasPaxosError } from '../errors.ts';
import type { AnswerFrame, Standing } from './wire.ts';

export interface Greeting extends Standing {
  readonly id: string;
  readonly life: ToldLife | undefined;
  readonly retired: Retirement | undefined;
}

/** Throws on anything that is not a greeting. */
export function greetingIn(sequence: number, value: unknown): Greeting {
  const { id, set, life, retired } = (value ?? {}) as Partial<Record<string, unknown>>;
  if (!isName(id) || !isCount(set)) throw malformed();
  return {
    id,
    sequence,
    set,
    life: lifeIn(life),
    retired: retired === undefined ? undefined : retirementIn(retired),
  };
}

/** Earlier versions tell none. */
function lifeIn(value: unknown): ToldLife | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isToldLife(value)) throw malformed();
  return value;
}

function retirementIn(value: unknown): Retirement {
  const { code, why } = (value ?? {}) as Partial<Record<string, unknown>>;
  if (!isName(code) || !isName(why)) throw malformed();
  return { code, why };
}

/** Throws on anything that is not an answer. */
export function answerIn(value: unknown): AnswerFrame {
  if (!Array.isArray(value)) throw malformed();
  const [id, sequence, , code, message] = value as unknown[];
  const isText = (text: unknown): boolean => text === undefined || text === null || typeof text === 'string';
  if (!isCount(id) || !isCount(sequence) || !isText(code) || !isText(message)) throw malformed();
  return value as unknown as AnswerFrame;
}

export function descriptionIn(value: unknown): AcceptorDescription {
  const { id, configuration, hasRegisters, life } = (value ?? {}) as Partial<Record<string, unknown>>;
  if (!isName(id) || typeof hasRegisters !== 'boolean') throw malformed();
  const known =
    configuration === undefined || configuration === null ? undefined : checkConfiguration(configuration);
  return { id, hasRegisters, configuration: known, life: lifeIn(life) };
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length > 0;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function malformed(): CasPaxosError {
  return new CasPaxosError('PROTOCOL_MISMATCH', 'The acceptor service said something that is no answer.');
}
