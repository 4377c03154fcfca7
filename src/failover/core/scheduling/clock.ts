/**
 * Ballots that follow the fastest clock among their rivals. A ballot that follows its proposer's own clock (`hybrid` of
 * `caspaxos`) is fresh only as long as that clock is not behind the others': a proposer that is ten seconds late is refused,
 * learns the height, waits, and is too low again, because by then the others' ballots have moved on with their clocks. Its
 * waits grow, and it is out for good.
 *
 * So a proposer that finds itself behind what it has seen moves ahead by the difference, and stays ahead: from then on its
 * ballots keep pace with the fastest clock without asking anybody. This concerns refusals only; nothing correct depends on
 * it, and no time is ever compared for a lease. Pure apart from what it remembers.
 *
 * All registers of a process share what it remembers, so a register whose ballots are not a clock's moves none of the others
 * (CASPaxos rule 11).
 */
import { LATEST_CLOCK_MS } from '../../../protocol/index.ts';

/** No clock is wrong by more than four years. */
const LONGEST_LEAD_MS = 2 ** 37;

export function followFastest(nowMs: () => number): (floor: number) => number {
  let ahead = 0;
  return (floor) => {
    const now = Math.floor(Math.min(nowMs(), LATEST_CLOCK_MS));
    if (now + ahead > floor) return now + ahead;
    const lead = floor + 1 - now;
    if (lead <= LONGEST_LEAD_MS) ahead = lead;
    return floor + 1;
  };
}
