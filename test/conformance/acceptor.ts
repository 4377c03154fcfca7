/**
 * What every acceptor must do, whether it is a store or the acceptor service: the obligations of `acceptors.ts`, one by
 * one, and at the end the comparison with the pure roles over random requests and restarts.
 */
import {
  type Acceptor,
  answer,
  type Configuration,
  EMPTY_RECORD,
  type RegisterRecord,
  type RegisterRequest,
} from 'baton/caspaxos';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { accept, ballot, promise, query, typesOf, valueIn } from './messages.ts';
import { newPlace } from './store.ts';

export interface AcceptorUnderTest {
  /** The acceptor that lives at the place; closing it and opening it again is a restart. */
  open(place: string): Promise<Acceptor>;
  /** The largest document in bytes that its store takes; undefined: any that Baton writes. */
  readonly largestText?: number;
  /** As in `StoreUnderTest`. */
  readonly largeBatch?: number;
}

export function acceptorConformance(name: string, acceptors: AcceptorUnderTest): void {
  async function openFor(place = newPlace(name)): Promise<Acceptor> {
    const acceptor = await acceptors.open(place);
    onTestFinished(() => acceptor.close());
    return acceptor;
  }

  async function configured(acceptor: Acceptor, number = 1): Promise<Configuration> {
    const { id } = await acceptor.describe();
    const configuration = { cluster: 'c', number, acceptors: [{ id, url: acceptor.url }] };
    await acceptor.install(configuration);
    return configuration;
  }

  describe(`acceptor ${name}: who it is (rule 8)`, () => {
    test('it draws an id once, and keeps it', async () => {
      const place = newPlace(name);
      const first = await acceptors.open(place);
      const { id, configuration, hasRegisters } = await first.describe();
      expect(id).toMatch(/^[0-9a-f-]{36}$/);
      expect(configuration).toBeUndefined();
      expect(hasRegisters).toBe(false);
      await first.close();
      const again = await openFor(place);
      expect((await again.describe()).id).toBe(id);
      const other = await openFor();
      expect((await other.describe()).id).not.toBe(id);
    });

    test('it refuses to work for somebody who expects another', async () => {
      const acceptor = await openFor();
      await acceptor.describe();
      await acceptor.handle([promise('k', 1)], 0);
      acceptor.expect('somebody-else');
      await expect(acceptor.handle([promise('k', 2)], 0)).rejects.toMatchObject({ code: 'ACCEPTOR_FOREIGN' });
    });

    test('it says whether it holds registers', async () => {
      const acceptor = await openFor();
      await acceptor.handle([promise('k', 1)], 0);
      expect((await acceptor.describe()).hasRegisters).toBe(true);
    });
  });

  describe(`acceptor ${name}: the set of acceptors (rule 9)`, () => {
    test('it keeps the newest configuration, through a restart', async () => {
      const place = newPlace(name);
      const first = await acceptors.open(place);
      const two = await configured(first, 2);
      await first.install({ ...two, number: 1 });
      expect((await first.describe()).configuration).toEqual(two);
      await first.close();
      const again = await openFor(place);
      expect((await again.describe()).configuration).toEqual(two);
    });

    test('it keeps the newest of two that arrive together, through a restart', async () => {
      const place = newPlace(name);
      const first = await acceptors.open(place);
      const two = await configured(first, 2);
      const four = { ...two, number: 4 };
      await Promise.all([first.install(four), first.install({ ...two, number: 3 })]);
      expect((await first.describe()).configuration).toEqual(four);
      await first.close();
      const again = await openFor(place);
      expect((await again.describe()).configuration).toEqual(four);
    });

    test('it belongs to one cluster, and to one set of each number', async () => {
      const acceptor = await openFor();
      const one = await configured(acceptor);
      const code = { code: 'CONFIGURATION_CONFLICT' };
      await expect(acceptor.install({ ...one, cluster: 'other' })).rejects.toMatchObject(code);
      const another = { ...one, acceptors: [{ id: 'x', url: 'x' }] };
      await expect(acceptor.install(another)).rejects.toMatchObject(code);
      expect((await acceptor.describe()).configuration).toEqual(one);
    });

    test('it refuses proposers of an older set: for old registers, new ones, and reads', async () => {
      const acceptor = await openFor();
      const one = await configured(acceptor);
      await acceptor.handle([promise('old', 1), accept('old', 1, 'v')], 0);
      await acceptor.install({ ...one, number: 3 });
      const late = [query('old', 2), promise('new', 5, 2), accept('new', 6, 'w', 2), query('new', 2)];
      for (const request of late) {
        expect(await acceptor.handle([request], 7)).toEqual([{ type: 'stale-set', acceptor: 7, set: 3 }]);
      }
      expect(valueIn((await acceptor.handle([query('old', 3)], 0))[0])).toBe('v');
      // A store cannot look before it writes, so the new register may exist there; what was refused is not chosen.
      await acceptor.handle([promise('old', 5, 3)], 0);
      expect(typesOf(await acceptor.handle([accept('old', 6, 'w', 2)], 0))).toEqual(['stale-set']);
    });
  });

  describe(`acceptor ${name}: requests`, () => {
    test("each is answered in its place, under the asker's number", async () => {
      const acceptor = await openFor();
      const replies = await acceptor.handle(
        [
          promise('a', 1),
          accept('b', 2, 'x'),
          query('c'),
          promise('a', 1),
          accept('b', 2, 'y'),
          promise('b', 1),
        ],
        4,
      );
      expect(typesOf(replies)).toEqual(['1b', '2b', 'state', '1b', 'alarm', 'nak']);
      expect(replies.every(({ acceptor: index }) => index === 4)).toBe(true);
      expect(replies[5]).toMatchObject({ promised: ballot(2) });
    });

    test('for one register in one batch are applied in order', async () => {
      const acceptor = await openFor();
      const replies = await acceptor.handle(
        [promise('k', 1), accept('k', 1, 'a'), promise('k', 2), accept('k', 2, 'b'), query('k')],
        0,
      );
      expect(typesOf(replies)).toEqual(['1b', '2b', '1b', '2b', 'state']);
      expect(replies[2]).toMatchObject({ accepted: ballot(1), value: 'a' });
      expect(valueIn(replies[4])).toBe('b');
    });

    test('with the next ballot get its promise along', async () => {
      const acceptor = await openFor();
      const ahead: RegisterRequest = {
        key: 'k',
        set: 1,
        message: { type: '2a', ballot: ballot(1), value: 'v', next: ballot(7) },
      };
      expect(await acceptor.handle([ahead], 0)).toMatchObject([{ type: '2b', next: ballot(7) }]);
      expect(await acceptor.handle([promise('k', 6)], 0)).toMatchObject([
        { type: 'nak', promised: ballot(7) },
      ]);
    });

    test('of many callers at once are all answered', async () => {
      const acceptor = await openFor();
      const batches = Array.from({ length: 100 }, (_, at) => [
        accept(`k${at}`, 1, `v${at}`),
        query(`k${at}`),
      ]);
      const replies = await Promise.all(batches.map((batch) => acceptor.handle(batch, 0)));
      for (const [at, reply] of replies.entries()) expect(valueIn(reply[1])).toBe(`v${at}`);
    });

    const many = acceptors.largeBatch ?? 2000;

    test(`of ${many} registers in one batch`, async () => {
      const acceptor = await openFor();
      const keys = Array.from({ length: many }, (_, at) => `k${at}`);
      const replies = await acceptor.handle(
        keys.map((key) => accept(key, 1, key)),
        0,
      );
      expect(typesOf(replies).every((type) => type === '2b')).toBe(true);
    });

    test('with odd keys and large values', async () => {
      const acceptor = await openFor();
      const awkward = [`${'x'.repeat(53)}\u0000`, `${'x'.repeat(53)}\u0004\u0000`, `${'y'.repeat(60)}\u0000`];
      const plain = ['鍵'.repeat(170), 'k'.repeat(512), 'a/b//c', 'null\u0000byte', 'line\nbreak', '🔑'];
      const keys = [...plain, ...awkward];
      const times = Math.min(200_000, Math.floor((acceptors.largestText ?? Infinity) / 16));
      const value = `1 0\n"${'\\"鍵'.repeat(times)}"`;
      await acceptor.handle(
        keys.map((key) => accept(key, 1, `of ${key}`)),
        0,
      );
      await acceptor.handle([accept('large', 1, value)], 0);
      const replies = await acceptor.handle(
        [...keys, 'large'].map((key) => query(key)),
        0,
      );
      expect(replies.map((reply) => valueIn(reply))).toEqual([...keys.map((key) => `of ${key}`), value]);
      expect((await acceptor.list('', 100)).toSorted()).toEqual([...keys, 'large'].toSorted());
    });
  });

  describe(`acceptor ${name}: its memory`, () => {
    test('holds everything that was answered, after a restart', async () => {
      const place = newPlace(name);
      const first = await acceptors.open(place);
      const keys = Array.from({ length: 300 }, (_, at) => `k${at}`);
      await Promise.all(keys.map((key) => first.handle([promise(key, 1), accept(key, 1, key)], 0)));
      await first.handle([promise('k7', 9)], 0);
      await first.close();
      const again = await openFor(place);
      const states = await again.handle(
        keys.map((key) => query(key)),
        0,
      );
      expect(states.map((state) => valueIn(state))).toEqual(keys);
      expect(await again.handle([promise('k7', 8)], 0)).toMatchObject([{ type: 'nak', promised: ballot(9) }]);
    });

    test('is listed page by page, each register once', async () => {
      const acceptor = await openFor();
      const keys = Array.from({ length: 25 }, (_, at) => `k${at}`);
      await acceptor.handle(
        keys.map((key) => promise(key, 1)),
        0,
      );
      const found: string[] = [];
      for (let after = ''; ; after = found.at(-1)!) {
        const page = await acceptor.list(after, 10);
        found.push(...page);
        if (page.length < 10) break;
      }
      expect(found.toSorted()).toEqual(keys.toSorted());
    });

    test('is that of the pure roles, whatever is asked and however often it restarts', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.array(requests, { minLength: 1, maxLength: 6 }), { maxLength: 12 }),
          async (batches) => {
            const place = newPlace(name);
            const model = new Map<string, RegisterRecord>();
            let acceptor = await acceptors.open(place);
            for (const [at, batch] of batches.entries()) {
              expect(await acceptor.handle(batch, 3)).toEqual(
                batch.map((request) => answerBy(model, request)),
              );
              if (at % 4 !== 3) continue;
              await acceptor.close();
              acceptor = await acceptors.open(place);
            }
            await acceptor.close();
          },
        ),
        { seed: 31, numRuns: 15 },
      );
    });
  });
}

const ballots = fc.record({
  counter: fc.integer({ min: 1, max: 5 }),
  proposer: fc.constantFrom('p', 'q'),
  incarnation: fc.constant(1),
});

/** Values by ballot, now and then the wrong one, so that the alarm is heard as well. */
const messages: fc.Arbitrary<RegisterRequest['message']> = fc.oneof(
  fc.constant({ type: 'query' } as const),
  ballots.map((one) => ({ type: '1a', ballot: one }) as const),
  fc
    .record({ one: ballots, wrong: fc.integer({ min: 0, max: 9 }), ahead: fc.boolean() })
    .map(({ one, wrong, ahead }) => {
      const value = `${one.counter}${one.proposer}${wrong === 0 ? '!' : ''}`;
      const accepted = { type: '2a', ballot: one, value } as const;
      return ahead ? { ...accepted, next: { ...one, counter: one.counter + 1 } } : accepted;
    }),
);

const requests: fc.Arbitrary<RegisterRequest> = fc.record({
  key: fc.constantFrom('a', 'b'),
  set: fc.constantFrom(1, 1, 1, 2),
  message: messages,
});

function answerBy(model: Map<string, RegisterRecord>, request: RegisterRequest) {
  const { record, reply } = answer(model.get(request.key) ?? EMPTY_RECORD, request, 3);
  model.set(request.key, record);
  return reply;
}
