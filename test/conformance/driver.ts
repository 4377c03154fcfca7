/**
 * What every driver must do, whatever it drives: the contract of `docs/driver.md`, one promise after the other. A new
 * driver is ready when
 *
 *   driverConformance('postgres', () => startPartitionSet());
 *
 * passes against its real store. The suite plays the agents: it gives the roles, says whether writes may be taken, and
 * counts how often it is told that something changed. It looks again and again until what it waits for is so; for what
 * must not happen it waits `settleMs`.
 */
import { describe, expect, test } from 'vitest';
import {
  CONFORMANCE_REGIONS,
  DriverScene,
  type PartitionSetUnderTest,
  type Patience,
  type Sent,
} from './driver-scene.ts';

export { CONFORMANCE_REGIONS, type PartitionSetUnderTest } from './driver-scene.ts';

export interface DriverCheck {
  readonly name: string;
  run(scene: DriverScene): Promise<void>;
}

/** By what they show. */
type Checks = Readonly<Record<string, (scene: DriverScene) => Promise<void>>>;

const FIRST: Checks = {
  async 'incarnation: grows with every process, also after crashes (rule 2)'(scene) {
    const given = [await scene.begin('west')];
    for (let life = 0; life < 3; life += 1) given.push(await scene.restart('west'));
    expect(given[0]).toBeGreaterThan(0);
    for (const [at, one] of given.entries()) if (at > 0) expect(one).toBeGreaterThan(given[at - 1]!);
  },
  async 'status: progress is the end of the durable log, and gclsn is not beyond it'(scene) {
    await scene.steady();
    for (const value of ['a', 'b', 'c']) await scene.acknowledged(scene.send('west', value));
    for (const region of CONFORMANCE_REGIONS) {
      const { progress, gclsn, build } = scene.set.driver(region).status();
      expect(build).toBe('Built');
      expect(progress).toMatchObject({ epoch: 1, lsn: 3 });
      expect(scene.values(region)).toHaveLength(progress.lsn);
      expect(gclsn).toBeLessThanOrEqual(progress.lsn);
    }
    expect(scene.set.driver('west').status().gclsn).toBe(3);
  },
  async 'status: what was acknowledged is still the progress after a crash'(scene) {
    await scene.steady();
    await scene.acknowledged(scene.send('west', 'a'));
    for (const region of CONFORMANCE_REGIONS) await scene.restart(region);
    for (const region of CONFORMANCE_REGIONS)
      expect(scene.set.driver(region).status().progress).toMatchObject({ epoch: 1, lsn: 1 });
  },
  async 'status: nothing can be committed by a copy that is down, and its peers do not hear from it (rule 8)'(
    scene,
  ) {
    await scene.steady();
    await scene.acknowledged(scene.send('west', 'a'));
    expect(scene.set.driver('east').status().canCommit).toBe(true);
    expect(scene.peer('west', 'east').acknowledgedMsAgo).toBeLessThan(Infinity);
    await scene.set.crash('east');
    expect(scene.set.driver('east').status().canCommit).toBe(false);
    await scene.settle();
    expect(scene.peer('west', 'east').acknowledgedMsAgo).toBeGreaterThan(0);
  },
  async 'status: a peer that cannot be heard is not caught up (rule 16)'(scene) {
    await scene.beginAll();
    scene.isolate('east', true);
    await scene.reign('west', 1);
    scene.send('west', 'a');
    await scene.settle();
    expect(scene.peer('west', 'east').lsn).toBe(0);
    expect(scene.peer('west', 'east').behindMs).toBeGreaterThan(200);
  },
  async 'assume: a role that it already has changes nothing'(scene) {
    await scene.steady();
    scene.isolate('north', true);
    const sent = scene.send('west', 'a');
    await scene.reign('west', 1);
    await scene.reign('west', 1);
    expect(sent.outcome).toBe('waiting');
    scene.isolate('north', false);
    await scene.acknowledged(sent);
    for (const region of CONFORMANCE_REGIONS) expect(scene.values(region)).toEqual(['a']);
  },
};

/** West leads epoch 1 with the others behind it; then east is fenced at 2, and west, who knows nothing of it, goes on. */
async function fencedEast(scene: DriverScene): Promise<void> {
  await scene.steady();
  await scene.acknowledged(scene.send('west', 'a'));
  await scene.fence('east', 2);
}

const FENCING: Checks = {
  async 'fenced: refuses replication of lower epochs (rule 7)'(scene) {
    await fencedEast(scene);
    const sent = scene.send('west', 'late');
    await scene.settle();
    expect(scene.values('east')).toEqual(['a']);
    expect(sent.outcome).not.toBe('acknowledged');
  },
  async 'fenced: refuses them after a crash too, even if told to follow (rule 7)'(scene) {
    await fencedEast(scene);
    await scene.restart('east');
    await scene.follow('east', 1, 'west').catch(() => undefined);
    const sent = scene.send('west', 'late');
    await scene.settle();
    expect(scene.values('east')).toEqual(['a']);
    expect(sent.outcome).not.toBe('acknowledged');
  },
  async 'reader: of a higher epoch refuses the lower one, also after a crash (rule 7)'(scene) {
    await fencedEast(scene);
    await scene.follow('east', 3, 'north');
    await scene.restart('east');
    await scene.follow('east', 2, 'west').catch(() => undefined);
    await scene.lead('west', 2, CONFORMANCE_REGIONS);
    const sent = scene.send('west', 'late');
    await scene.settle();
    expect(scene.values('east')).toEqual(['a']);
    expect(sent.outcome).not.toBe('acknowledged');
  },
  async 'fenced: the writer takes no writes any more (rule 7)'(scene) {
    await scene.steady();
    await scene.fence('west', 2);
    await scene.notTaken('west', 'late');
  },
  async 'restart: without a role nothing is taken'(scene) {
    await scene.steady();
    await scene.restart('west');
    await scene.notTaken('west', 'early');
  },
  async 'gone: takes and follows nothing'(scene) {
    await scene.steady();
    await scene.assume('north', { role: 'gone' });
    await scene.lead('west', 1, ['west', 'east']);
    await scene.acknowledged(scene.send('west', 'a'));
    await scene.settle();
    expect(scene.values('north')).toEqual([]);
    await scene.notTaken('north', 'stray');
  },
};

const WRITING: Checks = {
  async 'writer: takes nothing without mayWrite (rule 3)'(scene) {
    await scene.steady();
    scene.agent('west').isAllowed = false;
    await scene.notTaken('west', 'a');
    scene.agent('west').isAllowed = true;
    await scene.acknowledged(scene.send('west', 'b'));
  },
  async 'writer: takes nothing while accepts is false, whatever mayWrite says (rules 12, 19)'(scene) {
    await scene.steady();
    await scene.lead('west', 1, CONFORMANCE_REGIONS, false);
    await scene.notTaken('west', 'a');
  },
  async 'reader: takes no writes (rule 1)'(scene) {
    await scene.steady();
    await scene.notTaken('east', 'a');
  },
  async 'commit: acknowledged only when every region of the commit set has it durably (rule 5)'(scene) {
    await scene.steady();
    scene.isolate('north', true);
    const sent = scene.send('west', 'a');
    await scene.until(() => expect(scene.values('east')).toEqual(['a']));
    await scene.settle();
    expect(sent.outcome).toBe('waiting');
    expect(scene.set.driver('west').status().gclsn).toBe(0);
    scene.isolate('north', false);
    await scene.acknowledged(sent);
    for (const region of CONFORMANCE_REGIONS) expect(scene.values(region)).toEqual(['a']);
  },
  async 'commit: a larger commit set makes it wait, a smaller one lets it go (rules 14, 17)'(scene) {
    await scene.steady();
    await scene.lead('west', 1, ['west', 'east']);
    scene.isolate('north', true);
    await scene.acknowledged(scene.send('west', 'a'));
    await scene.lead('west', 1, CONFORMANCE_REGIONS);
    const sent = scene.send('west', 'b');
    await scene.settle();
    expect(sent.outcome).toBe('waiting');
    await scene.lead('west', 1, ['west', 'east']);
    await scene.acknowledged(sent);
  },
  async 'commit: from the moment when `assume` resolves everything waits for a larger commit set (rules 14, 16)'(
    scene,
  ) {
    await scene.steady();
    await scene.lead('west', 1, ['west', 'east']);
    scene.isolate('west', true);
    const before = scene.send('west', 'a');
    await scene.lead('west', 1, CONFORMANCE_REGIONS);
    // Now the agent lets north into the lease set: it may be elected, and must have what is acknowledged.
    scene.set.connect('west', 'east', true);
    const after = scene.send('west', 'b');
    await scene.until(() => expect(scene.values('east')).toEqual(['a', 'b']));
    await scene.settle();
    expect([before.outcome, after.outcome]).toEqual(['waiting', 'waiting']);
    scene.isolate('west', false);
    await scene.acknowledged(before);
    await scene.acknowledged(after);
    expect(scene.values('north')).toEqual(['a', 'b']);
  },
  async 'commit: acknowledgements count only from copies that follow the epoch (rules 5, 6)'(scene) {
    await scene.steady();
    scene.isolate('north', true);
    scene.send('west', 'tail');
    await scene.until(() => expect(scene.values('east')).toEqual(['tail']));
    // East does not learn that it was committed.
    scene.set.connect('west', 'east', false);
    scene.isolate('north', false);
    await scene.until(() => expect(scene.values('north')).toEqual(['tail']));
    await scene.fence('east', 2);
    await scene.fence('north', 2);
    scene.isolate('north', true);
    await scene.lead('east', 2, ['east', 'north']);
    await scene.settle();
    // North has the log that east took over, but has not said so in epoch 2.
    expect(scene.set.driver('east').status().gclsn).toBe(0);
    expect(scene.peer('east', 'north').lsn).toBe(0);
    scene.isolate('north', false);
    await scene.settle();
    expect(scene.set.driver('east').status().gclsn).toBe(0);
    await scene.follow('north', 2, 'east');
    await scene.until(() => expect(scene.set.driver('east').status().gclsn).toBe(1));
  },
};

/** West alone has `lost`; east leads epoch 2 and has written on its own; west, cut off, knows nothing of it. */
async function parted(scene: DriverScene): Promise<Sent> {
  await scene.steady();
  await scene.acknowledged(scene.send('west', 'a'));
  scene.isolate('west', true);
  const lost = scene.send('west', 'lost');
  await scene.fence('east', 2);
  await scene.fence('north', 2);
  await scene.follow('north', 2, 'east');
  await scene.lead('east', 2, ['east', 'north']);
  await scene.acknowledged(scene.send('east', 'b'));
  await scene.acknowledged(scene.send('east', 'c'));
  return lost;
}

const RETURNING: Checks = {
  async 'reader: undoes its false progress and ends with the log of the writer (rules 5, 6)'(scene) {
    await parted(scene);
    expect(scene.values('west')).toEqual(['a', 'lost']);
    await scene.fence('west', 2);
    scene.isolate('west', false);
    await scene.follow('west', 2, 'east');
    await scene.until(() => expect(scene.set.log('west')).toEqual(scene.set.log('east')));
    expect(scene.values('west')).toEqual(['a', 'b', 'c']);
    const { progress, gclsn } = scene.set.driver('west').status();
    expect(progress).toMatchObject({ epoch: 2, lsn: 3 });
    expect(gclsn).toBeLessThanOrEqual(3);
  },
  async 'reader: undoes it also when the log of the writer is the shorter one, and after a crash (rule 5)'(
    scene,
  ) {
    await scene.steady();
    scene.isolate('west', true);
    for (const value of ['x', 'y', 'z']) scene.send('west', value);
    await scene.until(() => expect(scene.values('west')).toHaveLength(3));
    await scene.restart('west');
    await scene.fence('west', 2);
    await scene.follow('north', 2, 'east');
    await scene.lead('east', 2, ['east', 'north']);
    scene.isolate('west', false);
    await scene.follow('west', 2, 'east');
    await scene.until(() => expect(scene.values('west')).toEqual([]));
    await scene.acknowledged(scene.send('east', 'b'));
    await scene.until(() => expect(scene.set.log('west')).toEqual([{ epoch: 2, value: 'b' }]));
  },
  async 'writer: a write that was undone is never acknowledged, not even in its next reign (rule 5)'(scene) {
    const lost = await parted(scene);
    await scene.fence('west', 2);
    scene.isolate('west', false);
    await scene.follow('west', 2, 'east');
    await scene.until(() => expect(scene.values('west')).toEqual(['a', 'b', 'c']));
    await scene.reign('west', 3).catch(() => undefined);
    await scene.acknowledged(scene.send('west', 'd'));
    await scene.settle();
    expect(lost.outcome).not.toBe('acknowledged');
  },
  async 'builder: ends with the log of the writer, built (rule 5)'(scene) {
    await scene.beginAll();
    await scene.follow('east', 1, 'west');
    await scene.lead('west', 1, ['west', 'east']);
    await scene.acknowledged(scene.send('west', 'a'));
    await scene.assume('north', { role: 'builder', serves: { level: 'Strong' }, epoch: 1, writer: 'west' });
    await scene.until(() => {
      expect(scene.values('north')).toEqual(['a']);
      expect(scene.set.driver('north').status().build).toBe('Built');
    });
  },
  async 'quiesced: only when no write is accepted and none is under way, and then `changed` is called (rule 18)'(
    scene,
  ) {
    await scene.steady();
    expect(scene.set.driver('west').status().quiesced).toBe(false);
    scene.isolate('north', true);
    const sent = scene.send('west', 'a');
    await scene.lead('west', 1, CONFORMANCE_REGIONS, false);
    await scene.settle();
    expect(scene.set.driver('west').status().quiesced).toBe(false);
    const { changes } = scene.agent('west');
    scene.isolate('north', false);
    await scene.acknowledged(sent);
    await scene.until(() => {
      expect(scene.set.driver('west').status().quiesced).toBe(true);
      expect(scene.agent('west').changes).toBeGreaterThan(changes);
    });
  },
  async 'changed: is called on both sides when a copy has caught up (rules 16, 19)'(scene) {
    await scene.steady();
    await scene.lead('west', 1, ['west', 'east']);
    scene.isolate('north', true);
    await scene.acknowledged(scene.send('west', 'a'));
    await scene.settle();
    const before = { west: scene.agent('west').changes, north: scene.agent('north').changes };
    scene.isolate('north', false);
    await scene.until(() => {
      expect(scene.values('north')).toEqual(['a']);
      expect(scene.peer('west', 'north')).toMatchObject({ lsn: 1, behindMs: 0 });
      expect(scene.agent('west').changes).toBeGreaterThan(before.west);
      expect(scene.agent('north').changes).toBeGreaterThan(before.north);
    });
  },
};

export const DRIVER_CHECKS: readonly DriverCheck[] = Object.entries({
  ...FIRST,
  ...FENCING,
  ...WRITING,
  ...RETURNING,
}).map(([name, run]) => ({ name, run }));

export type MakePartitionSet = () => PartitionSetUnderTest | Promise<PartitionSetUnderTest>;

/** One check on a fresh partition-set. Throws what it finds. */
export async function runDriverCheck(
  check: DriverCheck,
  make: MakePartitionSet,
  patience: Patience,
): Promise<void> {
  const set = await make();
  try {
    await check.run(new DriverScene(set, patience));
  } finally {
    await set.close?.();
  }
}

export function driverConformance(name: string, make: MakePartitionSet, patience?: Partial<Patience>): void {
  describe(`driver ${name}`, () => {
    for (const check of DRIVER_CHECKS)
      test(check.name, () => runDriverCheck(check, make, { patienceMs: 50_000, settleMs: 30, ...patience }));
  });
}
