/** What the fields of a cluster file are made of: a check with a sentence of its own, and a note for people. */
import * as z from 'zod/mini';
import { quoted } from './problems.ts';
import { wrongAddress, wrongName, wrongPath } from './values.ts';

/** How a change comes into force: on SIGHUP, on a restart, by a command (the registers hold it), or not in this cluster. */
export type Reload = 'live' | 'restart' | 'command' | 'never';

export interface FieldNote {
  readonly type: string;
  readonly meaning: string;
  /** What holds without it, in words; a field that has none must be there, unless it is optional. */
  readonly without?: string;
  readonly reload: Reload;
}

const notes = z.registry<FieldNote>();
export const YEAR_MS = 366 * 24 * 3_600_000;

export function note<T extends z.core.$ZodType>(schema: T, meaning: FieldNote): T {
  notes.add(schema, meaning);
  return schema;
}

export function text(wrong: (value: string) => string | undefined) {
  return z.string().check((context) => {
    const message = wrong(context.value);
    if (message !== undefined) context.issues.push({ code: 'custom', message, input: context.value });
  });
}

export function whole(least: number, most: number) {
  return z.number().check((context) => {
    const { value } = context;
    if (Number.isInteger(value) && least <= value && value <= most) return;
    const message = `${quoted(value)} is not a whole number from ${least} to ${most}.`;
    context.issues.push({ code: 'custom', message, input: value });
  });
}

export function wholeSeconds() {
  return z.number().check((context) => {
    const { value } = context;
    if (Number.isInteger(value) && value >= 1000 && value % 1000 === 0 && value <= YEAR_MS) return;
    const message = `${quoted(value)} is not a number of milliseconds that makes whole seconds.`;
    context.issues.push({ code: 'custom', message, input: value });
  });
}

export function list<T extends z.core.$ZodType>(item: T, most: number) {
  return z.array(item).check((context) => {
    const { length } = context.value;
    if (length >= 1 && length <= most) return;
    const message =
      length === 0 ? 'The list is empty.' : `The list has ${length} items; there may be at most ${most}.`;
    context.issues.push({ code: 'custom', message, input: context.value });
  });
}

export const name = () => text(wrongName);
export const address = () => text(wrongAddress);
export const filePath = () => text(wrongPath);

export interface Field extends FieldNote {
  /** `regions[].nodes[].listen`. */
  readonly path: string;
  readonly required: boolean;
}

export function fieldsBelow(schema: z.core.$ZodType, path: string): Field[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'optional':
      return fieldsBelow(def.innerType, path);
    case 'array':
      return fieldsBelow(def.element, `${path}[]`);
    case 'union':
      return def.options.flatMap((option) => fieldsBelow(option, path));
    case 'object':
      return Object.entries(def.shape).flatMap(([key, inner]) => {
        const found = notes.get(inner);
        if (found === undefined) return [];
        const at = path === '' ? key : `${path}.${key}`;
        const required = (inner as z.core.$ZodTypes)._zod.def.type !== 'optional';
        return [{ ...found, path: at, required }, ...fieldsBelow(inner, at)];
      });
    default:
      return [];
  }
}
