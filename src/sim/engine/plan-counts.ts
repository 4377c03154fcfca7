/** What plans went through, for the counts of a campaign: one in which no write was ever sent again has shown nothing about that. */
import type { NodeAnswer, PlanRan } from '../../client/index.ts';

export const PLANS_MUST = [
  'plan: retried elsewhere',
  'plan: repeated after unknown',
  'plan: followed a hint',
  'plan: hedged',
  'plan: hedge won',
  'plan: reported not applied',
  'plan: reported unknown',
  'plan: given up',
] as const;

/** That a region asks to come back later is seen too, and is rare. */
type Sight = (typeof PLANS_MUST)[number] | 'plan: asked to come back';

/** Nobody said what became of it. */
const UNRESOLVED: ReadonlySet<string> = new Set(['SILENT', 'CANCELLED', 'UNKNOWN', 'CONNECTION_LOST']);

export function countPlan(
  what: 'write' | 'read' | 'scan',
  { result, attempts }: PlanRan<NodeAnswer>,
  count: (what: string) => void,
): void {
  const saw = (sight: Sight, isSo: boolean): void => {
    if (isSo) count(sight);
  };
  count(`plan ${what}: ${result.ok ? 'ok' : result.error.code}`);
  const isWrite = what === 'write';
  saw('plan: retried elsewhere', result.ok && new Set(attempts.map(({ region }) => region)).size > 1);
  saw(
    'plan: repeated after unknown',
    isWrite && result.ok && attempts.some((attempt) => UNRESOLVED.has(attempt.what)),
  );
  saw(
    'plan: followed a hint',
    attempts.some(({ why }) => why === 'named as the writer'),
  );
  saw(
    'plan: asked to come back',
    attempts.some(({ why }) => why === 'asked to come back'),
  );
  saw(
    'plan: hedged',
    attempts.some(({ hedge }) => hedge),
  );
  saw(
    'plan: hedge won',
    attempts.some((attempt) => attempt.hedge && attempt.what === 'DONE'),
  );
  saw('plan: reported not applied', isWrite && !result.ok && result.error.outcome === 'notApplied');
  saw('plan: reported unknown', isWrite && !result.ok && result.error.outcome === 'unknown');
  saw('plan: given up', !result.ok && result.error.code === 'ABORTED');
}
