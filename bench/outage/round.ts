/** One run: the cluster comes up, clients write, the outages happen, and what everybody saw is put together. */
import { setTimeout as sleep } from 'node:timers/promises';
import { partitionSetsOf } from 'baton/server';
import {
  Durations,
  measureOutage,
  newOutageCounts,
  noteService,
  type OutageCounts,
  type Stretch,
} from 'baton/sim';
import { type Calm, measureCalm } from './calm.ts';
import { type ClientReport } from './client-process.ts';
import { Clients } from './clients.ts';
import { nowMs } from './clock.ts';
import { type HistoryRow, OutageGround } from './ground.ts';
import { type Counted, countRequests, loadOf } from './load.ts';
import { HOME, type OutagePlan, REGIONS } from './plan.ts';
import { plannedCase } from './simulated.ts';
import { type Usage, UsageWatch } from './usage.ts';

export interface RealOutage {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** The parts of a recovery that can be told from outside. */
export interface RealParts {
  /** From the outage to the raise: the lease that was left, and somebody waking. */
  readonly untilRaised: Durations;
  /** Fencing, reporting, election. */
  readonly untilElected: Durations;
  /** From there to the first acknowledged write. */
  readonly untilWritten: Durations;
  /** From the outage to the election: what the service knows of it. */
  readonly service: Durations;
}

export interface RealResult {
  readonly plan: OutagePlan;
  readonly counts: OutageCounts;
  readonly parts: RealParts;
  readonly outages: readonly RealOutage[];
  readonly startMs: number;
  readonly durationMs: number;
  /** While nothing was amiss. */
  readonly calm: Calm;
  readonly acknowledged: number;
  readonly lostWrites: number;
  readonly unknown: number;
  readonly refused: number;
  readonly usages: readonly Usage[];
  /** Partition-sets that were not home again when the calm after an outage was over. */
  readonly away: number;
  /** How many times as much as in the calm the acceptors were asked, in the outage with the most. */
  readonly load: number | undefined;
}

const MINUTE_MS = 60_000;
const START_PATIENCE_MS = 10 * MINUTE_MS;
const LOOK_MS = 250;

export async function runOutages(plan: OutagePlan, say: (text: string) => void): Promise<RealResult> {
  const startMs = nowMs();
  say(
    `starting ${REGIONS.length} regions and ${plan.acceptors} acceptors for ${plan.partitionSets} partition-sets`,
  );
  const ground = await OutageGround.start(plan);
  let clients: Clients | undefined;
  let usage: UsageWatch | undefined;
  try {
    await comeUp(ground, plan, say);
    usage = new UsageWatch(() => [
      ...ground.watched,
      ...(clients === undefined ? [] : [{ name: 'clients', pid: clients.pid }]),
    ]);
    clients = await Clients.start({
      account: ground.cluster.config.account.name,
      endpoints: ground.endpoints,
      token: ground.cluster.clientToken,
      sets: partitionSetsOf(ground.cluster.config),
      regions: REGIONS,
      everyMs: plan.writeEveryMs,
      firstWithinMs: Math.max(plan.writeEveryMs, (plan.warmSeconds * 1000) / 3),
      timeoutMs: plan.minutes * MINUTE_MS + plan.calmMinutes * MINUTE_MS,
    });
    // Longer than an interval; and long enough for processes that have just begun to run at the speed that they keep. While the
    // clients come, and their code and the nodes' is compiled, it is no calm: that is measured in the last third.
    const warmMs = Math.max(3 * plan.writeEveryMs, plan.warmSeconds * 1000);
    say(
      `clients write to each partition-set every ${plan.writeEveryMs} ms; warming up for ${Math.round(warmMs / 1000)} s`,
    );
    await sleep((2 * warmMs) / 3);
    const before = await countRequests(usage);
    const calm = await measureCalm(ground, usage, warmMs / 3);
    const quiet = [before, await countRequests(usage)] as const;
    const seen: Seen = { outages: [], detect: new Durations(), history: [], away: 0, asked: [] };
    for (let number = 1; number <= plan.outages; number += 1)
      await oneOutage({ ground, usage, plan, seen, say }, number);
    const loads = seen.asked.map((asked) => loadOf(quiet, asked) ?? 0);
    say('reading back the acknowledged writes');
    const report = await clients.finish();
    const load = Math.max(...loads) || undefined;
    return { ...resultOf(plan, startMs, seen, report, await usage.stop()), calm, load };
  } finally {
    usage?.end();
    clients?.kill();
    await ground.cluster.killAll();
  }
}

interface Seen {
  readonly outages: RealOutage[];
  readonly detect: Durations;
  history: readonly HistoryRow[];
  away: number;
  /** What the acceptors had been asked when each outage began, and when it ended. */
  readonly asked: (readonly [Counted, Counted])[];
}

async function comeUp(ground: OutageGround, plan: OutagePlan, say: (text: string) => void): Promise<void> {
  let said = -1;
  const onLook = (count: number): void => {
    if (count !== said) say(`${count} of ${plan.partitionSets} partition-sets have their writer in ${HOME}`);
    said = count;
  };
  const startedAt = nowMs();
  const settledMs = (plan.warmSeconds * 1000) / 3;
  for (let sinceMs: number | undefined; sinceMs === undefined || nowMs() - sinceMs < settledMs;) {
    const home = await ground.untilHome(startedAt + START_PATIENCE_MS - nowMs(), onLook);
    if (home < plan.partitionSets)
      throw new Error(
        `Only ${home} of ${plan.partitionSets} partition-sets came up in ${START_PATIENCE_MS / MINUTE_MS} minutes.`,
      );
    sinceMs ??= nowMs();
    await sleep(LOOK_MS * 4);
    if ((await ground.homeNow()) < plan.partitionSets) sinceMs = undefined;
  }
}

interface Stage {
  readonly ground: OutageGround;
  readonly usage: UsageWatch;
  readonly plan: OutagePlan;
  readonly seen: Seen;
  readonly say: (text: string) => void;
}

async function oneOutage({ ground, usage, plan, seen, say }: Stage, number: number): Promise<void> {
  const fromMs = nowMs();
  say(`outage ${number} of ${plan.outages}: ${plan.kind}`);
  await ground.strike();
  const struck = await countRequests(usage);
  await sleep(Math.max(0, fromMs + plan.minutes * MINUTE_MS - nowMs()));
  const untilMs = nowMs();
  seen.asked.push([struck, await countRequests(usage)]);
  seen.outages.push({ fromMs, untilMs });
  say(`outage ${number} has ended`);
  const noticed = noticeReturn(ground, plan, untilMs, seen.detect);
  await ground.heal();
  const calmUntil = untilMs + plan.calmMinutes * MINUTE_MS;
  const home = await ground.untilHome(calmUntil - nowMs(), () => {});
  await noticed;
  seen.away += plan.partitionSets - home;
  say(
    `${home} of ${plan.partitionSets} partition-sets are back in ${HOME} after ${Math.round((nowMs() - untilMs) / 1000)} s`,
  );
  seen.history = await ground.historySince(seen.outages[0]!.fromMs);
  // The last outage needs no calm after it beyond a look at where everything is.
  if (number < plan.outages) await sleep(Math.max(0, calmUntil - nowMs()));
  else await sleep(2 * plan.writeEveryMs);
}

/** Figure 8 without a word from each partition-set: how many the returned region knows the state of, look by look. */
async function noticeReturn(
  ground: OutageGround,
  plan: OutagePlan,
  untilMs: number,
  detect: Durations,
): Promise<void> {
  if (plan.kind.startsWith('acceptors')) return;
  const giveUpAt = untilMs + plan.calmMinutes * MINUTE_MS;
  let known = 0;
  while (known < plan.partitionSets && nowMs() < giveUpAt) {
    const now = await ground.knownAt(HOME);
    for (; known < now; known += 1) detect.record(nowMs() - untilMs);
    await sleep(LOOK_MS);
  }
}

function resultOf(
  plan: OutagePlan,
  startMs: number,
  seen: Seen,
  report: ClientReport,
  usages: readonly Usage[],
): Omit<RealResult, 'calm' | 'load'> {
  const durationMs = nowMs() - startMs;
  const counts = newOutageCounts({
    ...plannedCase(plan),
    minutes: durationMs / MINUTE_MS,
    outages: 1,
    calmMinutes: 0,
  });
  const parts: RealParts = {
    untilRaised: new Durations(),
    untilElected: new Durations(),
    untilWritten: new Durations(),
    service: new Durations(),
  };
  const bySet = new Map<string, HistoryRow[]>();
  for (const row of seen.history) {
    const rows = bySet.get(row.partitionSet);
    if (rows === undefined) bySet.set(row.partitionSet, [row]);
    else rows.push(row);
  }
  const calmMs = plan.calmMinutes * MINUTE_MS;
  for (const [name, absolute] of Object.entries(report.service)) {
    const service = absolute.map((stretch) => shifted(stretch, startMs));
    counts.partitionSets += 1;
    for (const { fromMs, untilMs } of seen.outages) {
      const window = { fromMs: fromMs - startMs, untilMs: untilMs - startMs };
      const availability = { service, marks: [], returns: [], renewals: [], regionMarks: [] };
      measureOutage(window, availability, { regionNames: REGIONS, calmMs }, counts);
      breakDown({ fromMs, untilMs }, bySet.get(name) ?? [], absolute, parts);
    }
    noteService(service, counts);
  }
  counts.detect.add(seen.detect.snapshot());
  counts.failovers = seen.history.filter(({ what }) => what === 'raised').length;
  counts.doubleWriters = doubles(seen.history);
  counts.lostWrites = report.lost;
  counts.requests = usages.reduce((sum, { requests }) => sum + requests, 0);
  const { acknowledged, lost, unknown, refused } = report;
  const { outages, away } = seen;
  return {
    plan,
    counts,
    parts,
    outages,
    startMs,
    durationMs,
    acknowledged,
    lostWrites: lost,
    unknown,
    refused,
    usages,
    away,
  };
}

function shifted({ region, from, to }: Stretch, startMs: number): Stretch {
  return { region, from: from - startMs, to: to - startMs };
}

function breakDown(
  { fromMs, untilMs }: RealOutage,
  history: readonly HistoryRow[],
  service: readonly Stretch[],
  parts: RealParts,
): void {
  const during = history.filter(({ atMs }) => atMs >= fromMs && atMs < untilMs);
  const raised = during.find(({ what }) => what === 'raised');
  const written = service.find(({ from }) => from >= fromMs);
  if (raised === undefined || written === undefined || written.from >= untilMs) return;
  // The last one before the write; the clocks of two processes may be a moment apart.
  const elections = during.filter(({ what }) => what === 'elected');
  const elected = elections.findLast(({ atMs }) => atMs <= written.from) ?? elections[0];
  if (elected === undefined) return;
  parts.untilRaised.record(raised.atMs - fromMs);
  parts.untilElected.record(elected.atMs - raised.atMs);
  parts.untilWritten.record(Math.max(0, written.from - elected.atMs));
  parts.service.record(elected.atMs - fromMs);
}

/** Partition-sets for which one GCN was given to two regions. */
function doubles(history: readonly HistoryRow[]): number {
  const writers = new Map<string, string | null>();
  let count = 0;
  for (const { partitionSet, gcn, what, region } of history) {
    if (what !== 'elected' && what !== 'switched') continue;
    const key = `${partitionSet} ${gcn}`;
    if (writers.has(key) && writers.get(key) !== region) count += 1;
    writers.set(key, region);
  }
  return count;
}
