/**
 * What holds after every update, whatever was reported: the numbered invariants of SPEC.md, as code. The document's table
 * is made from this list; the property tests check all of it after each of thousands of random updates.
 */
import {
  certainlyOver,
  departedOf,
  type FailoverState,
  heldLevel,
  needsLeaseSet,
  promisesMore,
  type RegionReport,
  type Report,
  mustWait,
  sameProgress,
} from 'baton/failover';

export interface Update {
  readonly before: FailoverState;
  readonly report: Report;
  readonly after: FailoverState;
}

export interface Invariant {
  readonly id: string;
  readonly says: string;
  /** The file, and the rules of DESIGN section 5 that it belongs to. */
  readonly enforcedBy: string;
  /** The titles of tests that show it. */
  readonly shownBy: readonly string[];
  /** What is wrong, if anything. */
  readonly broken: (update: Update) => boolean;
}

const RANDOM = 'random reports never break an invariant';

export const INVARIANTS: readonly Invariant[] = [
  {
    id: 'I1',
    says: 'Within one GCN the write region does not change: an election fills the empty place, and nothing else.',
    enforcedBy: 'election.ts, graceful.ts (rule 1)',
    shownBy: [RANDOM, 'rule 1: within one GCN there is one writer'],
    broken: ({ before, after }) =>
      before.gcn === after.gcn &&
      before.writer !== after.writer &&
      !(before.writer === null && before.phase === 'Ungraceful'),
  },
  {
    id: 'I2',
    says: 'The GCN never goes back, and an update raises it by one at most; the step goes up with every change of phase.',
    enforcedBy: 'raise.ts, graceful.ts',
    shownBy: [RANDOM],
    broken: ({ before, after }) =>
      after.gcn < before.gcn ||
      after.gcn > before.gcn + 1 ||
      after.step < before.step ||
      (after.phase !== before.phase && after.step === before.step),
  },
  {
    id: 'I3',
    says: 'A region’s beat and incarnation never go back, not even after it was removed and added again.',
    enforcedBy: 'beats.ts, transition.ts (rule 2), configure.ts',
    shownBy: [RANDOM, 'rule 2: a report of an earlier process is refused'],
    broken: ({ before, after }) =>
      Object.entries(before.regions).some(([name, was]) => {
        const is = after.regions[name] ?? departedOf(after, name);
        return is === undefined || is.beat < was.beat || is.incarnation < was.incarnation;
      }) ||
      (before.departed ?? []).some((was) => {
        const is = after.regions[was.region] ?? departedOf(after, was.region);
        return is === undefined || is.beat < was.beat || is.incarnation < was.incarnation;
      }),
  },
  {
    id: 'I4',
    says: 'There is a write region in every phase but Ungraceful, and it is in the lease set.',
    enforcedBy: 'raise.ts, election.ts, lease-set.ts, schema.ts',
    shownBy: [RANDOM, 'the writer never leaves the lease set'],
    broken: ({ after }) =>
      (after.writer === null) !== (after.phase === 'Ungraceful') ||
      (after.writer !== null && !after.leaseSet.includes(after.writer)),
  },
  {
    id: 'I5',
    says: 'The lease set has at least as many members as the minimum durability, each of them a region, and each once.',
    enforcedBy: 'lease-set.ts, election.ts, configure.ts (rule 10 keeps the old set when too few reported)',
    shownBy: [RANDOM, 'no removal takes the lease set below the minimum durability'],
    broken: ({ after: { leaseSet, regions, configuration } }) =>
      leaseSet.length < configuration.minDurability ||
      new Set(leaseSet).size !== leaseSet.length ||
      leaseSet.some((name) => regions[name] === undefined),
  },
  {
    id: 'I6',
    says: 'At Strong and bounded staleness only a member of the old lease set that reported under this GCN is elected, and nobody joins the set by an election, unless an operator accepted a loss.',
    enforcedBy: 'election.ts (rule 9)',
    shownBy: [RANDOM, 'rule 9: an outsider with a longer log is not elected at Strong'],
    broken: ({ before, after }) => {
      if (!isElection(before, after) || !needsLeaseSet(before.configuration.consistency)) return false;
      if (before.raise.acceptLoss === true) return false;
      return (
        !before.leaseSet.includes(after.writer!) ||
        after.regions[after.writer!]!.report === undefined ||
        after.leaseSet.some((name) => !before.leaseSet.includes(name))
      );
    },
  },
  {
    id: 'I7',
    says: 'Raising the GCN clears every report and every stop mark.',
    enforcedBy: 'raise.ts, graceful.ts (rules 7 and 22)',
    shownBy: [RANDOM, 'rule 7: raising the GCN clears what was reported under the old one'],
    broken: ({ before, after }) =>
      after.gcn > before.gcn &&
      Object.values(after.regions).some(({ report, stop }) => report !== undefined || stop !== undefined),
  },
  {
    id: 'I8',
    says: 'Target and reason are there in Graceful and nowhere else; the order to quiesce and the final progress too, and the second never without the first.',
    enforcedBy: 'graceful.ts, raise.ts, schema.ts (rule 19)',
    shownBy: [RANDOM, 'rule 19: the final progress is cleared on leaving Graceful'],
    broken: ({ after: { phase, target, why, quiesce, final } }) =>
      (phase === 'Graceful') !== (target !== undefined) ||
      (phase === 'Graceful') !== (why !== undefined) ||
      (phase !== 'Graceful' && quiesce !== undefined) ||
      (final !== undefined && quiesce === undefined),
  },
  {
    id: 'I9',
    says: 'The target is another region than the writer and in the lease set; in Graceful nobody leaves the set, and after the final report nobody joins it.',
    enforcedBy: 'graceful.ts, lease-set.ts (rules 18 and 19)',
    shownBy: [RANDOM, 'rule 18: during a graceful failover nobody is removed'],
    broken: ({ before, after }) => {
      const isGraceful = after.phase === 'Graceful';
      if (isGraceful && (after.target === after.writer || !after.leaseSet.includes(after.target!)))
        return true;
      if (!isGraceful || before.phase !== 'Graceful') return false;
      const hasLost = before.leaseSet.some((name) => !after.leaseSet.includes(name));
      return hasLost || (before.final !== undefined && after.leaseSet.length !== before.leaseSet.length);
    },
  },
  {
    id: 'I10',
    says: 'The writes switch to the target only when it has reported the writer’s final (epoch, LSN), and the lease set stays.',
    enforcedBy: 'graceful.ts (rule 19)',
    shownBy: [RANDOM, 'rule 19: the same LSN of another epoch is not the same progress'],
    broken: ({ before, report, after }) => {
      if (after.gcn === before.gcn || after.writer === null || report.type !== 'region') return false;
      const { target, regions, leaseSet } = before;
      const said = report.region === target ? report.progress : regions[target ?? '']?.report?.progress;
      const final = before.final ?? report.progress;
      const isSame = said !== undefined && sameProgress(said, final);
      return after.writer !== target || !isSame || leaseSet.join(' ') !== after.leaseSet.join(' ');
    },
  },
  {
    id: 'I11',
    says: 'Every change of phase, and every raise of the GCN, is the last entry of the history, with who, why, and from which GCN to which.',
    enforcedBy: 'history.ts',
    shownBy: [RANDOM, 'every change of phase leaves a sentence that names who, why and the GCNs'],
    broken: ({ before, after }) => {
      if (after.phase === before.phase && after.gcn === before.gcn) return false;
      const entry = after.history.at(-1);
      if (entry === undefined || before.history.includes(entry)) return true;
      return entry.from !== before.gcn || entry.to !== after.gcn || entry.who === '' || entry.at === '';
    },
  },
  {
    id: 'I12',
    says: 'At Strong and bounded staleness the lease set changes only in an update of the writer, by a process that has reported before, or by an election.',
    enforcedBy: 'lease-set.ts, configure.ts (rules 1 and 2)',
    shownBy: [RANDOM, 'rule 2: the first update of a new process asks for nothing'],
    broken: ({ before, report, after }) => {
      if (before.leaseSet.join(' ') === after.leaseSet.join(' ')) return false;
      const isStrict = needsLeaseSet(before.configuration.consistency);
      if (!isStrict || isElection(before, after)) return false;
      return (
        report.type !== 'region' ||
        report.region !== before.writer ||
        report.incarnation !== before.regions[report.region]!.incarnation
      );
    },
  },
  {
    id: 'I13',
    says: 'A raise for silence happens only in the update of another region that waited a whole lease, with the margin for drift, since exactly the (GCN, writer, beat) in the state; and never while paused.',
    enforcedBy: 'raise.ts (rule 4)',
    shownBy: [RANDOM, 'rule 4: any beat of the writer restarts the wait'],
    broken: ({ before, report, after }) => {
      if (after.gcn === before.gcn || before.writer === null || after.raise.cause !== 'silence') return false;
      return before.paused === true || !isSilenceOf(before, report);
    },
  },
  {
    id: 'I14',
    says: 'A raise records the (GCN, writer, beat) that it found; one that found no writer keeps the earlier record and cause.',
    enforcedBy: 'raise.ts (rule 12)',
    shownBy: [RANDOM, 'rule 12: a raise that finds no writer keeps the earlier record'],
    broken: ({ before, after }) => {
      if (after.gcn === before.gcn) return !sameTriple(before, after);
      if (before.writer === null) return !sameTriple(before, after);
      const { gcn, writer, beat } = after.raise;
      const found = after.regions[before.writer]?.beat;
      return gcn !== before.gcn || writer !== before.writer || beat !== found;
    },
  },
  {
    id: 'I15',
    says: 'The writer’s beat goes up only in its own update, when it can commit and, where commits wait for others, reaches the minimum durability.',
    enforcedBy: 'beats.ts (rules 3 and 8)',
    shownBy: [RANDOM, 'rule 8: a writer that reaches too few regions does not beat'],
    broken: ({ before, report, after }) => {
      const { writer } = before;
      const is = writer === null ? undefined : after.regions[writer];
      if (writer === null || is === undefined || is.beat === before.regions[writer]!.beat) return false;
      return report.type !== 'region' || report.region !== writer || !isOfUse(before, report);
    },
  },
  {
    id: 'I16',
    says: 'A stop mark names the incarnation that set it, and only the region’s next incarnation or a raise of the GCN clears it.',
    enforcedBy: 'beats.ts, raise.ts (rule 22)',
    shownBy: [RANDOM, 'rule 22: only the next incarnation clears a stop mark'],
    broken: ({ before, after }) =>
      before.gcn === after.gcn &&
      Object.entries(before.regions).some(([name, was]) => {
        const is = after.regions[name];
        if (was.stop === undefined || is === undefined) return false;
        return is.stop !== was.stop && is.incarnation === was.incarnation;
      }),
  },
  {
    id: 'I17',
    says: 'At most four intents are open; an intent is open once, and ends once, as honoured or cancelled.',
    enforcedBy: 'intents.ts, intent-list.ts',
    shownBy: [RANDOM, 'the same intent posted twice is one intent'],
    broken: ({ before, after }) => {
      const open = after.open.map(({ id }) => id);
      const ended = after.recent.filter((closed) => !before.recent.includes(closed));
      const gone = before.open.filter(({ id }) => !open.includes(id));
      // Two are remembered; of an update that closes more than that, the last two.
      const isRemembered =
        ended.length >= 2 || gone.every(({ id }) => ended.some((closed) => closed.id === id));
      return open.length > 4 || new Set(open).size !== open.length || !isRemembered;
    },
  },
  {
    id: 'I18',
    says: 'Priorities, pin and lease set name regions of the partition-set, and no removed region is one.',
    enforcedBy: 'configure.ts, schema.ts',
    shownBy: [RANDOM, 'removing the pinned region unpins it'],
    broken: ({ after: { regions, configuration, pin, removed = [] } }) =>
      configuration.priorities.some((name) => regions[name] === undefined) ||
      new Set(configuration.priorities).size !== configuration.priorities.length ||
      (pin !== undefined && regions[pin] === undefined) ||
      removed.some((name) => regions[name] !== undefined),
  },
  {
    id: 'I19',
    says: 'The configuration changes only with a higher version.',
    enforcedBy: 'configure.ts',
    shownBy: [RANDOM],
    broken: ({ before: { configuration: was }, after: { configuration: is } }) => {
      const { wanted: _was, ...before } = was;
      const { wanted: _is, ...after } = is;
      return (
        is.version < was.version ||
        (is.version === was.version && JSON.stringify(before) !== JSON.stringify(after))
      );
    },
  },
  {
    id: 'I20',
    says: 'While rule 12’s wait may run no move begins, and no final progress is taken: only the writer knows when it is over, and says so.',
    enforcedBy: 'graceful.ts (rules 12 and 18)',
    shownBy: [RANDOM, 'rule 18: no final report while rule 12’s wait runs'],
    broken: ({ before, report, after }) => {
      const isMove = before.phase === 'Steady' && after.phase === 'Graceful';
      const isFinal = before.final === undefined && (after.final !== undefined || isSwitch(before, after));
      if (report.type !== 'region' || report.region !== before.writer || !(isMove || isFinal)) return false;
      return mustWait(before) && report.writer?.hasWaited !== true;
    },
  },
  {
    id: 'I21',
    says: 'A level that promises more, or less, than the one in force is put in force only in Steady, by an update of the writer that says it is ready, of a process that has reported before.',
    enforcedBy: 'configure.ts (rules 2, 9 and 15)',
    shownBy: [
      RANDOM,
      'that is weaker waits until the writer says that nobody has rights of the stronger one any more',
    ],
    broken: ({ before, report, after }) => {
      const [was, is] = [heldLevel(before.configuration), heldLevel(after.configuration)];
      if (!promisesMore(was, is) && !promisesMore(is, was)) return false;
      if (report.type !== 'region' || report.region !== before.writer || before.phase !== 'Steady')
        return true;
      const isNew = report.incarnation > before.regions[report.region]!.incarnation;
      return isNew || report.writer?.readyFor !== is.level || after.gcn !== before.gcn;
    },
  },
];

function isSwitch(before: FailoverState, after: FailoverState): boolean {
  return after.gcn > before.gcn && after.writer !== null;
}

function isElection(before: FailoverState, after: FailoverState): boolean {
  return before.writer === null && after.writer !== null;
}

function isOfUse(state: FailoverState, report: RegionReport): boolean {
  const { consistency, minDurability } = state.configuration;
  if (!report.canCommit || report.stopping === true || report.build !== 'Built') return false;
  const reached = new Set(report.reaches.filter((name) => state.regions[name] !== undefined));
  return !needsLeaseSet(consistency) || reached.add(report.region).size >= minDurability;
}

function isSilenceOf({ gcn, writer, regions, leaseMs }: FailoverState, report: Report): boolean {
  if (report.type !== 'region' || report.silence === undefined || report.region === writer) return false;
  const { silence } = report;
  const isThat = silence.gcn === gcn && silence.writer === writer && silence.beat === regions[writer]!.beat;
  return isThat && silence.waitedMs >= certainlyOver(leaseMs);
}

function sameTriple({ raise: a }: FailoverState, { raise: b }: FailoverState): boolean {
  return a.cause === b.cause && a.gcn === b.gcn && a.writer === b.writer && a.beat === b.beat;
}

/** The numbers of the invariants that this update breaks. */
export function brokenBy(update: Update): readonly string[] {
  return INVARIANTS.filter(({ broken }) => broken(update)).map(({ id, says }) => `${id}: ${says}`);
}
