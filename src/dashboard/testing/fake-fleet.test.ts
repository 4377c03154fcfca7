import { expect, test } from 'vitest';
import { Model } from '../state/model.ts';
import { FakeFleet } from './fake-fleet.ts';

/** The fake fleet, heard by a model as the page would hear it: a dead region's stream is broken. */
function play(sets: number) {
  const fleet = new FakeFleet({ sets, startMs: 0 });
  const model = new Model();
  for (const region of fleet.regions) model.addNode(`${region}-1`, region, '');
  const join = (region: string): void => {
    for (const event of fleet.welcome(region)) model.apply(`${region}-1`, event, fleet.now);
  };
  for (const region of fleet.regions) join(region);
  const run = (ms: number): void => {
    for (let left = ms; left > 0; left -= 250) {
      fleet.advance(250);
      for (const [region, events] of fleet.news())
        for (const event of events) model.apply(`${region}-1`, event, fleet.now);
      model.tick(fleet.now);
    }
  };
  return { fleet, model, join, run };
}

test('a region dies, all its partition-sets fail over, and when it is back they return', () => {
  const { fleet, model, join, run } = play(200);
  run(1000);
  expect(model.fleet.counts).toMatchObject({ total: 200, writable: [200, 0, 0], nobody: 0 });

  fleet.order('kill', ['east']);
  model.lose('east-1', 'gone', fleet.now);
  expect(model.fleet.counts.nobody).toBe(200);
  run(6000);
  expect(model.fleet.counts).toMatchObject({ writable: [0, 200, 0], nobody: 0, moving: 0 });
  expect(model.recoveries.seen).toEqual({ failover: 200, planned: 0, resumed: 0 });
  const { recoveries } = model.recoveries;
  expect(
    recoveries.every(
      ({ recoveryMs, detectionMs }) => detectionMs! > 1000 && recoveryMs >= detectionMs! && recoveryMs < 6000,
    ),
  ).toBe(true);

  fleet.order('start', ['east']);
  join('east');
  run(12_000);
  expect(model.fleet.counts).toMatchObject({ writable: [200, 0, 0], nobody: 0 });
  expect(model.recoveries.seen.planned).toBe(200);
  const kinds = new Set(model.timeline.groups.map(({ what, region }) => `${what} ${region}`));
  expect(kinds).toEqual(new Set(['raised east', 'elected west', 'began east', 'switched east']));
  expect(model.timeline.count).toBe(800);
});

test('the same seed plays the same', () => {
  const rows = [1, 2].map(() => {
    const { fleet, run } = play(20);
    fleet.order('kill', ['east']);
    run(5000);
    return fleet.history;
  });
  expect(rows[0]).toEqual(rows[1]);
  expect(rows[0]!.length).toBe(40);
});
