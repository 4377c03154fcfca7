/** Reading numbers from flags. */
import { UsageError } from './errors.ts';

export function positiveInteger(text: string, flag: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value <= 0)
    throw new UsageError(`${flag} needs a positive whole number, not "${text}".`);
  return value;
}
