/** Routes that act, with what they do written into the audit trail. What only tries is not an act. */
import { z } from 'zod';
import { HttpError, type HttpAnswer, type HttpRequest, type Route } from '../http/index.ts';
import type { AuditEnd, AuditEntry, AuditTrail } from './audit.ts';

export interface Audited {
  readonly audit: AuditTrail;
  readonly now: () => Date;
  readonly action: AuditEntry['action'];
}

const TRIAL = z.looseObject({ dryRun: z.literal(true) });
const NAMED = z.looseObject({ who: z.string().min(1) });
const AIMED = z.union([
  z.looseObject({ partitionSet: z.string() }).transform(({ partitionSet }) => partitionSet),
  z.looseObject({ targets: z.array(z.string()) }).transform(({ targets }) => targets.join(', ')),
]);
/** Of what was asked; more of it is not needed to know what it was. */
const MOST_DETAIL = 4096;

export function audited(handle: Route['handle'], { audit, now, action }: Audited): Route['handle'] {
  return async (request) => {
    if (TRIAL.safeParse(request.body).success) return handle(request);
    const end = await audit.begin({
      at: now().toISOString(),
      role: request.role ?? 'operator',
      who: NAMED.safeParse(request.body).data?.who.slice(0, 64) ?? null,
      from: request.from,
      action,
      target: request.params['name'] ?? AIMED.safeParse(request.body).data?.slice(0, 256) ?? null,
      detail: detailOf(request),
    });
    return followed(handle, request, end);
  };
}

async function followed(
  handle: Route['handle'],
  request: HttpRequest,
  end: (how: AuditEnd) => void,
): Promise<HttpAnswer> {
  try {
    const answer = await handle(request);
    end({ outcome: 'done', code: null });
    return answer;
  } catch (error) {
    const isRefusal = error instanceof HttpError && error.status < 500;
    end({
      outcome: isRefusal ? 'refused' : 'failed',
      code: error instanceof HttpError ? error.code : 'INTERNAL',
    });
    throw error;
  }
}

function detailOf({ body }: HttpRequest): Record<string, unknown> {
  const read = z.record(z.string(), z.unknown()).safeParse(body);
  if (!read.success) return {};
  const { who: _, ...detail } = read.data;
  return JSON.stringify(detail).length <= MOST_DETAIL ? detail : { isTooLong: true };
}
