/**
 * The editor's rules, taken out one at a time: the real `transition` with something done to what goes in or comes out. The
 * names are those of the rule, and of its part when a rule has several. The agent's and the engine's rules are switches in
 * `agent.ts` and `engine.ts`; `rules.ts` says for each what goes wrong without it.
 */
import {
  currentReport,
  type FailoverState,
  type RegionReport,
  type RegionState,
  type Report,
  transition,
  type Verdict,
} from 'baton/failover';

interface Patch {
  /** What the editor is told instead. */
  readonly report?: (report: RegionReport, state: FailoverState) => RegionReport;
  /** What it believes to find instead. */
  readonly before?: (state: FailoverState, report: RegionReport) => FailoverState;
  /** What becomes of what it decided. `found` is what the register really held. */
  readonly after?: (state: FailoverState, found: FailoverState, report: Report) => FailoverState;
}

type Machine = (state: FailoverState, report: Report) => Verdict;

const VERY_LONG_MS = 1_000_000_000;

function exactSilence(report: RegionReport, state: FailoverState): RegionReport {
  const { writer, gcn } = state;
  if (writer === null) return report;
  const { beat } = state.regions[writer]!;
  return { ...report, silence: { gcn, writer, beat, waitedMs: VERY_LONG_MS } };
}

function withRegions(
  state: FailoverState,
  change: (region: RegionState, name: string) => RegionState,
): FailoverState {
  const regions = Object.entries(state.regions).map(
    ([name, region]) => [name, change(region, name)] as const,
  );
  return { ...state, regions: Object.fromEntries(regions) };
}

function isRaise(state: FailoverState, found: FailoverState): boolean {
  return state.gcn > found.gcn && state.phase === 'Ungraceful';
}

function isElection(state: FailoverState, found: FailoverState): boolean {
  return found.phase === 'Ungraceful' && state.phase === 'Steady';
}

function reportersOf(state: FailoverState): string[] {
  return Object.keys(state.regions).filter((name) => currentReport(state, name) !== undefined);
}

function withMembers(state: FailoverState, members: readonly string[]): FailoverState {
  return { ...state, leaseSet: [...new Set(members)] };
}

const PATCHES: Readonly<Record<string, Patch>> = {
  // A region that reports takes part, whoever the writer is.
  '1': {
    after: (state, _found, report) =>
      report.type === 'region' && report.region !== state.writer
        ? withMembers(state, [...state.leaseSet, report.region])
        : state,
  },
  '2-gcn': { report: (report, { gcn }) => ({ ...report, gcn }) },
  '2-incarnation': {
    report: (report, { regions }) => {
      const incarnation = Math.max(report.incarnation, regions[report.region]!.incarnation);
      return { ...report, incarnation };
    },
  },
  '4-compare': {
    report: (report, state) =>
      report.silence === undefined || report.silence.waitedMs < VERY_LONG_MS
        ? report
        : exactSilence(report, state),
  },
  '4-wait': {
    report: (report, state) => (report.silence?.waitedMs === 0 ? exactSilence(report, state) : report),
  },
  '4-margin': {
    report: (report) =>
      report.silence === undefined
        ? report
        : { ...report, silence: { ...report.silence, waitedMs: report.silence.waitedMs + 1000 } },
  },
  '4-shorter': {
    after: (state, found) =>
      state.leaseMs === found.configuration.timings.leaseMs
        ? state
        : { ...state, leaseMs: found.configuration.timings.leaseMs },
  },
  '4-longer': {
    after: (state, found) =>
      isElection(state, found) || state.raise.cause === 'switch'
        ? { ...state, leaseMs: found.leaseMs }
        : state,
  },
  '7-clear': {
    after: (state, found) =>
      isRaise(state, found)
        ? withRegions(state, (region, name) => {
            const report = currentReport(found, name);
            return report === undefined ? region : { ...region, report };
          })
        : state,
  },
  '8': { report: (report, { regions }) => ({ ...report, reaches: Object.keys(regions) }) },
  '9-eligible': {
    before: (state) =>
      state.phase === 'Ungraceful' ? withMembers(state, Object.keys(state.regions)) : state,
    after: (state, found) =>
      isElection(state, found)
        ? state
        : withMembers(state, isRaise(state, found) ? state.leaseSet : found.leaseSet),
  },
  '9-set': {
    after: (state, found) => (isElection(state, found) ? withMembers(state, reportersOf(state)) : state),
  },
  '10-elect': {
    after: (state, found) => {
      const reporters = reportersOf(state).filter((name) => found.leaseSet.includes(name));
      return isElection(state, found) && reporters.length < state.configuration.minDurability ? found : state;
    },
  },
  '10-keep': {
    after: (state, found) =>
      isElection(state, found)
        ? withMembers(
            state,
            reportersOf(state).filter((name) => found.leaseSet.includes(name)),
          )
        : state,
  },
  '11-progress': {
    report: (report, { phase }) =>
      phase === 'Ungraceful' ? { ...report, progress: { epoch: 0, lsn: 0 } } : report,
  },
  '11-reach': {
    before: (state) =>
      state.phase === 'Ungraceful'
        ? withRegions(state, (region) =>
            region.report === undefined
              ? region
              : { ...region, report: { ...region.report, reaches: Object.keys(state.regions) } },
          )
        : state,
    report: (report, { phase, regions }) =>
      phase === 'Ungraceful' ? { ...report, reaches: Object.keys(regions) } : report,
  },
  '12-keep': {
    after: (state, found) =>
      isRaise(state, found) && found.writer === null
        ? { ...state, raise: { ...state.raise, cause: 'silence' } }
        : state,
  },
  '16-commit': {
    report: (report, { regions }) =>
      report.writer?.add === undefined
        ? report
        : { ...report, writer: { ...report.writer, commitSet: Object.keys(regions) } },
  },
  '18-remove': {
    after: (state, found, report) => {
      const gone =
        report.type === 'region' && report.region === found.writer ? report.writer?.remove : undefined;
      if (found.phase !== 'Graceful' || gone === undefined || state.gcn !== found.gcn) return state;
      return withMembers(
        state,
        state.leaseSet.filter((name) => !gone.includes(name)),
      );
    },
  },
  '18-add': {
    after: (state, found, report) => {
      const more =
        report.type === 'region' && report.region === found.writer ? report.writer?.add : undefined;
      if (found.final === undefined || more === undefined || state.gcn !== found.gcn) return state;
      return withMembers(state, [...state.leaseSet, ...more]);
    },
  },
  '18-equal': {
    report: (report, { leaseSet }) =>
      report.writer === undefined || report.writer.add !== undefined
        ? report
        : { ...report, writer: { ...report.writer, commitSet: leaseSet } },
  },
  '19-target': {
    before: (state, { region }) => {
      const target = state.open.find(({ kind }) => kind === 'switchover')?.target;
      return target === undefined || state.phase !== 'Steady' || region !== state.writer
        ? state
        : withMembers(state, [...state.leaseSet, target]);
    },
    after: (state, found) =>
      found.phase === 'Steady' && state.phase === 'Graceful' ? withMembers(state, found.leaseSet) : state,
  },
  '19-epoch': {
    report: (report, { final, target }) =>
      final === undefined || report.region !== target
        ? report
        : { ...report, progress: { ...report.progress, epoch: final.epoch } },
  },
  '19-clear': {
    after: (state, found) =>
      found.final !== undefined && state.final === undefined && state.gcn === found.gcn
        ? { ...state, final: found.final }
        : state,
  },
  '19-set': {
    after: (state, found) =>
      found.phase === 'Graceful' && state.gcn > found.gcn && state.writer !== null
        ? withMembers(state, [state.writer])
        : state,
  },
  '20-raise': {
    report: (report, state) => (state.phase === 'Graceful' ? exactSilence(report, state) : report),
  },
  '20-abort': {
    report: (report, { phase, writer }) => {
      const { wait: _, ...rest } = report;
      return phase === 'Graceful' && report.region === writer ? rest : report;
    },
  },
  // A weaker level is in force with the wish.
  '9-level': {
    after: (state) => {
      const { wanted, ...configuration } = state.configuration;
      if (wanted?.consistency !== 'Session') return state;
      return { ...state, configuration: { ...configuration, consistency: 'Session' }, open: [] };
    },
  },
  // Not rules of safety: the two kinds of damping.
  backoff: { after: (state) => ({ ...state, damping: { ...state.damping, failures: 0, wait: 0 } }) },
  'live beats': {
    after: (state) =>
      withRegions(state, (region) => {
        const { deaths: _, ...rest } = region;
        return rest;
      }),
  },
  '22-clear': {
    after: (state, found) =>
      state.gcn === found.gcn
        ? withRegions(state, (region, name) => {
            const stop = found.regions[name]?.stop;
            return stop === undefined || region.stop !== undefined ? region : { ...region, stop };
          })
        : state,
  },
  '22-grants': {
    after: (state, found) =>
      isRaise(state, found) && state.raise.cause === 'stop'
        ? { ...state, raise: { ...state.raise, cause: 'silence' } }
        : state,
  },
  '22-raise': {
    after: (state, found, report) =>
      state.gcn === found.gcn
        ? state
        : withRegions(state, (region, name) => {
            const isNow = report.type === 'region' && report.region === name && report.stopping === true;
            const stop = isNow ? report.incarnation : found.regions[name]?.stop;
            return stop === undefined ? region : { ...region, stop };
          }),
  },
};

/** The real machine without those rules. Names that are not the editor's are somebody else's. */
export function machineWithout(rules: readonly string[]): Machine {
  const patches = rules.flatMap((rule) => PATCHES[rule] ?? []);
  return (found, report) => patched(found, report, patches);
}

function patched(found: FailoverState, report: Report, patches: readonly Patch[]): Verdict {
  let told = report;
  let believed = found;
  for (const patch of patches) {
    if (told.type !== 'region') break;
    if (patch.report !== undefined) told = patch.report(told, found);
    if (patch.before !== undefined) believed = patch.before(believed, told);
  }
  const verdict = transition(believed, told);
  if (verdict.verdict !== 'accepted')
    return verdict.verdict === 'stale' ? { ...verdict, state: found } : verdict;
  let { state } = verdict;
  for (const { after } of patches) if (after !== undefined) state = after(state, found, told);
  return { verdict: 'accepted', state };
}
