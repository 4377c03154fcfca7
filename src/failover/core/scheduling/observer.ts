/**
 * When somebody who watches a writer looks again (DESIGN 4, "Silence", and rule 4). A region that has learned of the
 * writer's beat may declare the writer silent once it has waited a whole lease, with a margin for clocks that run at
 * different rates, and the beat is still the same. The paper's regions notice that at their next heartbeat, which with an
 * interval of 30 s and a lease of 45 s is 60 s after they learned of the beat; one that wakes when the wait is over needs
 * 45 s. As long as the writer beats, the wait never ends and this costs nothing.
 *
 * Pure. All durations are those of the one who waits, on its own monotonic clock.
 */
import type { PolicyElements } from './policy.ts';

export interface Watching {
  /** How long ago the writer's present beat was learned. */
  readonly learnedMsAgo: number;
  /** How long the writer's lease takes to be certainly over. */
  readonly waitMs: number;
  /** How long until this region's own next heartbeat. */
  readonly heartbeatInMs: number;
}

/** In how many milliseconds to look again; 0 when the wait is over and an update that declares silence is due. */
export function lookAgainMs(observer: PolicyElements['observer'], watch: Watching): number {
  const { learnedMsAgo, waitMs, heartbeatInMs } = watch;
  if (observer === 'heartbeat') return heartbeatInMs;
  // Rounded up, as timers are whole: whoever wakes then has waited long enough.
  return Math.min(heartbeatInMs, Math.max(0, Math.ceil(waitMs - learnedMsAgo)));
}

/** Whether an update that starts now may declare the writer silent. */
export function mayDeclareSilence({ learnedMsAgo, waitMs }: Omit<Watching, 'heartbeatInMs'>): boolean {
  return learnedMsAgo >= waitMs;
}
