/**
 * The real machine against `spec/failover.tla`, step by step. Runs are recorded: real agents in virtual time through every
 * kind of outage, and random walks and two schedules of the model of `test/failover-model`, in which everything happens that
 * a rule speaks of.
 * Every update of the register in them is put to the spec by `conformance-projection.ts`, which says what is compared and
 * what is forgotten: the checker lists the successors of the state before, and one of them, or of their successors, must look
 * like the state after. An update that changes nothing there is a step that is not taken, which the spec always allows: so
 * this is about safety; that something happens at all the model and the simulator see to.
 *
 * The reports of honest agents try few of the guards, so every update of the walks is also made with reports that no agent
 * makes, and again when its GCN has passed.
 */
import {
  type FailoverState,
  type Machine,
  type RegionReport,
  type Report,
  transition,
  type Verdict,
} from 'baton/failover';
import { OUTAGE_KIND_NAMES, type OutageCase, type OutageKind } from 'baton/sim';
import { beforeAll, describe, expect, test } from 'vitest';
import { machineWithout } from '../failover-model/mutants.ts';
import { isExhaustive } from '../failover-model/runs.ts';
import { type Changes, settingOf } from '../failover-model/settings.ts';
import { Conformance, type Conformed, PREFERRING, type Refused, showRefused } from './conformance-check.ts';
import type { Recorded } from './conformance-projection.ts';
import {
  bentUpdates,
  lateUpdates,
  outageUpdates,
  scheduledUpdates,
  walkUpdates,
} from './conformance-runs.ts';

const TIMEOUT_MS = 600_000;
/** How many seeds: outages of a kind at a level, and walks. `BATON_EXHAUSTIVE=1` has more of both. */
const [OUTAGES, WALKS] = isExhaustive ? [3, 6] : [1, 3];

const LEVELS: readonly Partial<OutageCase>[] = [
  { consistency: 'Strong', minDurability: 1 },
  { consistency: 'Strong', minDurability: 2 },
  { consistency: 'BoundedStaleness', minDurability: 2 },
  { consistency: 'Session', minDurability: 1 },
];
/** With short leases graceful failovers are given up, too. */
const HASTY: readonly OutageKind[] = ['flapping', 'slow', 'no-regions'];

const THREE: Changes = { regions: ['a', 'b', 'c'], maxGcn: 12, maxLog: 4 };

const EVERYTHING = settingOf('everything', {
  ...THREE,
  features: ['change', 'graceful', 'forced', 'stop', 'unable'],
  minDurability: 2,
  slow: 'abc',
  maxSlow: 10,
  maxUnknown: 5,
  restarters: 'abc',
  maxRestarts: 4,
  maxSwitchovers: 4,
  maxForced: 3,
});

/** A graceful failover, up to where the target has caught up; `c` is outside the lease set. */
const MOVE = settingOf('a graceful failover', {
  ...THREE,
  features: ['graceful', 'change'],
  members: 'ab',
  maxSwitchovers: 1,
});
const MOVES = [
  'a writes',
  'a replicates to b',
  'a writes',
  'switch over to b',
  'a updates',
  'b updates',
  'b updates',
  'a updates',
  'a updates with its final progress',
  'b updates',
  'a replicates to b',
  'tick',
  'a updates',
];

/** All report after a forced failover, and the writes go anywhere but where they were. */
const LEAVE = settingOf('a forced failover', { ...THREE, features: ['forced'], maxForced: 1 });
const LEAVES = [
  'a writes',
  'a replicates to c',
  'force a failover',
  'a updates',
  'a updates',
  'c updates',
  'c updates',
  'b updates',
];

/** What must have been seen, or this shows little. */
const STEPS = [
  'Update beat',
  'Update add',
  'Update remove',
  'Update final',
  'Update abort',
  'Hello',
  'Raise',
  'Report',
  'Elect',
  'Start',
  'Switch',
  'SwitchByOther',
  'Force',
  'Stop',
  'RaiseStopped',
  'Tick',
  PREFERRING,
];

const conformance = new Conformance();
let simulated: Recorded[];
let walked: Recorded[];
let crafted: Recorded[];

beforeAll(() => {
  simulated = [
    ...LEVELS.flatMap((level) =>
      OUTAGE_KIND_NAMES.flatMap((kind) => outageUpdates({ ...level, kind }, OUTAGES)),
    ),
    ...HASTY.flatMap((kind) => outageUpdates({ kind, profile: 'fast', minutes: 3, minDurability: 2 }, 1)),
  ];
  walked = [
    ...walkUpdates(EVERYTHING, WALKS, 200),
    ...scheduledUpdates(MOVE, MOVES),
    ...scheduledUpdates(LEAVE, LEAVES),
  ];
  const moves = simulated.filter(({ before }) => before.phase === 'Graceful');
  crafted = [...bentUpdates([...walked, ...moves]), ...lateUpdates(walked)];
}, TIMEOUT_MS);

function print(what: string, { updates, stutters, explained }: Conformed): void {
  const steps = [...explained].sort(([, one], [, other]) => other - one);
  const lines = steps.map(([said, count]) => `  ${String(count).padStart(6)}  ${said}`);
  // oxlint-disable-next-line no-console
  console.log(
    `${what}: ${updates} updates, ${stutters} of them stutters; ` +
      `so far ${conformance.spec.distinct} distinct steps, ${conformance.spec.asked} states asked for\n${lines.join('\n')}`,
  );
}

describe('every update is a step of the spec', () => {
  const seen = new Set<string>();

  test.each([
    ['of real agents through outages', () => simulated],
    ['of random walks, and of two schedules', () => walked],
    ['with reports that no honest agent makes, or that come late', () => crafted],
  ] as const)(
    '%s',
    (what, updates) => {
      const result = conformance.check(transition, updates());
      print(what, result);
      for (const said of result.explained.keys()) for (const step of said.split(', then ')) seen.add(step);
      expect(result.refused.slice(0, 3).map(showRefused)).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test('and every kind of step was among them', () => {
    expect([...seen].sort()).toEqual(expect.arrayContaining(STEPS));
  });
});

interface Planted {
  readonly what: string;
  readonly machine: Machine;
  /** The update that gives it away. */
  readonly at: (refused: Refused) => boolean;
}

const isRaise = ({ before, after }: Refused): boolean =>
  after.gcn === before.gcn + 1 && after.phase === 'Ungraceful';
const isElection = ({ before, after }: Refused): boolean =>
  before.phase === 'Ungraceful' && after.writer !== null;
const isSwitch = ({ before, after }: Refused): boolean =>
  before.phase === 'Graceful' && after.writer === before.target;
const isChange = ({ before, after }: Refused): boolean =>
  after.gcn === before.gcn && after.leaseSet.join() !== before.leaseSet.join();
const isMember = ({ before: { leaseSet }, after: { writer } }: Refused): boolean =>
  writer !== null && leaseSet.includes(writer);

/** A machine that is told something else than was reported. */
function toldBy(tell: (report: RegionReport, state: FailoverState) => RegionReport): Machine {
  return (state: FailoverState, report: Report): Verdict =>
    transition(state, report.type === 'region' ? tell(report, state) : report);
}

const without = (rule: string): Machine => machineWithout([rule]);

const PLANTED: readonly Planted[] = [
  {
    what: 'a region outside the lease set is elected',
    machine: without('9-eligible'),
    at: (one) => isElection(one) && !isMember(one),
  },
  { what: 'a raise does not clear the reports', machine: without('7-clear'), at: isRaise },
  {
    what: 'the switch comes before the target has caught up',
    machine: toldBy((report, { final, target }) =>
      final !== undefined && report.region === target ? { ...report, progress: final } : report,
    ),
    at: isSwitch,
  },
  { what: 'a silence counts though the writer has beaten since', machine: without('4-compare'), at: isRaise },
  { what: 'a silence counts before the lease is over', machine: without('4-wait'), at: isRaise },
  { what: 'a silence counts without a margin for clocks', machine: without('4-margin'), at: isRaise },
  { what: 'whoever reports joins the lease set', machine: without('1'), at: isChange },
  { what: 'a report of an older GCN counts', machine: without('2-gcn'), at: () => true },
  {
    what: 'the best progress is not elected',
    machine: (state, report) => {
      const { configuration } = state;
      const priorities = [...configuration.priorities].reverse();
      const verdict = transition({ ...state, configuration: { ...configuration, priorities } }, report);
      return verdict.verdict === 'accepted'
        ? { ...verdict, state: { ...verdict.state, configuration } }
        : verdict;
    },
    at: isElection,
  },
  { what: 'all who report are the new lease set', machine: without('9-set'), at: isElection },
  { what: 'the new lease set has too few members', machine: without('10-keep'), at: isElection },
  { what: 'a second raise forgets the writer before', machine: without('12-keep'), at: isRaise },
  { what: 'a member joins that is not committed with', machine: without('16-commit'), at: isChange },
  { what: 'a member goes during a graceful failover', machine: without('18-remove'), at: isChange },
  { what: 'a member joins after the final report', machine: without('18-add'), at: isChange },
  { what: 'the final report comes too early', machine: without('18-equal'), at: () => true },
  { what: 'the switch compares bare LSNs', machine: without('19-epoch'), at: isSwitch },
  { what: 'the switch does not keep the lease set', machine: without('19-set'), at: isSwitch },
  { what: 'a final report outlives its attempt', machine: without('19-clear'), at: () => true },
  { what: 'a graceful failover raises the GCN', machine: without('20-raise'), at: isRaise },
  { what: 'a stop mark outlives its process', machine: without('22-clear'), at: () => true },
  { what: 'a stop mark outlives a raise', machine: without('22-raise'), at: isRaise },
  { what: 'a stop passes for silence', machine: without('22-grants'), at: isRaise },
];

describe('a planted deviation is caught', () => {
  test.each(PLANTED)(
    '$what',
    ({ machine, at }) => {
      const updates = [...crafted, ...walked, ...simulated];
      const refused = conformance.firstRefused(machine, transition, updates);
      expect(refused, 'the spec allows all that it does').toBeDefined();
      expect(at(refused!), showRefused(refused!)).toBe(true);
    },
    TIMEOUT_MS,
  );
});
