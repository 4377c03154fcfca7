/** Rights that were given under an older configuration hold until they have ended, and who follows waits for them. */
import { PROFILES } from 'baton/failover';
import { afterEach, expect, test } from 'vitest';
import { REGIONS, RightsScene } from './rights-scene.ts';

let scene: RightsScene | undefined;
afterEach(async () => {
  await scene?.end();
  scene = undefined;
});

test('a strong read is never stale after the lease was shortened while grants of the longer one ran', async () => {
  scene = await RightsScene.of({ timings: PROFILES.paper, minDurability: 1 });
  const there = scene;
  await there.until(() => (there.shown.get('c') ?? 0) > 10, 'c reads strongly');
  await there.decide({ kind: 'timings', timings: PROFILES.fast });
  const beat = there.state.regions['a']!.beat;
  await there.until(() => there.state.regions['a']!.beat >= beat + 2, 'two beats of the writer');
  there.isolate('a');
  there.isolate('c');
  there.shown.clear();
  await there.until(() => there.state.writer === 'b', 'b takes over');
  const { acknowledged } = there;
  await there.until(() => there.acknowledged > acknowledged, 'b takes writes');
  await there.pass(20_000);
  expect(there.shown.get('c')).toBeGreaterThan(0);
  expect(there.stale).toEqual([]);
});

test('a strong read is never stale while the level is weakened, and ends when it is in force', async () => {
  scene = await RightsScene.of();
  const there = scene;
  await there.until(() => (there.shown.get('b') ?? 0) > 10, 'b reads strongly');
  // It does not learn of it.
  there.fleet.cutOff.add('b');
  await there.decide({ kind: 'consistency', consistency: 'Session' });
  await there.until(() => there.level === 'Session', 'the weaker level is in force');
  there.shown.clear();
  await there.pass(1500);
  expect(there.stateAt('b')!.configuration.consistency).toBe('Strong');
  expect(there.shown.get('b') ?? 0).toBe(0);
  expect(there.stale).toEqual([]);
});

function isWhole({ state }: RightsScene): boolean {
  return state.leaseSet.length === 3 && Object.values(state.regions).every(({ version }) => version > 0);
}

test('a weaker level comes into force where too few regions are left for the stronger one, and writes are back', async () => {
  scene = await RightsScene.of({ minDurability: 2 });
  const there = scene;
  await there.until(() => isWhole(there), 'all regions take part');
  there.isolate('b');
  there.isolate('c');
  await there.pass(6000);
  const { acknowledged } = there;
  await there.decide({ kind: 'consistency', consistency: 'Session' });
  await there.until(() => there.acknowledged > acknowledged + 10, 'writes are back');
  expect(there.level).toBe('Session');
});

test('a dead write region is replaced by the level in force, whatever is wanted', async () => {
  scene = await RightsScene.of({ minDurability: 1 });
  const there = scene;
  await there.until(() => isWhole(there), 'all regions take part');
  there.isolate('c');
  await there.until(() => !there.state.leaseSet.includes('c'), 'c is out');
  const outside = there.acknowledged;
  await there.until(() => there.acknowledged > outside, 'writes that c lacks are acknowledged');
  there.isolate('a');
  there.fleet.cutOff.delete('c');
  there.set.connect('b', 'c', true);
  await there.decide({ kind: 'consistency', consistency: 'Session' }, 'b');
  there.isolate('b');
  await there.pass(8000);
  expect(there.stateAt('c')).toMatchObject({ phase: 'Ungraceful', configuration: { consistency: 'Strong' } });
  there.rejoin('b');
  const { acknowledged } = there;
  await there.until(() => there.state.writer === 'b', 'b takes over');
  await there.until(() => there.level === 'Session', 'the new write region takes the level over');
  await there.until(() => there.acknowledged > acknowledged, 'writes are back');
  expect(there.stale).toEqual([]);
});

const LEVELS = ['Strong', 'Strong', 'BoundedStaleness', 'Session', 'Eventual'] as const;
const LEASES = [
  PROFILES.fast,
  { intervalMs: 1000, leaseMs: 9000, settleMs: 300 },
  { intervalMs: 400, leaseMs: 1500, settleMs: 300 },
];

/** Marsaglia's xorshift. */
function chanceOf(seed: number): (below: number) => number {
  let state = (seed * 7919) | 1;
  return (below) => {
    for (const shift of [13, -17, 5]) state ^= shift > 0 ? state << shift : state >>> -shift;
    return (state >>> 0) % below;
  };
}

/** Operators change their minds, regions are cut off and come back, processes begin anew; all of it at any moment. */
async function walk(there: RightsScene, seed: number): Promise<void> {
  const chance = chanceOf(seed);
  let isolated: string | undefined;
  for (let step = 0; step < 30; step += 1) {
    const region = REGIONS[chance(REGIONS.length)]!;
    const through = REGIONS.find((one) => one !== isolated)!;
    const move = chance(10);
    if (move < 4) {
      const consistency = LEVELS[chance(LEVELS.length)]!;
      const staleness = { writes: 5 + chance(40), seconds: 1 + chance(3) };
      await there.decide({ kind: 'consistency', consistency, staleness }, through);
    } else if (move < 6) {
      await there.decide({ kind: 'timings', timings: LEASES[chance(LEASES.length)]! }, through);
    } else if (move < 8) {
      if (isolated !== undefined) there.rejoin(isolated);
      isolated = isolated === undefined ? region : undefined;
      if (isolated !== undefined) there.isolate(isolated);
    } else if (move === 8 && isolated !== region) {
      await there.restart(region);
    }
    await there.pass(chance(3) === 0 ? 4000 : 50 + chance(700));
  }
  if (isolated !== undefined) there.rejoin(isolated);
}

test.each([1, 2, 3, 4])(
  'walk %i: whatever is decided about leases and levels, and whatever fails, no strong read is stale',
  async (seed) => {
    scene = await RightsScene.of({ minDurability: 1 });
    await walk(scene, seed);
    expect(scene.stale).toEqual([]);
    const there = scene;
    await there.decide({ kind: 'consistency', consistency: 'Strong' });
    await there.until(() => there.level === 'Strong', 'Strong is in force again');
    await there.decide({ kind: 'consistency', consistency: 'Session' });
    await there.until(() => there.level === 'Session', 'the weaker level is in force');
    expect(there.stale).toEqual([]);
  },
);
