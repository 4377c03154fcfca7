/** The driver in memory keeps the contract, and the suite that says so notices those that do not. */
import { describe, expect, test } from 'vitest';
import {
  CONFORMANCE_REGIONS,
  DRIVER_CHECKS,
  driverConformance,
  type PartitionSetUnderTest,
  runDriverCheck,
} from '../../test/conformance/driver.ts';
import { type AgentView, type Driver, type DriverStatus, MemoryPartitionSet, type Role } from './index.ts';

/** A driver that does something wrong on the way to the one in memory. `undefined`: that part is as it should be. */
interface Defect {
  readonly incarnation?: (right: number) => number;
  readonly status?: (right: DriverStatus) => DriverStatus;
  readonly assume?: (right: Role) => Role | undefined;
  readonly attach?: (right: AgentView) => AgentView;
  /** How long after it said so it is what it was told to be. */
  readonly lateMs?: number;
}

function spoilt(driver: Driver, { incarnation, status, assume, attach, lateMs }: Defect): Driver {
  return {
    incarnation: async () => {
      const right = await driver.incarnation();
      return incarnation ? incarnation(right) : right;
    },
    status: () => (status ? status(driver.status()) : driver.status()),
    assume: async (role) => {
      const told = assume ? assume(role) : role;
      if (lateMs !== undefined) setTimeout(() => void driver.assume(role), lateMs);
      else if (told !== undefined) await driver.assume(told);
    },
    attach: (agent) => driver.attach?.(attach ? attach(agent) : agent),
  };
}

function inMemory(defect: Defect = {}): PartitionSetUnderTest {
  const set = new MemoryPartitionSet(CONFORMANCE_REGIONS);
  return {
    driver: (region) => spoilt(set.driver(region), defect),
    write: (region, value) => set.driver(region).write(value),
    log: (region) => set.driver(region).log,
    crash: async (region) => set.driver(region).crash(),
    restart: async () => {},
    connect: (a, b, isConnected) => set.connect(a, b, isConnected),
  };
}

driverConformance('in memory', () => inMemory());

/** What is planted, and the check that must find it. */
const PLANTED: readonly (Defect & { defect: string; found: string })[] = [
  {
    defect: 'forgets its incarnation',
    found: 'incarnation: grows',
    incarnation: () => 1,
  },
  {
    defect: 'counts what is not durable yet as progress',
    found: 'status: progress is the end',
    status: (right) => ({ ...right, progress: { ...right.progress, lsn: right.progress.lsn + 1 } }),
  },
  {
    defect: 'takes everything for committed',
    found: 'commit: acknowledged only when',
    status: (right) => ({ ...right, gclsn: right.progress.lsn }),
  },
  {
    defect: 'can always commit, even when it is down',
    found: 'status: nothing can be committed',
    status: (right) => ({ ...right, canCommit: true }),
  },
  {
    defect: 'ignores fences',
    found: 'fenced: refuses replication',
    assume: (right) => (right.role === 'fenced' ? undefined : right),
  },
  {
    defect: 'follows every epoch as if it were the first',
    found: 'reader: of a higher epoch refuses',
    assume: (right) => ('epoch' in right ? { ...right, epoch: 1 } : right),
  },
  {
    defect: 'does not ask whether it may write',
    found: 'writer: takes nothing without mayWrite',
    attach: (right) => ({ ...right, mayWrite: () => true }),
  },
  {
    defect: 'does not stop when it is told to accept nothing',
    found: 'writer: takes nothing while accepts is false',
    assume: (right) => (right.role === 'writer' ? { ...right, accepts: true } : right),
  },
  {
    defect: 'commits alone',
    found: 'commit: a larger commit set',
    assume: (right) => (right.role === 'writer' ? { ...right, commitSet: [] } : right),
  },
  {
    defect: 'says that it has assumed a role before it has',
    found: 'commit: from the moment when',
    lateMs: 20,
  },
  {
    defect: 'says that it is quiesced while writes are under way',
    found: 'quiesced: only when',
    status: (right) => ({ ...right, quiesced: true }),
  },
  {
    defect: 'tells nobody that something changed',
    found: 'changed: is called',
    attach: (right) => ({ ...right, changed: () => {} }),
  },
];

describe('the conformance suite of drivers finds one that', () => {
  for (const { defect, found, ...spoil } of PLANTED) {
    test(defect, async () => {
      const check = DRIVER_CHECKS.find(({ name }) => name.startsWith(found));
      expect(check).toBeDefined();
      const patience = { patienceMs: 100, settleMs: 10 };
      await expect(runDriverCheck(check!, () => inMemory(spoil), patience)).rejects.toThrow('expected');
    });
  }
});
