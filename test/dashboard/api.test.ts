/**
 * The page has its own copy of the forms that nodes speak in (`src/dashboard/api.ts`). Here the compiler holds it against the
 * server's schemas: what a node says must be something that the page understands. And what the fake fleet says must be something
 * that a node could say, or what is measured with it means little.
 */
import { expect, expectTypeOf, test } from 'vitest';
import type { Hello, HistoryEntry, LocalState, NodeBeat, SetRow } from '../../src/dashboard/api.ts';
import { EVENT_TYPES, type ServerEvent } from '../../src/dashboard/api.ts';
import { FakeFleet } from '../../src/dashboard/testing/fake-fleet.ts';
import { type EventData, EVENTS } from '../../src/server/daemon/events/schemas.ts';

test('what a node says, the page understands', () => {
  expectTypeOf<EventData<'hello'>>().toExtend<Hello>();
  expectTypeOf<EventData<'node'>>().toExtend<NodeBeat>();
  expectTypeOf<EventData<'local'>>().toExtend<LocalState>();
  expectTypeOf<EventData<'sets'>['sets'][number]>().toExtend<SetRow>();
  expectTypeOf<EventData<'history'>['entries'][number]>().toExtend<HistoryEntry>();
  expectTypeOf<EventData<'gone'>['sets']>().toExtend<readonly string[]>();
  expect(Object.keys(EVENTS).toSorted()).toEqual([...EVENT_TYPES].toSorted());
});

test('what the fake fleet says, a node could say', () => {
  const fleet = new FakeFleet({ sets: 20, startMs: 1_700_000_000_000 });
  const said: ServerEvent[] = [...fleet.welcome('east')];
  fleet.order('kill', ['east']);
  for (let tick = 0; tick < 20; tick += 1) {
    fleet.advance(250);
    for (const events of fleet.news().values()) said.push(...events);
  }
  for (const { type, ...data } of said) {
    const { error } = EVENTS[type].safeParse({ at: fleet.now, ...data });
    expect(error?.message).toBeUndefined();
  }
  expect(new Set(said.map(({ type }) => type))).toEqual(
    new Set(['hello', 'sets', 'history', 'node', 'local']),
  );
});
