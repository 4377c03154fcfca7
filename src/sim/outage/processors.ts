/**
 * How long work waits for processors that many processes share: a fluid queue. Each process has a backlog of work, in
 * milliseconds of one core. Bin by bin the cores are shared out equally among the processes that have something to do: none
 * gets more than it has work for, nor more cores than it can use, and what one leaves goes to the others (max-min fair, as a
 * scheduler shares). New work waits until what was there before it is done, at the rate at which its process is being served.
 *
 * Nothing is random here and nothing knows what the work is: the same work gives the same waits.
 */

/** What processors there are, and what each process used of them in the calm: all measured while nothing is amiss. */
export interface Processors {
  readonly cores: number;
  /** In cores, by each region's process. */
  readonly regionCalm: readonly number[];
  /** In cores, by each acceptor. */
  readonly acceptorCalm: readonly number[];
  /** In cores, by everything else: it goes on using them. */
  readonly otherCalm: number;
  /** A region that is several processes can use as many cores, and counts as many in the sharing out; 1 unless told otherwise. */
  readonly processesPerRegion?: number;
}

export interface Queue {
  readonly binMs: number;
  /** What is shared out. */
  readonly cores: number;
  /** Of how many processes of one thread each one is made. */
  readonly widths: readonly number[];
  /** Of each process, in milliseconds of one core: what is not done yet. */
  readonly backlog: number[];
}

/** One bin of time passes, and takes from the backlog what the cores get done; what comes next will wait so many milliseconds. */
export function serveBin({ binMs, cores, widths, backlog }: Queue): readonly number[] {
  const served = shareCores(backlog, widths, binMs, cores * binMs);
  return backlog.map((work, process) => {
    const left = Math.max(0, work - served[process]!);
    backlog[process] = left;
    return left === 0 ? 0 : (left / served[process]!) * binMs;
  });
}

/** Who gets how much of one bin: those who want least, for their width, are served first, and leave the rest to the others. */
export function shareCores(
  wanted: readonly number[],
  widths: readonly number[],
  binMs: number,
  available: number,
): readonly number[] {
  const usable = wanted.map((work, process) => Math.min(work, widths[process]! * binMs));
  if (usable.reduce((sum, work) => sum + work, 0) <= available) return usable;
  const order = usable
    .map((_, process) => process)
    .toSorted((a, b) => usable[a]! / widths[a]! - usable[b]! / widths[b]!);
  let left = available;
  let width = widths.reduce((sum, one) => sum + one, 0);
  const served = wanted.map(() => 0);
  for (const process of order) {
    const share = Math.min(usable[process]!, (left * widths[process]!) / width);
    served[process] = share;
    left -= share;
    width -= widths[process]!;
  }
  return served;
}
