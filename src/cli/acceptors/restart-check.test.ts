/** A server that ends and comes back, in virtual time: what it has kept is what decides. */
import { describe, expect, test } from 'vitest';
import { type AcceptorStore, CasPaxosError, MemoryStore } from '../../caspaxos/index.ts';
import { RESTART } from './restart-check.ts';
import { type CheckResult, surveyStore } from './survey.ts';
import { KEYS } from './workplace.ts';

const WAIT_MS = 1000;
/** Beats after it was asked for. */
const ENDS_AT = 7;
const IS_BACK_AT = 12;

interface Server {
  /** What it has of a document when it is back; undefined: it is gone. */
  readonly keeps?: (key: string, text: string) => string | undefined;
  readonly endsAt?: number;
  readonly isBackAt?: number;
  readonly interruptedAt?: number;
  /** It tells its life, and is back before anybody misses it. */
  readonly isQuick?: true;
}

let servers = 0;

async function restarted(server: Server): Promise<CheckResult> {
  const { endsAt = ENDS_AT, isBackAt = IS_BACK_AT, interruptedAt = Infinity } = server;
  servers += 1;
  const name = `restart-${process.pid}-${servers}`;
  const memory = new MemoryStore(name);
  let now = 0;
  let beats = -1;
  const isDown = (): boolean => server.isQuick !== true && beats >= endsAt && beats < isBackAt;
  const open = (): AcceptorStore => {
    const store = new MemoryStore(name);
    const unlessDown = async <T>(work: () => Promise<T>): Promise<T> => {
      if (isDown()) throw new CasPaxosError('UNREACHABLE', 'It is away.');
      return work();
    };
    return {
      url: store.url,
      concurrency: 1,
      read: (keys) =>
        unlessDown(async () => {
          const found = await store.read(keys);
          const { keeps } = server;
          if (beats < isBackAt || keeps === undefined) return found;
          return found.map((document, at) => {
            const text = document && keeps(keys[at]!, document.text);
            return text === undefined ? undefined : { ...document!, text };
          });
        }),
      write: (writes) => unlessDown(() => store.write(writes)),
      list: (after, limit) => unlessDown(() => store.list(after, limit)),
      lookAgain: () => unlessDown(async () => {}),
      get life() {
        return server.isQuick === true ? String(beats >= endsAt) : undefined;
      },
      close: () => store.close(),
    };
  };
  const findings = await surveyStore(open, {
    run: '000000000000',
    races: 1,
    pace: { now: () => (now += 1), samples: 1, budgetMs: 1 },
    onStep: () => {},
    restarting: {
      ask: () => {
        beats = 0;
      },
      waitMs: WAIT_MS,
      now: () => now,
      sleep: async (ms) => {
        now += ms;
        beats += 1;
        return beats < interruptedAt;
      },
    },
  });
  await memory.close();
  return findings.checks.find(({ name: check }) => check === RESTART.name)!;
}

describe('a restart', () => {
  test('that loses nothing passes, and says how much there was to lose', async () => {
    const { result, remark } = await restarted({});
    expect([result, remark]).toEqual(['passed', expect.stringMatching(/^\d{3} writes were answered/)]);
  });

  test('that is over before anybody misses the server is noticed', async () => {
    expect(await restarted({ isQuick: true })).toMatchObject({ result: 'passed' });
    const keeps = (): undefined => undefined;
    expect(await restarted({ isQuick: true, isBackAt: ENDS_AT, keeps })).toMatchObject({ result: 'failed' });
  });

  test.each([
    ['a document', (key: string, text: string) => (key === KEYS.batch(3) ? undefined : text)],
    ['the last writes', (_: string, text: string) => text.replace(/restart \d+/, 'restart 1')],
  ])('that loses %s fails', async (_, keeps) => {
    const { result, remark } = await restarted({ keeps });
    expect([result, remark]).toEqual([
      'failed',
      expect.stringContaining('as they were answered before the restart'),
    ]);
  });

  test('that never happens is not done', async () => {
    const { result, remark } = await restarted({ endsAt: Infinity });
    expect([result, remark]).toEqual(['not done', expect.stringContaining('not restarted within 1 s')]);
  });

  test('from which it does not come back fails', async () => {
    const { result, remark } = await restarted({ isBackAt: Infinity });
    expect([result, remark]).toEqual([
      'failed',
      expect.stringContaining('did not come back within 1 s: It is away.'),
    ]);
  });

  test.each([2, ENDS_AT + 2])('that is interrupted at beat %i is not done', async (interruptedAt) => {
    const { result, remark } = await restarted({ interruptedAt });
    expect([result, remark]).toEqual(['not done', expect.stringContaining('interrupted')]);
  });
});
