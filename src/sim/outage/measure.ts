/** From what clients would have seen of one partition-set to the paper's times (Figures 7 and 8), and the parts of a recovery. */
import type { OutageTimes } from './case.ts';
import { BUCKET_MS, type FlapCounts, type OutageCounts, RECOVERY_PARTS } from './counts.ts';
import type { Availability, Stretch } from './monitor.ts';

/** Shorter gaps are a switch of the writes or a slow commit, not an outage. */
export const GAP_MS = 1000;

export interface MeasureOptions {
  readonly regionNames: readonly string[];
  /** How long after the outage a return still belongs to it. */
  readonly calmMs: number;
}

export function measureOutage(
  { fromMs, untilMs }: OutageTimes,
  availability: Availability,
  { regionNames, calmMs }: MeasureOptions,
  counts: OutageCounts,
): void {
  const { service, returns } = availability;
  const before = service.findLast(({ from }) => from < fromMs);
  const stoppedAt = before === undefined ? fromMs : Math.max(fromMs, Math.min(before.to, untilMs));
  const next = service.find(({ from }) => from >= fromMs);
  const isAffected =
    before === undefined || (before.to < untilMs && (next?.from ?? Infinity) - before.to > GAP_MS);
  if (isAffected) {
    counts.affected += 1;
    if (next !== undefined && next.from < untilMs) {
      counts.recovered += 1;
      counts.recovery.record(next.from - stoppedAt);
      breakDown(stoppedAt, next.from, availability, regionNames, counts);
    }
  }
  const heard = returns.find(({ region, atMs }) => region === 0 && atMs >= untilMs);
  if (heard !== undefined && heard.atMs < untilMs + calmMs) counts.detect.record(heard.atMs - untilMs);
  const wasAway = service.some(
    ({ region, from, to }) => region !== 0 && from < untilMs && to > untilMs - GAP_MS,
  );
  const homeAt = service.findIndex(({ region, from }) => region === 0 && from >= untilMs);
  const home = service[homeAt];
  if (!wasAway || home === undefined || home.from >= untilMs + calmMs) return;
  counts.failback.record(home.from - untilMs);
  counts.failbackGap.record(home.from - (service[homeAt - 1]?.to ?? home.from));
}

/**
 * Until the writer's lease ended; until somebody woke and raised the GCN; until the region that was elected had fenced itself;
 * until its report was in the register; until the election; until writes went on.
 */
function breakDown(
  fromMs: number,
  toMs: number,
  { marks, renewals, regionMarks }: Availability,
  regionNames: readonly string[],
  counts: OutageCounts,
): void {
  const within = marks.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs);
  const raised = within.find(({ phase }) => phase === 'Ungraceful');
  const elected = within.findLast(({ phase }) => phase === 'Steady');
  if (raised === undefined || elected === undefined) return;
  const chosen = regionNames.indexOf(elected.writer ?? '');
  const firstTime = (did: 'fence' | 'update', since: number): number =>
    regionMarks.find((mark) => mark.region === chosen && mark.did === did && mark.atMs >= since)?.atMs ??
    Infinity;
  const leaseEnd = renewals.findLast(({ atMs }) => atMs <= fromMs)?.untilMs ?? fromMs;
  const fencedAt = Math.min(firstTime('fence', raised.atMs), elected.atMs);
  const reportedAt = Math.min(firstTime('update', fencedAt), elected.atMs);
  const ends = [
    Math.min(Math.max(leaseEnd, fromMs), raised.atMs),
    raised.atMs,
    fencedAt,
    reportedAt,
    elected.atMs,
    toMs,
  ];
  for (const [at, part] of RECOVERY_PARTS.entries()) {
    counts[part].record(ends[at]! - (at === 0 ? fromMs : ends[at - 1]!));
  }
}

/** Counted in the flap in which it happened: a region that is no longer trusted with the writes neither loses nor gets them. */
export function countFlaps(
  flaps: readonly OutageTimes[],
  { marks, service }: Availability,
  calmMs: number,
  counts: readonly FlapCounts[],
): void {
  const returned = service.filter(({ region }, at) => region === 0 && (service[at - 1]?.region ?? 0) !== 0);
  for (const [at, { fromMs, untilMs }] of flaps.entries()) {
    const endMs = flaps[at + 1]?.fromMs ?? untilMs + calmMs;
    const isIn = (ms: number): boolean => ms >= fromMs && ms < endMs;
    const isRaised = marks.some(({ phase, atMs }) => phase === 'Ungraceful' && isIn(atMs));
    if (isRaised) counts[at]!.failovers += 1;
    if (returned.some(({ from }) => isIn(from))) counts[at]!.failbacks += 1;
  }
}

export function noteService(service: readonly Stretch[], { serving }: OutageCounts): void {
  for (const { region, from, to } of service) {
    const last = Math.min(serving.length - 1, Math.floor((to - 1) / BUCKET_MS));
    for (let bucket = Math.ceil(from / BUCKET_MS); bucket <= last; bucket += 1)
      serving[bucket]![region]! += 1;
  }
}
