/**
 * Rule 11's first preferences, which the spec leaves out: an operator's target; who can commit, and is not the one that a
 * forced failover is to leave; who reaches enough of those that reported, at the weaker levels only among those with the highest
 * progress; at Strong and bounded staleness, who reaches enough at all. Said here once more, from DESIGN section 5, so that an election that follows them can be put to the spec: the
 * others' progress counts for nothing then.
 */
import {
  compareProgress,
  type FailoverState,
  needsLeaseSet,
  type RegionReport,
  type RegionReportState,
} from 'baton/failover';

/** Of those that may be elected, whom these preferences leave; in order of priority. */
export function preferredOf(before: FailoverState, report: RegionReport | undefined): readonly string[] {
  const { configuration, raise, leaseSet, regions } = before;
  const said = new Map<string, Pick<RegionReportState, 'reaches' | 'unable' | 'progress'>>();
  for (const name of configuration.priorities) {
    const known = regions[name]!.report;
    if (known !== undefined) said.set(name, known);
  }
  if (report !== undefined) {
    const { reaches, progress, canCommit } = report;
    said.set(report.region, { reaches, progress, ...(!canCommit && { unable: true }) });
  }
  const isMember = (name: string): boolean =>
    !needsLeaseSet(configuration.consistency) || leaseSet.includes(name);
  const mayBe = (name: string): boolean => {
    const isStopped = name === report?.region ? report.stopping === true : regions[name]!.stop !== undefined;
    return said.has(name) && isMember(name) && !isStopped;
  };
  const isLeft = (name: string): boolean =>
    raise.cause === 'forced' && raise.target === undefined && name === raise.writer;
  const reaches = (name: string, among: (other: string) => boolean): boolean =>
    new Set([name, ...said.get(name)!.reaches.filter(among)]).size >= configuration.minDurability;
  const isFirst = (name: string, _: number, all: readonly string[]): boolean =>
    all.every((other) => compareProgress(said.get(name)!.progress, said.get(other)!.progress) >= 0);
  const filters: ((name: string, at: number, all: readonly string[]) => boolean)[] = [
    (name) => name === raise.target,
    (name) => said.get(name)!.unable !== true && !isLeft(name),
    ...(needsLeaseSet(configuration.consistency) ? [] : [isFirst]),
    (name) => reaches(name, (other) => said.has(other)),
    (name) => needsLeaseSet(configuration.consistency) && reaches(name, () => true),
  ];
  let best = configuration.priorities.filter(mayBe);
  for (const filter of filters) {
    const better = best.filter(filter);
    if (better.length > 0) best = better;
  }
  return best;
}
