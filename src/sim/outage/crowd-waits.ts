/**
 * What a fleet waits for the processors that it shares. A part of it is simulated in step, bin by bin of time: all partition-sets
 * go on to the end of the bin, the work that they gave to each process is added up, the processors do what they get done of it
 * (`processors.ts`), and what is left is what everything waits in the next bin. So waits and work fit each other at every
 * moment, and a partition-set that is simulated alone with these waits finds the crowd that it is part of.
 *
 * What a request costs is not assumed. The calm minute before the first outage is made to use exactly the cores that the real
 * calm used, and the outage costs what follows from that; so it does not matter either how many stand for the fleet. In the
 * calm itself nobody waits: the waits of the calm are in what a message takes.
 *
 * Not in it: work that is no request (a driver's, a client's), which is taken to grow with the requests; and a process that dies
 * leaves what it had not done to be done.
 */
import { setImmediate } from 'node:timers/promises';
import type { OutageCase } from './case.ts';
import { BIN_MS, type Bins, CALM_BINS, crowdFromMs, newBins } from './crowd.ts';
import { startSome } from './outage.ts';
import { type Processors, type Queue, serveBin } from './processors.ts';

/** So many partition-sets stand for the fleet. */
const SAMPLE = 300;
/** Of the cores that are there: what is shared out even if everything else seemed to use them all. */
const LEAST_SHARE = 0.05;
const SECOND_MS = 1000;
/** After so many bins others get a turn. */
const TURN_BINS = 100;

/** When the signal aborts, nothing waits from there on. */
export async function crowdWaits(
  outageCase: OutageCase,
  partitionSets: number,
  processors: Processors,
  signal?: AbortSignal,
): Promise<Bins> {
  const fromMs = crowdFromMs(outageCase);
  const waits = newBins(outageCase);
  const work = newBins(outageCase);
  const sample = startSome(outageCase, Math.min(SAMPLE, partitionSets), { fromMs, waits, work });
  for (const one of sample) {
    one.goOn(fromMs + CALM_BINS * BIN_MS);
    await setImmediate();
    if (signal?.aborted === true) return waits;
  }
  const costs = costsOf(work, processors);
  const queue = queueOf(processors);
  for (let bin = CALM_BINS; bin < work[0]!.length && signal?.aborted !== true; bin += 1) {
    for (const one of sample) one.goOn(fromMs + (bin + 1) * BIN_MS);
    for (const [process, cost] of costs.entries()) queue.backlog[process]! += work[process]![bin]! * cost;
    for (const [process, wait] of serveBin(queue).entries()) waits[process]![bin + 1] = wait;
    if (bin % TURN_BINS === 0) await setImmediate();
  }
  return waits;
}

/** Of one request at each process, in milliseconds of a core. One that has nothing to do in the calm costs nothing. */
function costsOf(work: Bins, { regionCalm, acceptorCalm }: Processors): readonly number[] {
  const calm = [...regionCalm, ...acceptorCalm];
  const seconds = (CALM_BINS * BIN_MS) / SECOND_MS;
  return work.map((row, process) => {
    const requests = row.subarray(0, CALM_BINS).reduce((sum, count) => sum + count, 0);
    return requests === 0 ? 0 : ((calm[process] ?? 0) * SECOND_MS * seconds) / requests;
  });
}

/** Empty: what the calm leaves undone is in what a message takes. */
export function queueOf(processors: Processors): Queue {
  const { cores, regionCalm, acceptorCalm, otherCalm, processesPerRegion = 1 } = processors;
  const widths = [...regionCalm.map(() => processesPerRegion), ...acceptorCalm.map(() => 1)];
  const shared = Math.max(cores - otherCalm, LEAST_SHARE * cores);
  return { binMs: BIN_MS, cores: shared, widths, backlog: widths.map(() => 0) };
}
