/** Whether a machine carries what `baton up` is asked to run on it, and what to do if not. */
import { availableParallelism } from 'node:os';
import { PROFILES } from '../failover/index.ts';
import type { ClusterConfig } from '../server/index.ts';

/** Partition-sets that a core carries in three regions with time left for failovers: half of what two carried (docs/outage.md). */
const CARRIED = { fast: 490, paper: 3010 } as const;

/** Undefined: it does. */
export function overloadAdvice(
  { containers, regions, profile }: Pick<ClusterConfig, 'containers' | 'regions' | 'profile'>,
  cores = availableParallelism(),
): string | undefined {
  const sets = containers.reduce((sum, { partitionSets }) => sum + partitionSets, 0);
  const most = (perCore: number): number => Math.max(1, Math.floor((perCore * cores * 3) / regions.length));
  const carried = most(perCoreIn(profile));
  if (sets <= carried) return undefined;
  const paper = most(CARRIED.paper);
  const ways = [
    `--partition-sets ${round(carried)} or fewer`,
    ...(perCoreIn(profile) < CARRIED.paper
      ? [`--profile paper, which carries about ${round(paper)} and takes longer to fail over`]
      : []),
  ];
  return (
    `${sets} partition-sets in ${regions.length} regions are more than the ${cores} cores of this machine carry with these timings, ` +
    `about ${round(carried)}. In another directory, try ${ways.join(', or ')}.`
  );
}

/** The rarer the heartbeats, the more; what a failover takes bounds it all the same. */
function perCoreIn(profile: ClusterConfig['profile']): number {
  const { intervalMs } = typeof profile === 'string' ? PROFILES[profile] : profile;
  return Math.min(CARRIED.paper, (CARRIED.fast * intervalMs) / PROFILES.fast.intervalMs);
}

/** Two digits: it is an estimate. */
function round(count: number): number {
  const step = 10 ** Math.max(0, Math.floor(Math.log10(count)) - 1);
  return Math.max(1, Math.floor(count / step) * step);
}
