import { describe, expect, test } from 'vitest';
import { ManualHost } from '../../test/caspaxos/manual-host.ts';
import type { Host } from '../protocol/index.ts';
import type { Acceptor } from './acceptors.ts';
import { Batcher } from './batcher.ts';
import {
  answer,
  BallotSources,
  both,
  DEFAULT_PROPOSER_POLICY,
  decodeEnvelope,
  EMPTY_RECORD,
  majority,
  Pace,
  type ProposalResult,
  type QuorumSystem,
  RegisterChange,
  type RegisterRecord,
  type RegisterRequest,
  takeTurns,
  within,
} from './core/index.ts';
import { newCounters, newLatencies } from './counters.ts';
import { asCasPaxosError } from './errors.ts';
import { NODE_HOST } from './node-host.ts';
import { type Job, Register, type RegisterEnvironment, type View } from './register.ts';
import { Urgency } from './urgency.ts';

/** A request that has reached an acceptor, which answers when the test says so. */
interface Arrived {
  readonly acceptor: number;
  readonly request: RegisterRequest;
  readonly reply: () => void;
  readonly fail: () => void;
}

interface StageOptions {
  readonly host: Host;
  readonly quorum: QuorumSystem;
  readonly isUrgent: (index: number) => boolean;
}

/** Acceptors whose answers the test gives out by hand: three, unless it says otherwise. */
class Stage {
  readonly arrived: Arrived[] = [];
  readonly records: RegisterRecord[];
  readonly #options: StageOptions;

  constructor(options: Partial<StageOptions> = {}) {
    this.#options = { host: NODE_HOST, quorum: majority(3), isUrgent: () => true, ...options };
    this.records = Array.from({ length: this.#options.quorum.size }, () => EMPTY_RECORD);
  }

  view(set: number): View {
    const { host, quorum, isUrgent } = this.#options;
    const batchers = this.records.map(
      (_, index) =>
        new Batcher(this.#acceptor(index), index, {
          host,
          timeoutMs: 60_000,
          maxWaiting: 100,
          isUrgent: () => isUrgent(index),
          onBatch: () => undefined,
          onFailure: () => undefined,
          onSuccess: () => undefined,
        }),
    );
    return { set, quorum, batchers };
  }

  /** Everything that is under way has arrived. */
  async settle(): Promise<readonly Arrived[]> {
    for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    return this.arrived.splice(0);
  }

  #acceptor(index: number): Acceptor {
    const handle = (requests: readonly RegisterRequest[]): ReturnType<Acceptor['handle']> =>
      new Promise((resolve, reject) => {
        for (const request of requests) {
          const reply = (): void => {
            const answered = answer(this.records[index]!, request, index);
            this.records[index] = answered.record;
            resolve([answered.reply]);
          };
          const fail = (): void => reject(new Error('the line is cut'));
          this.arrived.push({ acceptor: index, request, reply, fail });
        }
      });
    return { url: `stage:${index}`, concurrency: 9, handle } as Partial<Acceptor> as Acceptor;
  }
}

function environment(view: () => View, changes: Partial<RegisterEnvironment> = {}): RegisterEnvironment {
  return {
    host: NODE_HOST,
    ballots: new BallotSources({ proposer: 'p', incarnation: 1 }),
    policy: DEFAULT_PROPOSER_POLICY,
    backoff: takeTurns,
    counters: newCounters(),
    latencies: newLatencies(),
    pace: new Pace(),
    view,
    onReply: () => undefined,
    onUnavailable: () => undefined,
    onIdle: () => undefined,
    onDoubt: () => undefined,
    onError: (_, error) => asCasPaxosError(error, 'REGISTER_FAILED', 'failed'),
    ...changes,
  };
}

const OPERATION = { origin: 'o', sequence: 1 };

function increment(sequence: number): RegisterChange {
  return new RegisterChange((json) => ({ type: 'set', json: String(Number(json ?? '0') + 1) }), {
    ...OPERATION,
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
    register.adopt();
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

/** Those whom nobody waits for get their messages that much later (`batcher.ts`). */
const PATIENCE_MS = 1;
/** When a round of a millisecond has taken long. */
const LONG_MS = 10;

interface Scene {
  readonly stage: Stage;
  readonly host: ManualHost;
  readonly register: Register;
  readonly environment: RegisterEnvironment;
  readonly results: ProposalResult<string>[];
  readonly job: Job;
  /** How long the register waits before its next attempt. */
  readonly backoff: { ms: number };
  readonly adopt: (set: number) => void;
  /** What has arrived when that time has passed. */
  readonly pass: (ms: number) => Promise<readonly Arrived[]>;
}

/** A change before five acceptors, of which the first three are urgent. */
function five(options: Partial<StageOptions> = {}, roundMs = 1, change = increment(1)): Scene {
  const host = new ManualHost();
  const stage = new Stage({ host, quorum: majority(5), isUrgent: (index) => index < 3, ...options });
  let view = stage.view(1);
  const backoff = { ms: 0 };
  const ground = environment(() => view, {
    host,
    pace: new Pace(roundMs),
    backoff: { delayMs: () => backoff.ms },
  });
  const register = new Register('k', ground);
  const results: ProposalResult<string>[] = [];
  const job: Job = {
    change,
    force: false,
    uncertain: false,
    startedAt: 0,
    finish: (result) => results.push(result),
  };
  register.run(job);
  const adopt = (set: number): void => {
    view = stage.view(set);
    register.adopt();
  };
  const pass = async (ms: number): Promise<readonly Arrived[]> => {
    const before = await stage.settle();
    host.pass(ms);
    return [...before, ...(await stage.settle())];
  };
  return { stage, host, register, environment: ground, results, job, backoff, adopt, pass };
}

/** `1a to 0, 1a to 1`, by acceptor. */
function toWhom(arrived: readonly Arrived[]): string {
  return arrived
    .toSorted((one, other) => one.acceptor - other.acceptor)
    .map(({ acceptor, request }) => `${request.message.type} to ${acceptor}`)
    .join(', ');
}

const PROMISES_OF_URGENT = '1a to 0, 1a to 1, 1a to 2';
const PROMISES_OF_OTHERS = '1a to 3, 1a to 4';
const ACCEPTS_OF_ALL = '2a to 0, 2a to 1, 2a to 2, 2a to 3, 2a to 4';

type Refusal = readonly [name: string, refuse: (arrived: Arrived, stage: Stage) => void];

const REFUSALS: readonly Refusal[] = [
  ['fails', ({ fail }) => fail()],
  [
    'has promised more to somebody else',
    ({ acceptor, reply }, { records }) => {
      records[acceptor] = {
        ...EMPTY_RECORD,
        promised: { counter: 1000, proposer: 'q', incarnation: 2 },
      };
      reply();
    },
  ],
  [
    'knows a newer set',
    ({ acceptor, reply }, { records }) => {
      records[acceptor] = { ...EMPTY_RECORD, set: 2 };
      reply();
    },
  ],
];

describe('a promise is asked of those who answer fastest', () => {
  test('and of nobody else; the value goes to all', async () => {
    const {
      stage,
      host,
      environment: { counters },
      results,
      pass,
    } = five();
    const asked = await pass(PATIENCE_MS);
    expect(toWhom(asked)).toBe(PROMISES_OF_URGENT);
    for (const { reply } of asked) reply();
    const proposed = await pass(PATIENCE_MS);
    expect(toWhom(proposed)).toBe(ACCEPTS_OF_ALL);
    for (const { reply } of proposed) reply();
    expect(await pass(10 * LONG_MS)).toEqual([]);
    expect(results).toMatchObject([{ outcome: 'committed' }]);
    expect(counters).toMatchObject({ messages: 3 + 5, attempts: 1 });
    for (const { value } of stage.records) expect(decodeEnvelope(value)).toMatchObject({ json: '1' });
    expect(host.timers).toBe(0);
  });

  test.each(REFUSALS)('but if one of them %s, the others are asked at once', async (_, refuse) => {
    const {
      stage,
      environment: { counters },
      results,
      pass,
    } = five();
    const [first, second, third] = await pass(PATIENCE_MS);
    refuse(first!, stage);
    const others = await pass(PATIENCE_MS);
    expect(toWhom(others)).toBe(PROMISES_OF_OTHERS);
    second!.reply();
    for (const { reply } of others) reply();
    const proposed = await pass(PATIENCE_MS);
    expect(toWhom(proposed)).toBe(ACCEPTS_OF_ALL);
    third!.reply();
    for (const { reply } of proposed) reply();
    expect(await pass(10 * LONG_MS)).toEqual([]);
    expect(results).toMatchObject([{ outcome: 'committed' }]);
    expect(counters).toMatchObject({ messages: 5 + 5, attempts: 1 });
  });

  test('and the others once only, however many of the first do not promise', async () => {
    const { results, pass } = five();
    const [first, second, third] = await pass(PATIENCE_MS);
    first!.fail();
    second!.fail();
    const others = await pass(PATIENCE_MS);
    expect(toWhom(others)).toBe(PROMISES_OF_OTHERS);
    expect(await pass(10 * LONG_MS)).toEqual([]);
    for (const { reply } of [third!, ...others]) reply();
    for (const { reply } of await pass(PATIENCE_MS)) reply();
    await pass(PATIENCE_MS);
    expect(results).toMatchObject([{ outcome: 'committed' }]);
  });

  test.each([
    ['ten milliseconds', 1, LONG_MS],
    ['four rounds, where rounds are long', 50, 200],
  ])('and if they do not answer for long, the others are: after %s', async (_, roundMs, longMs) => {
    const { results, pass } = five({}, roundMs);
    const [first] = await pass(0);
    expect(await pass(longMs - 1)).toEqual([]);
    const others = await pass(1 + PATIENCE_MS);
    expect(toWhom(others)).toBe(PROMISES_OF_OTHERS);
    for (const { reply } of [first!, ...others]) reply();
    const proposed = await pass(PATIENCE_MS);
    expect(toWhom(proposed)).toBe(ACCEPTS_OF_ALL);
    for (const { acceptor, reply } of proposed) if (acceptor % 2 === 0) reply();
    await pass(0);
    expect(results).toMatchObject([{ outcome: 'committed' }]);
  });

  test('and again of those only in the next attempt', async () => {
    const {
      environment: { counters },
      results,
      pass,
    } = five();
    for (const { fail } of await pass(PATIENCE_MS)) fail();
    // Without the three there is no quorum, so that attempt is lost, and the next begins at once.
    const arrived = await pass(PATIENCE_MS);
    expect(toWhom(arrived)).toBe(`${PROMISES_OF_URGENT}, ${PROMISES_OF_OTHERS}`);
    const [first, second] = [4, 0].map((of) => arrived.find(({ acceptor }) => acceptor === of)!.request);
    expect(second!.message).not.toEqual(first!.message);
    expect(counters).toMatchObject({ attempts: 2, unavailable: 1 });
    expect(results).toEqual([]);
  });
});

describe('how long a round takes', () => {
  const nothing = (): RegisterChange => new RegisterChange(() => ({ type: 'delete' }), OPERATION);

  test('is learnt from promises, though nothing is committed', async () => {
    const { environment: ground, pass } = five();
    for (const { reply } of await pass(8)) reply();
    expect([await pass(0), ground.pace.roundMs]).toMatchObject([{ length: 3 }, 8]);
  });

  test.each([
    ['is learnt from one in which nobody else was asked', 5, 5],
    ['is not learnt from one that waited for somebody', LONG_MS, 1],
  ])('%s', async (_, ms, expected) => {
    const { environment: ground, results, pass } = five({}, 1, nothing());
    for (const { reply } of await pass(ms)) reply();
    await pass(0);
    expect(results).toMatchObject([{ changed: false }]);
    expect(ground.pace.roundMs).toBe(expected);
  });
});

describe('whoever was not asked for a promise is not asked', () => {
  test('when the promises are there, however long the rest takes', async () => {
    const { host, pass } = five();
    for (const { reply } of await pass(PATIENCE_MS)) reply();
    expect(toWhom(await pass(PATIENCE_MS))).toBe(ACCEPTS_OF_ALL);
    // Five requests whose answers may yet come, and nothing else.
    expect(host.timers).toBe(5);
    expect(await pass(10 * LONG_MS)).toEqual([]);
  });

  test.each(REFUSALS)('when one of the first, too late to matter, %s', async (_, refuse) => {
    const { stage, pass } = five({ isUrgent: (index) => index < 4 });
    const [first, second, third, fourth] = await pass(PATIENCE_MS);
    for (const { reply } of [first!, second!, third!]) reply();
    expect(toWhom(await pass(PATIENCE_MS))).toBe(ACCEPTS_OF_ALL);
    refuse(fourth!, stage);
    expect(await pass(10 * LONG_MS)).toEqual([]);
  });

  test('when the change has ended', async () => {
    const { host, register, job, results, pass } = five();
    await pass(PATIENCE_MS);
    register.cancel(job);
    expect(results).toEqual([{ outcome: 'rejected' }]);
    expect(host.timers).toBe(3);
    expect(await pass(10 * LONG_MS)).toEqual([]);
  });

  test('under a set that is no longer in force', async () => {
    const { backoff, adopt, results, pass } = five();
    const old = await pass(LONG_MS - 1);
    backoff.ms = 3 * LONG_MS;
    adopt(2);
    for (const { fail } of old) fail();
    expect(await pass(2 * LONG_MS)).toEqual([]);
    backoff.ms = 0;
    const fresh = await pass(LONG_MS);
    expect(toWhom(fresh)).toBe(PROMISES_OF_URGENT);
    expect(fresh.map(({ request }) => request.set)).toEqual([2, 2, 2]);
    for (const { reply } of fresh) reply();
    for (const { reply } of await pass(PATIENCE_MS)) reply();
    expect(await pass(10 * LONG_MS)).toEqual([]);
    expect(results).toMatchObject([{ outcome: 'committed' }]);
  });
});

describe('while the set of acceptors changes', () => {
  /** From the acceptors 0, 1, 2 to 2, 3, 4. */
  const joint = both(within(5, [0, 1, 2], majority(3)), within(5, [2, 3, 4], majority(3)));

  function jointly(): Scene {
    const urgency = new Urgency(joint);
    return five({ quorum: joint, isUrgent: (index) => urgency.isUrgent(index) });
  }

  test('those who are asked first are a quorum of both sets', async () => {
    const { results, pass } = jointly();
    const asked = await pass(PATIENCE_MS);
    const mask = asked.reduce((all, { acceptor }) => all | (1 << acceptor), 0);
    expect(joint.isPhase1Quorum(mask)).toBe(true);
    expect(asked).toHaveLength(4);
    for (const { reply } of asked) reply();
    const proposed = await pass(PATIENCE_MS);
    expect(toWhom(proposed)).toBe(ACCEPTS_OF_ALL);
    for (const { reply } of proposed) reply();
    await pass(0);
    expect(results).toMatchObject([{ outcome: 'committed' }]);
  });

  test('one of the new set that fails is made up for by another of the new set', async () => {
    const { pass } = jointly();
    for (const { acceptor, reply, fail } of await pass(PATIENCE_MS)) (acceptor === 3 ? fail : reply)();
    const others = await pass(PATIENCE_MS);
    expect(toWhom(others)).toBe('1a to 4');
    for (const { reply } of others) reply();
    expect(toWhom(await pass(PATIENCE_MS))).toBe(ACCEPTS_OF_ALL);
  });

  test('promises of all of one set do not make up for the other', async () => {
    const {
      backoff,
      environment: { counters },
      pass,
    } = jointly();
    backoff.ms = 1000;
    for (const { acceptor, reply, fail } of await pass(PATIENCE_MS)) (acceptor < 2 ? fail : reply)();
    for (const { reply } of await pass(PATIENCE_MS)) reply();
    expect(await pass(10 * LONG_MS)).toEqual([]);
    expect(counters).toMatchObject({ attempts: 1, unavailable: 1 });
  });
});
