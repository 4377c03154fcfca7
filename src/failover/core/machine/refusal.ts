/** A pair of state and report that the machine does not take: the register is left as it was. */
export const REFUSALS = {
  STATE_MALFORMED: 'the register does not hold a failover state',
  REPORT_MALFORMED: 'the report has a field of the wrong form',
  STATE_TOO_NEW: 'the state needs a newer version of the machine',
  REGION_UNKNOWN: 'the region is not one of the partition-set',
  REGION_REMOVED: 'the region was removed from the partition-set',
  GCN_AHEAD: 'the report knows a higher GCN than the register: the register went back',
  INCARNATION_OLD: 'a later process of the region has reported already',
  PROGRESS_IMPOSSIBLE: 'the reported progress cannot be',
  INTENT_REFUSED: 'the intent cannot be honoured',
  FEATURE_NOT_YET: 'not every region runs a version that has this',
} as const;

export type RefusalCode = keyof typeof REFUSALS;

export interface Refusal {
  readonly code: RefusalCode;
  /** The field that is wrong, as a path from the state or the report. */
  readonly field: string;
  /** One sentence. */
  readonly message: string;
}

export function refusal(code: RefusalCode, field: string, message: string): Refusal {
  return { code, field, message };
}

export function tooNew(needed: number, version: number, field = 'minReader'): Refusal {
  const message = `The state asks for version ${needed} of the machine; this is ${version}. Upgrade it.`;
  return refusal('STATE_TOO_NEW', field, message);
}
