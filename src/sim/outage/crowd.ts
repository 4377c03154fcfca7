/**
 * The crowd that the partition-sets of a fleet are to each other. Each is simulated alone; but the processes that serve it serve
 * all the others too, and when these have much to do at the same moment it waits. Here are the two sides of that, by process and
 * bin of time: the work that a partition-set gives to each process, and the wait that it finds there. What makes waits of the
 * work of many is `crowd-waits.ts`.
 *
 * Work is counted in requests: a region's process has half of one when it sends a request to an acceptor and half when the answer
 * arrives, an acceptor a whole one when the request arrives. Bins begin a minute before the first outage: the calm that work is
 * measured by.
 */
import { durationMs, type OutageCase, outageTimes } from './case.ts';

export const BIN_MS = 10;
export const CALM_BINS = 6000;

/** `[process][bin]`; the regions' processes first, then the acceptors. */
export type Bins = readonly Float64Array[];

export interface Crowd {
  /** When the first bin begins. */
  readonly fromMs: number;
  /** How long, in milliseconds, what arrives at a process waits before it is dealt with. */
  readonly waits: Bins;
  /** Where work is counted, if it is. */
  readonly work?: Bins;
}

export function crowdFromMs(outageCase: OutageCase): number {
  return (outageTimes(outageCase)[0]?.fromMs ?? durationMs(outageCase)) - CALM_BINS * BIN_MS;
}

export function newBins(outageCase: OutageCase): Bins {
  const { regions, acceptors } = outageCase;
  const bins = Math.ceil((durationMs(outageCase) - crowdFromMs(outageCase)) / BIN_MS);
  return [...regions, ...acceptors].map(() => new Float64Array(bins));
}

export function waitAt(crowd: Crowd | undefined, process: number, atMs: number): number {
  if (crowd === undefined || atMs < crowd.fromMs) return 0;
  return crowd.waits[process]![Math.floor((atMs - crowd.fromMs) / BIN_MS)] ?? 0;
}

export function noteWork(crowd: Crowd | undefined, process: number, atMs: number, requests: number): void {
  if (crowd?.work === undefined || atMs < crowd.fromMs) return;
  const row = crowd.work[process]!;
  const bin = Math.floor((atMs - crowd.fromMs) / BIN_MS);
  if (bin < row.length) row[bin]! += requests;
}
