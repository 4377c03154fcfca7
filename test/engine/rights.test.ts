/** Rights that were given under an older configuration hold until they have ended, and who follows waits for them. */
import { PROFILES } from 'baton/failover';
import { afterEach, expect, test } from 'vitest';
import { RightsScene } from './rights-scene.ts';

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
