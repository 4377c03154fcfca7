/** Whether a region has something to say that is not in the register yet, and that is waited for. */
import { type FailoverState, sameProgress, type WriterReport } from '../machine/index.ts';
import type { DriverStatus } from './driver.ts';
import { unansweredMs } from './duties.ts';
import type { AgentOptions } from './port.ts';

/**
 * Who has nothing to say that is not in the register looks on, and leaves it to the others: in an election whoever has reported; in
 * a planned move the writer until the target has been heard, and the target until the final report is there. A move that takes long
 * is given up in an update. `saidIn`: the step of an own update since which nothing has happened.
 */
export function looksOn(
  state: FailoverState,
  { region, incarnation }: Pick<AgentOptions, 'region' | 'incarnation'>,
  status: DriverStatus,
  { saidIn, stepMs }: { readonly saidIn: number | undefined; readonly stepMs: number },
): boolean {
  const { phase, writer, quiesce, final, step, configuration } = state;
  if (phase === 'Ungraceful') {
    const own = state.regions[region];
    if (own?.report === undefined || own.incarnation !== incarnation) return false;
    return sameProgress(own.report.progress, status.progress);
  }
  const waitsForOther = writer === region ? quiesce !== true : final === undefined;
  return waitsForOther && saidIn === step && stepMs < unansweredMs(configuration);
}

/** A planned move waits for what that region can say now: that its writes have ended, or that it has all of them. */
export function canMoveOn(
  { writer, target, final }: FailoverState,
  region: string,
  status: DriverStatus,
  hasQuiesced: boolean,
): boolean {
  if (target === region) return final !== undefined && sameProgress(status.progress, final);
  return writer === region && final === undefined && hasQuiesced;
}

/** Whether the writer asks for something that would be granted. */
export function asksNow(
  { add, remove = [], readyFor }: Asks,
  { leaseSet, configuration }: FailoverState,
): boolean {
  const canRemove = leaseSet.length > configuration.minDurability;
  return add !== undefined || readyFor !== undefined || (remove.length > 0 && canRemove);
}

type Asks = Pick<WriterReport, 'add' | 'remove' | 'readyFor'>;

/** Rule 22: its stop mark is in the register, and the writes are elsewhere. */
export function hasStopped(
  { regions, writer }: FailoverState,
  { region, incarnation }: Pick<AgentOptions, 'region' | 'incarnation'>,
): boolean {
  return regions[region]?.stop === incarnation && writer !== region;
}
