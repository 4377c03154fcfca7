/**
 * What a fleet waits for the processors that it shares. A part of it is simulated in step, bin by bin of time: all partition-sets
 * go on to the end of the bin, the work that they gave to each process is added up, the processors do what they get done of it
 * (`processors.ts`), and what is left is what everything waits in the next bin. So waits and work fit each other at every
 * moment, and a partition-set that is simulated alone with these waits finds the crowd that it is part of.
 *
 * What a request costs follows from the calm minute before the first outage, which is made to use exactly the cores that the real
 * calm used; so it does not matter either how many stand for the fleet. An acceptor does nothing but answer requests: one costs
 * it its cores divided by their number. A region's process does much else. One thing is assumed of it: that a request costs who
 * asks as much as it costs who answers, both of whom pack, send, receive, unpack and look at it. Whatever more the process used in
 * the calm goes on being used, whatever happens. In the calm itself nobody waits: its waits are in what a message takes.
 *
 * Not in it: what a driver and a client do in an outage and not in the calm; and a process that dies leaves what it had not done
 * to be done.
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
const CALM_MS = CALM_BINS * BIN_MS;
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
  const queue = queueOf(processors, restOf(work, costs, processors));
  for (let bin = CALM_BINS; bin < work[0]!.length && signal?.aborted !== true; bin += 1) {
    for (const one of sample) one.goOn(fromMs + (bin + 1) * BIN_MS);
    for (const [process, cost] of costs.entries()) queue.backlog[process]! += work[process]![bin]! * cost;
    for (const [process, wait] of serveBin(queue).entries()) waits[process]![bin + 1] = wait;
    if (bin % TURN_BINS === 0) await setImmediate();
  }
  return waits;
}

/** Of one request at each process, in milliseconds of a core. Where there is nothing to do in the calm it costs nothing. */
export function costsOf(work: Bins, { regionCalm, acceptorCalm }: Processors): readonly number[] {
  const requests = work.map(calmRequests);
  const answered = sum(requests.slice(regionCalm.length));
  const answering = answered === 0 ? 0 : (sum(acceptorCalm) * CALM_MS) / answered;
  return requests.map((count, process) => {
    const calm = regionCalm[process] ?? acceptorCalm[process - regionCalm.length] ?? 0;
    const most = count === 0 ? 0 : (calm * CALM_MS) / count;
    return process < regionCalm.length ? Math.min(most, answering) : most;
  });
}

/** What the regions' processes used in the calm for other things than requests, in cores. */
export function restOf(work: Bins, costs: readonly number[], { regionCalm }: Processors): number {
  return sum(
    regionCalm.map((calm, process) => calm - (calmRequests(work[process]!) * costs[process]!) / CALM_MS),
  );
}

function calmRequests(row: Float64Array): number {
  return row.subarray(0, CALM_BINS).reduce((total, count) => total + count, 0);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Empty: what the calm leaves undone is in what a message takes. `rest`: cores that are used for something else. */
export function queueOf(processors: Processors, rest = 0): Queue {
  const { cores, regionCalm, acceptorCalm, otherCalm, processesPerRegion = 1 } = processors;
  const widths = [...regionCalm.map(() => processesPerRegion), ...acceptorCalm.map(() => 1)];
  const shared = Math.max(cores - otherCalm - rest, LEAST_SHARE * cores);
  return { binMs: BIN_MS, cores: shared, widths, backlog: widths.map(() => 0) };
}
