import { describe, expect, test } from 'vitest';
import type { Acceptor } from './acceptors.ts';
import { Batcher } from './batcher.ts';
import {
  answer,
  BallotSource,
  DEFAULT_PROPOSER_POLICY,
  decodeEnvelope,
  EMPTY_RECORD,
  majority,
  type ProposalResult,
  RegisterChange,
  type RegisterRecord,
  type RegisterRequest,
  takeTurns,
} from './core/index.ts';
import { newCounters, newLatencies } from './counters.ts';
import { NODE_HOST } from './node-host.ts';
import { Register, type RegisterEnvironment, type View } from './register.ts';

/** A request that has reached an acceptor, which answers when the test says so. */
interface Arrived {
  readonly acceptor: number;
  readonly request: RegisterRequest;
  readonly reply: () => void;
}

/** Three acceptors whose answers the test gives out by hand. */
class Stage {
  readonly arrived: Arrived[] = [];
  readonly records: RegisterRecord[] = [EMPTY_RECORD, EMPTY_RECORD, EMPTY_RECORD];

  view(set: number): View {
    const batchers = [0, 1, 2].map(
      (index) =>
        new Batcher(this.#acceptor(index), index, {
          host: NODE_HOST,
          timeoutMs: 60_000,
          maxWaiting: 100,
          isUrgent: () => true,
          onBatch: () => undefined,
          onFailure: () => undefined,
          onSuccess: () => undefined,
        }),
    );
    return { set, quorum: majority(3), batchers };
  }

  /** Everything that is under way has arrived. */
  async settle(): Promise<readonly Arrived[]> {
    for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    return this.arrived.splice(0);
  }

  #acceptor(index: number): Acceptor {
    const handle = (requests: readonly RegisterRequest[]): ReturnType<Acceptor['handle']> =>
      new Promise((resolve) => {
        for (const request of requests) {
          const reply = (): void => {
            const answered = answer(this.records[index]!, request, index);
            this.records[index] = answered.record;
            resolve([answered.reply]);
          };
          this.arrived.push({ acceptor: index, request, reply });
        }
      });
    return { url: `stage:${index}`, concurrency: 9, handle } as Partial<Acceptor> as Acceptor;
  }
}

function environment(view: () => View): RegisterEnvironment {
  return {
    host: NODE_HOST,
    ballots: new BallotSource({ proposer: 'p', incarnation: 1 }),
    policy: DEFAULT_PROPOSER_POLICY,
    backoff: takeTurns,
    counters: newCounters(),
    latencies: newLatencies(),
    pace: { roundMs: 1 },
    view,
    onReply: () => undefined,
    onUnavailable: () => undefined,
    onIdle: () => undefined,
  };
}

function increment(sequence: number): RegisterChange {
  return new RegisterChange((json) => ({ type: 'set', json: String(Number(json ?? '0') + 1) }), {
    origin: 'o',
    sequence,
  });
}

async function begun() {
  const stage = new Stage();
  let view = stage.view(1);
  const register = new Register(
    'k',
    environment(() => view),
  );
  const results: ProposalResult<string>[] = [];
  register.run({
    change: increment(1),
    force: false,
    uncertain: false,
    startedAt: 0,
    finish: (result) => results.push(result),
  });
  const adopt = (set: number): void => {
    view = stage.view(set);
    register.adopt(view);
  };
  return { stage, register, results, adopt, asked: await stage.settle() };
}

/** Answers everything until the register has nothing more to ask. */
async function play(stage: Stage): Promise<void> {
  for (let arrived = await stage.settle(); arrived.length > 0; arrived = await stage.settle()) {
    for (const { reply } of arrived) reply();
  }
}

describe('a register whose set of acceptors changes in the middle of a change', () => {
  test('lets the old proposer go: promises that come late lead to no proposal', async () => {
    const { stage, results, adopt, asked } = await begun();
    adopt(2);
    const fresh = await stage.settle();
    expect(fresh.map(({ request }) => [request.set, request.message.type])).toEqual([
      [2, '1a'],
      [2, '1a'],
      [2, '1a'],
    ]);
    for (const { reply } of asked) reply();
    expect(await stage.settle()).toEqual([]);
    for (const { reply } of fresh) reply();
    await play(stage);
    expect(results).toMatchObject([{ outcome: 'committed' }]);
    expect(decodeEnvelope(stage.records[0]!.value)).toMatchObject({ json: '1', version: 1 });
  });

  test('finishes once, though acknowledgements of the old set arrive', async () => {
    const { stage, results, adopt, asked } = await begun();
    for (const { reply } of asked) reply();
    const accepts = await stage.settle();
    expect(accepts.map(({ request }) => request.message.type)).toEqual(['2a', '2a', '2a']);
    adopt(2);
    for (const { reply } of accepts) reply();
    await play(stage);
    expect(results).toMatchObject([{ outcome: 'committed' }]);
    expect(decodeEnvelope(stage.records[0]!.value)).toMatchObject({ json: '1', version: 1 });
  });

  test('takes what the old proposer may have achieved into account', async () => {
    const { stage, register, results, adopt, asked } = await begun();
    for (const { reply } of asked) reply();
    const accepts = await stage.settle();
    for (const { reply } of accepts) reply();
    adopt(2);
    await play(stage);
    expect(results).toMatchObject([{ outcome: 'committed' }]);
    expect(decodeEnvelope(stage.records[1]!.value)).toMatchObject({ json: '1', version: 1 });
    expect(register.isIdle).toBe(true);
  });

  test('does not carry a prepared ballot over', async () => {
    const { stage, register, asked, adopt } = await begun();
    for (const { reply } of asked) reply();
    await play(stage);
    adopt(2);
    register.run({
      change: increment(2),
      force: false,
      uncertain: false,
      startedAt: 0,
      finish: () => undefined,
    });
    const [first] = await stage.settle();
    expect(first?.request).toMatchObject({ set: 2, message: { type: '1a' } });
  });
});
