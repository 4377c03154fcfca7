/** Schedules of faults as text: what a failing seed prints is what `--schedule` reads. */
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import type { ScheduledFault } from '../../sim/index.ts';
import { UsageError } from '../errors.ts';

/** JSON, one fault to a line. */
export function formatSchedule(schedule: readonly ScheduledFault[]): string {
  if (schedule.length === 0) return '[]';
  return `[\n${schedule.map((fault) => `  ${JSON.stringify(fault)}`).join(',\n')}\n]`;
}

/** From a file, or from standard input when the path is `-`. */
export async function readSchedule(
  path: string,
  kinds: readonly string[],
): Promise<readonly ScheduledFault[]> {
  const name = path === '-' ? 'standard input' : path;
  let content: string;
  try {
    content = path === '-' ? await text(process.stdin) : readFileSync(path, 'utf8');
  } catch {
    throw new UsageError(`The file that --schedule names cannot be read: ${path}`);
  }
  return parseSchedule(content, name, kinds);
}

export function parseSchedule(
  content: string,
  name: string,
  kinds: readonly string[],
): readonly ScheduledFault[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(content);
  } catch {
    throw new UsageError(`The schedule in ${name} is not JSON.`);
  }
  if (!Array.isArray(parsed)) throw new UsageError(`The schedule in ${name} is not a list of faults.`);
  return parsed.map((fault: unknown, index) => {
    const problem = problemOf(fault, kinds);
    if (problem === undefined) return fault as ScheduledFault;
    throw new UsageError(`The schedule in ${name} has a fault, number ${index + 1}, ${problem}.`);
  });
}

function problemOf(fault: unknown, kinds: readonly string[]): string | undefined {
  if (typeof fault !== 'object' || fault === null) return 'that is not an object';
  const { kind, fromMs, untilMs, targets, strength } = fault as Readonly<Record<string, unknown>>;
  if (typeof kind !== 'string' || !kinds.includes(kind))
    return `whose kind is ${JSON.stringify(kind)}; there are ${kinds.join(', ')}`;
  if (!isTime(fromMs) || !isTime(untilMs) || untilMs < fromMs)
    return 'whose fromMs and untilMs are not two times in order';
  if (!Array.isArray(targets) || !targets.every((target) => typeof target === 'string'))
    return 'whose targets are not a list of names';
  return typeof strength === 'number' && Number.isFinite(strength)
    ? undefined
    : 'whose strength is not a number';
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0;
}
