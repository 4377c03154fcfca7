/** Wishes of operators: read, checked against the form that the machine takes, posted, or only tried. */
import { z } from 'zod';
import { type FailoverState, type IntentBody, parseReport, transition } from '../../failover/index.ts';
import { badRequest, HttpError } from '../http/index.ts';

export interface PostedIntent {
  readonly intent: IntentBody;
  readonly by: { readonly id: string; readonly who: string; readonly gcn?: number };
  readonly dryRun: boolean;
}

const name = z.string().min(1).max(64);
export const INTENT_FORM = z.strictObject({
  intent: z.looseObject({ kind: z.string() }),
  id: name,
  who: name,
  gcn: z.int().min(1).optional(),
  dryRun: z.boolean().optional(),
});

/** Throws BAD_REQUEST. `at`: for people. */
export function intentIn(body: unknown, at: string): PostedIntent {
  const parsed = INTENT_FORM.safeParse(body);
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    const field = issue.path.join('.');
    throw badRequest(`${field === '' ? 'The body' : `The field ${field}`} is wrong: ${issue.message}.`);
  }
  const { intent, id, who, gcn, dryRun = false } = parsed.data;
  const by = { id, who, ...(gcn !== undefined && { gcn }) };
  const report = parseReport({ type: 'intent', at, intent, ...by });
  if ('refusal' in report) throw badRequest(report.refusal.message);
  return { intent: intent as unknown as IntentBody, by, dryRun };
}

export interface StateChange {
  /** A path, such as `configuration.minDurability`. */
  readonly field: string;
  readonly from: unknown;
  readonly to: unknown;
}

/** What would become of the state. Throws 409 with the refusal's code. */
export function tryIntent(
  state: FailoverState,
  { intent, by }: PostedIntent,
  at: string,
): { readonly state: FailoverState; readonly changes: readonly StateChange[] } {
  const verdict = transition(state, { type: 'intent', at, intent, ...by });
  if (verdict.verdict === 'refused') throw new HttpError(409, verdict.refusal.code, verdict.refusal.message);
  return { state: verdict.state, changes: changesBetween(state, verdict.state, '') };
}

/** Where the two differ: objects are looked into, everything else is compared whole. */
function changesBetween(from: unknown, to: unknown, field: string): StateChange[] {
  if (JSON.stringify(from) === JSON.stringify(to)) return [];
  if (!isObject(from) || !isObject(to)) return [{ field, from: from ?? null, to: to ?? null }];
  const keys = new Set([...Object.keys(from), ...Object.keys(to)]);
  return [...keys].flatMap((key) =>
    changesBetween(from[key], to[key], field === '' ? key : `${field}.${key}`),
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
