/** What every process answers: how it is, and its metrics. */
import type { Registry } from 'prom-client';
import { z } from 'zod';
import type { Route } from './routes.ts';

export const HEALTH = z
  .object({
    status: z.enum(['ok', 'starting', 'stopping', 'failing']),
    /** Why it is not well, one sentence each. */
    reasons: z.array(z.string()).readonly(),
  })
  .readonly();
export type Health = z.infer<typeof HEALTH>;

export interface StatusSources {
  /** Whether it does its work, well or not so well. */
  readonly health: () => Health;
  /** Whether it is alive at all: restarting it would help if not. Without it, whoever answers lives. */
  readonly liveness?: () => Health;
  /** Whether it can be sent work. */
  readonly readiness: () => Health;
  readonly metrics: Registry;
}

export const WELL: Health = { status: 'ok', reasons: [] };

export function statusRoutes({
  health,
  liveness = () => WELL,
  readiness,
  metrics,
}: StatusSources): readonly Route[] {
  const about = (path: string, ask: () => Health): Route => ({
    method: 'GET',
    path,
    isOpen: true,
    forms: { answer: HEALTH },
    handle: () => {
      const found = ask();
      return { status: found.status === 'ok' ? 200 : 503, json: found };
    },
  });
  return [
    about('/health', health),
    about('/liveness', liveness),
    about('/readiness', readiness),
    {
      method: 'GET',
      path: '/metrics',
      isOpen: true,
      handle: async () => ({ text: await metrics.metrics(), type: metrics.contentType }),
    },
  ];
}
